"""No data is run as code: what the source may not call, and the few places that may, with why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock

SOURCE = Path(penstock.__file__).parent
FORBIDDEN_CALLS = {
    "eval", "exec", "__import__", "os.system", "os.popen", "os.execv", "os.spawnv",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cloudpickle.load", "cloudpickle.loads",
    "marshal.load", "marshal.loads", "shelve.open", "dill.loads", "joblib.load",
    "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load",
    "subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp",
    "numpy.load", "np.load", "pd.read_pickle", "pandas.read_pickle",
}  # fmt: skip
FORBIDDEN_METHODS = {"read_pickle", "to_pickle", "exec_module", "run_path", "run_module"}
FORBIDDEN_MODULES = {"marshal", "shelve", "dill", "joblib", "code", "codeop", "pty", "telnetlib"}

ALLOWED = {
    # The names of columns are constants of a syntax tree, never source text; see the test below.
    ("engine/rows.py", "eval"),
    # _OneOfEach is yaml.SafeLoader that also refuses a key written twice.
    ("simulation/topology_text.py", "yaml.load"),
    # A job file is a program that its user asks to be run; it is not data.
    ("python_file.py", "exec_module"),
}


def trees() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield file.relative_to(SOURCE).as_posix(), ast.parse(file.read_text("utf-8"))


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else "?"


def wrong_calls(tree: ast.Module) -> Iterator[str]:
    """Name all that code calls, or imports by name, which could run data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in FORBIDDEN_CALLS:
                yield name
            if isinstance(node.func, ast.Attribute) and node.func.attr in FORBIDDEN_METHODS:
                yield node.func.attr
            if any(each.arg == "shell" and _is_true(each.value) for each in node.keywords):
                yield "shell=True"
            if any(each.arg == "allow_pickle" and _is_true(each.value) for each in node.keywords):
                yield "allow_pickle=True"
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{each.name}" for each in node.names}
            yield from sorted(full & FORBIDDEN_CALLS)
            if node.module in FORBIDDEN_MODULES:
                yield node.module


def _is_true(node: ast.expr) -> bool:
    # Anything but a plain False could be true.
    is_name = isinstance(node, ast.Name) and node.id == "shell"  # a shell's name, for completion
    return not is_name and not (isinstance(node, ast.Constant) and not node.value)


def test_nothing_runs_data_but_what_is_named_here() -> None:
    found = {(file, what) for file, tree in trees() for what in wrong_calls(tree)}
    assert found == ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        "pickle.loads(b)", "from pickle import loads", "eval(x)", "exec(x)", "os.system(x)",
        "subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)", "yaml.load(x)",
        "cloudpickle.loads(x)", "import marshal", "np.load(f, allow_pickle=True)",
        "frame.to_pickle(x)",
    ],
)  # fmt: skip
def test_the_walk_finds_what_it_is_to_find(code: str) -> None:
    assert list(wrong_calls(ast.parse(code)))


def test_pickles_are_made_only_to_try_whether_they_can_be() -> None:
    """Spark and its own cloudpickle send the user's functions to workers; nothing here does."""
    using = {
        (file, dotted(node.func))
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "pickle" in dotted(node.func).split(".")[0]
    }
    assert using == {
        # Says early that a policy can't be sent to the processes of a simulation.
        ("simulation/parallel.py", "pickle.dumps"),
        # These tell Spark's cloudpickle which modules its workers can't import.
        ("cli/job_file.py", "cloudpickle.register_pickle_by_value"),
        ("preference/own_dominance.py", "cloudpickle.register_pickle_by_value"),
        ("testing/by_value.py", "cloudpickle.list_registry_pickle_by_value"),
        ("testing/by_value.py", "cloudpickle.register_pickle_by_value"),
        ("testing/by_value.py", "cloudpickle.unregister_pickle_by_value"),
    }


def test_a_yaml_loader_of_ours_is_a_safe_one() -> None:
    import yaml

    from penstock.errors import ConfigurationError
    from penstock.simulation.topology_text import _OneOfEach, topology_of_text

    assert issubclass(_OneOfEach, yaml.SafeLoader)
    with pytest.raises(ConfigurationError):
        topology_of_text("a: !!python/object/apply:os.getcwd []", "evil.yaml", "evil")


def test_names_of_columns_are_never_read_as_code() -> None:
    import pyarrow as pa

    from penstock.engine.rows import _dict_builder

    name = '"]; raise SystemExit #'
    build = _dict_builder((name, "__import__('os').abort()"))
    rows = build(pa.array([1]).to_pylist(), [2])
    assert rows == [{name: 1, "__import__('os').abort()": 2}]


def test_terminals_are_written_to_in_one_way() -> None:
    """All text for terminals goes through ``say`` and ``PlainConsole``, which make it plain."""
    allowed = {
        ("cli/saying.py", "typer.echo"),
        # What Typer itself has written: its help in its own colours, the script for a shell.
        ("cli/commands.py", "typer.echo"),
        ("cli/completion_script.py", "typer.echo"),
        # Its rows are made plain one by one, whatever console a user hands it.
        ("sinks/console_sink.py", "Console"),
    }
    direct = {"typer.echo", "typer.secho", "click.echo", "print", "Console", "rich.print"}
    found = {
        (file, dotted(node.func))
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func) in direct
    }
    assert found <= allowed
