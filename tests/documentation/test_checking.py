"""The checks of code blocks themselves: a page that is wrong is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from documentation.blocks import Block, PageError, blocks_of
from documentation.page_names import UnknownName
from documentation.page_python import WrongOutput, run_page
from documentation.shell_lines import WrongLine, check_shell

SETUP = "<!-- setup\nx = 2\n-->\n"


def page_with(text: str, folder: Path) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


def python(code: str, note: str = "") -> str:
    return f"{note}\n\n```python\n{code}\n```\n"


def shown(text: str, note: str = "<!-- output -->") -> str:
    return f"{note}\n```text\n{text}\n```\n"


def test_blocks_of_a_page_share_their_names_and_its_hidden_set_up(tmp_path: Path) -> None:
    page = page_with(SETUP + python("y = x + 1") + python("print(y)") + shown("3"), tmp_path)
    assert run_page(page, tmp_path).blocks == 2


def test_a_block_that_raises_is_named_by_its_line(tmp_path: Path) -> None:
    page = page_with("text\n" + python("1 / 0"), tmp_path)
    with pytest.raises(ZeroDivisionError) as raised:
        run_page(page, tmp_path)
    assert f"{page}:5" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    ("printed", "text"),
    [("3", "4"), ("a b", "a"), ("a\nb", "b\na"), ("", "a"), ("1 row", "2 row")],
)
def test_an_output_that_differs_is_found(printed: str, text: str, tmp_path: Path) -> None:
    page = page_with(python(f"print({printed!r})") + shown(text), tmp_path)
    with pytest.raises(WrongOutput):
        run_page(page, tmp_path)


@pytest.mark.parametrize(
    ("printed", "text", "note"),
    [
        ("a\nb\nc", "a\n...\nc", "<!-- output -->"),
        ("took long", "took ...", "<!-- output -->"),
        ("12 rows in 0.5 s", "99 rows in 1.25 s", "<!-- output: numbers vary -->"),
    ],
)
def test_what_may_differ_may(printed: str, text: str, note: str, tmp_path: Path) -> None:
    run_page(page_with(python(f"print({printed!r})") + shown(text, note), tmp_path), tmp_path)


def test_an_output_is_not_found_in_what_was_printed_long_before(tmp_path: Path) -> None:
    page = page_with(python("print(1)") + shown("1") + python("print(2)") + shown("1"), tmp_path)
    with pytest.raises(WrongOutput):
        run_page(page, tmp_path)


def test_paths_under_out_are_in_the_folder_of_the_page(tmp_path: Path) -> None:
    code = 'print("out/a")\nfrom pathlib import Path\nPath("out/a").parent.mkdir()'
    run_page(page_with(python(code) + shown("out/a"), tmp_path), tmp_path)
    assert (tmp_path / "out").is_dir()


def test_a_block_may_be_a_file(tmp_path: Path) -> None:
    block = "<!-- file: one.yaml -->\n```yaml\na: 1\n```\n"
    run_page(
        page_with(block + python('assert open("one.yaml").read() == "a: 1\\n"'), tmp_path), tmp_path
    )


@pytest.mark.parametrize(
    "code",
    [
        "unheard_of(1)",
        "import penstock as ps\nps.Steram",
        "import penstock as ps\nps.run(checkpiont='ck')",
        "import penstock as ps\nps.sinks.parket('out')",
        "from penstock import Steram",
    ],
)
def test_names_are_checked_where_code_is_not_run(code: str, tmp_path: Path) -> None:
    page = page_with(python(code, "<!-- needs: a Kafka broker -->"), tmp_path)
    with pytest.raises(UnknownName):
        run_page(page, tmp_path)


def test_code_runs_only_where_there_is_what_it_needs(tmp_path: Path) -> None:
    code = "import penstock as ps\nslots = ps.ExecutorSlots(max=4)\nmade = open('place/a').read()"
    page = page_with(python(code, "<!-- needs: a cluster -->"), tmp_path)
    (tmp_path / "a").write_text("here")
    assert run_page(page, tmp_path).blocks == 0
    assert run_page(page, tmp_path, "a Kafka broker").blocks == 0
    ran = run_page(page, tmp_path, "a cluster", {"place/": f"{tmp_path}/"})
    assert (ran.blocks, ran.names["made"]) == (1, "here")


@pytest.mark.parametrize(
    "line",
    [
        "penstock runn job.py",
        "penstock run job.py --chekpoint ck",
        "penstock run",
        "penstock simulate rates.csv --topology tweets --max many",
        "make coffee",
        "pip install 'penstock[kafka-and-more]'",
        "python benchmarks/engines.py",
        "python benchmarks/engine.py --jsonn",
        "spark-submit --pyfiles a.zip job.py",
        "frobnicate",
        "if true; then",
    ],
)
def test_a_line_that_would_fail_is_found(line: str, tmp_path: Path) -> None:
    with pytest.raises(WrongLine):
        check_shell(Block(tmp_path / "page.md", 1, "sh", line + "\n"))


@pytest.mark.parametrize(
    "line",
    [
        "penstock run job.py --checkpoint ck  # a comment",
        "penstock doctor --json | python -m json.tool",
        "penstock explain job.py \\\n  --format mermaid > job.txt",
        "PYTHONHASHSEED=0 make test",
        "pip install .",
        "",
    ],
)
def test_a_line_that_works_passes(line: str, tmp_path: Path) -> None:
    check_shell(Block(tmp_path / "page.md", 1, "sh", line + "\n"))


@pytest.mark.parametrize("text", ["```python\n1\n", "<!-- output -->\n\nwords\n"])
def test_a_page_with_loose_ends_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PageError):
        blocks_of(page_with(text, tmp_path))
