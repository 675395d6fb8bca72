from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner, Result

import penstock
from penstock import doctor
from penstock.cli import app, run_job
from penstock.cli.complaints import sentence
from penstock.cli.elasticity import Elasticity
from penstock.cli.job_file import JobFile
from penstock.cli.progress import LiveProgress, PlainProgress, sparkline, table
from penstock.cli.run_command import PlacementName
from penstock.cli.run_record import KEPT_BATCHES, RunRecord
from penstock.cli.watching import CtrlC
from penstock.doctor import Finding
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import (
    Observation,
    OperatorObservation,
    SourceObservation,
)
from penstock.elasticity.policy_names import ADAPTING
from penstock.errors import ConfigurationError, OperatorError
from penstock.journal.events import BatchFinished, DecisionMade, KnownEvent, QueryStarted
from penstock.journal.lines import Event
from penstock.journal.window_events import RowsLate

FINE = Finding("python", True, "3.11.7")
NO_JAVA = Finding("java", False, "there is none", "Install Java 17.")
TRACEBACK = "Traceback"


def penstock_command(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def examined(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr(doctor, "examine", lambda start_spark: findings)


MUTE = "class Mute(Exception):\n    def __str__(self):\n        raise ValueError('no')\n"


def job_file(directory: Path, text: str) -> str:
    path = directory / "job.py"
    path.write_text(text)
    return str(path)


def refusal(result: Result) -> str:
    """Return the one sentence of a refusal."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert TRACEBACK not in result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


class TestHelp:
    def test_no_command_shows_the_help(self) -> None:
        result = penstock_command()
        assert result.exit_code == 0
        assert "Commands:" in result.stdout

    def test_version(self) -> None:
        assert penstock_command("--version").stdout == f"penstock {penstock.__version__}\n"
        assert penstock_command("version").stdout.startswith(f"penstock {penstock.__version__} (")
        versions = json.loads(penstock_command("version", "--json").stdout)
        assert versions["penstock"] == penstock.__version__
        assert versions["pyspark"].startswith("4.3.")


class TestDoctor:
    def test_all_is_well(self, monkeypatch: pytest.MonkeyPatch) -> None:
        examined(monkeypatch, FINE)
        result = penstock_command("doctor")
        assert (result.exit_code, result.stdout) == (0, "ok    python: 3.11.7\n")

    def test_something_is_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        examined(monkeypatch, FINE, NO_JAVA)
        result = penstock_command("doctor")
        assert result.exit_code == 2
        assert result.stdout.splitlines()[1] == "FAIL  java: there is none. Install Java 17."

    def test_quiet_says_only_what_is_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        examined(monkeypatch, FINE, NO_JAVA)
        result = penstock_command("doctor", "--only", "java", "--quiet")
        assert (result.exit_code, result.stdout) == (
            2,
            "FAIL  java: there is none. Install Java 17.\n",
        )
        examined(monkeypatch, FINE)
        result = penstock_command("doctor", "--only", "python", "--quiet")
        assert (result.exit_code, result.output) == (0, "")

    def test_only_looks_away_from_the_rest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        examined(monkeypatch, FINE, NO_JAVA)
        assert penstock_command("doctor", "--only", "Python").exit_code == 0

    def test_only_of_an_unknown_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        examined(monkeypatch, FINE, NO_JAVA)
        told = refusal(penstock_command("doctor", "--only", "coffee"))
        assert "no check 'coffee'" in told
        assert "python, java" in told

    def test_json(self, monkeypatch: pytest.MonkeyPatch) -> None:
        examined(monkeypatch, FINE, NO_JAVA)
        result = penstock_command("doctor", "--json")
        assert result.exit_code == 2
        assert json.loads(result.stdout) == {
            "ok": False,
            "findings": [
                {"name": "python", "ok": True, "detail": "3.11.7", "remedy": ""},
                {
                    "name": "java",
                    "ok": False,
                    "detail": "there is none",
                    "remedy": "Install Java 17.",
                },
            ],
        }

    def test_start_spark_is_passed_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[bool] = []

        def examine(start_spark: bool) -> tuple[Finding, ...]:
            asked.append(start_spark)
            return (FINE,)

        monkeypatch.setattr(doctor, "examine", examine)
        penstock_command("doctor")
        penstock_command("doctor", "--start-spark")
        assert asked == [False, True]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("brew",), "No such command 'brew'"),
            (("rnu",), "Did you mean 'run'? See: penstock --help"),
            (("run", "nosuch.py", "--checkpoint", "ck"), "there is no file"),
            (("run", "job.py"), "there is no file"),
            (("run",), "Missing argument"),
            (("run", "job.py", "--slots", "many"), "--slots many is no number"),
            (("run", "job.py", "--slots", "8..2"), "at least 8 slots is more than at most 2"),
            (("run", "job.py", "--slots", "8", "--max-slots", "9"), "Write it, or them"),
            (("run", "job.py", "--slots", "0"), "is no number of slots"),
            (("run", "job.py", "--metrics-port", "70000"), "--metrics-port"),
            (
                ("run", "job.py", "--checkpoint", "ck", "--trigger", "1 s", "--available-now"),
                "exclude each other",
            ),
            (("run", "job.py", "--checkpoint", "ck", "--trigger", "soon"), "not a length of time"),
            (("run", "job.py", "--checkpoint", "ck", "--trigger", "0 seconds"), "is no time"),
            (("run", "job.py", "--checkpoint", "ck", "--conf", "fast"), "--conf fast is no"),
            (("explain", "nosuch.py"), "there is no file"),
            (("explain", "job.py", "--format", "poem"), "'poem'"),
            (("demo", "--seconds", "0"), "--seconds"),
            (("demo", "--rate", "0"), "--rate"),
            (("demo", "--rate", "many"), "--rate"),
        ],
    )
    def test_one_sentence(self, arguments: tuple[str, ...], told: str) -> None:
        assert told in refusal(penstock_command(*arguments))

    def test_file_without_the_function(self, tmp_path: Path) -> None:
        file = job_file(tmp_path, "def other(spark): ...\n")
        told = refusal(penstock_command("run", file, "--checkpoint", str(tmp_path / "ck")))
        assert "has no function 'build'" in told
        assert not (tmp_path / "ck").exists()

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("x = 1\ny = nonsense\n", "line 2: NameError: name 'nonsense' is not defined"),
            ("x = 1\n\ndef build(:\n", "line 3: SyntaxError: invalid syntax"),
            ("import nosuchmodule\n", "line 1: ModuleNotFoundError"),
            (MUTE + "raise Mute\n", "line 4: Mute: (a Mute that cannot be written as text)"),
            ("class Odd(BaseException): ...\nraise Odd('so')\n", "line 2: Odd: so"),
        ],
    )
    def test_file_that_does_not_load(self, tmp_path: Path, text: str, told: str) -> None:
        file = job_file(tmp_path, text)
        for command in ("explain", "run"):
            assert told in refusal(penstock_command(command, file))

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (MUTE + "def build(): raise Mute\n", "line 4: Mute: (a Mute that cannot be"),
            ("class Odd(BaseException): ...\ndef build(): raise Odd('so')\n", "line 2: Odd: so"),
        ],
    )
    def test_function_that_raises_anything(self, tmp_path: Path, text: str, told: str) -> None:
        job = JobFile.parse(job_file(tmp_path, text)).load()
        with pytest.raises(ConfigurationError) as error:
            job.build(None)  # type: ignore[arg-type]
        assert told in str(error.value)

    def test_file_that_ends_the_program_ends_it(self, tmp_path: Path) -> None:
        file = job_file(tmp_path, "raise SystemExit(7)\n")
        assert penstock_command("explain", file).exit_code == 7

    def test_a_bug_is_told_in_a_sentence_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def examine(start_spark: bool) -> tuple[Finding, ...]:
            raise RuntimeError("the thermometer broke\nin two")

        monkeypatch.setattr(doctor, "examine", examine)
        result = penstock_command("doctor")
        assert result.exit_code == 1
        assert "unexpected RuntimeError: the thermometer broke. This is a bug" in result.stderr
        assert TRACEBACK not in result.stderr

    def test_operator_error_names_the_line_of_the_user(self) -> None:
        error = OperatorError(
            operator="bill",
            row='{"id": 3}',
            error="KeyError",
            reason="'price'",
            user_traceback='Traceback:\n  File "jobs/bill.py", line 12, in bill\nKeyError\n',
        )
        assert sentence(error) == (
            "operator 'bill' failed with KeyError: 'price' (jobs/bill.py line 12), on the row "
            "{\"id\": 3}. To keep going past bad rows, write on_error='dead_letter' on that "
            "operator."
        )


def test_command_line_starts_without_pyspark() -> None:
    """The package's catalogue stands in empty, so that only the command line's imports count."""
    package = str(Path(penstock.__file__).parent)
    script = (
        "import sys, types\n"
        "root = types.ModuleType('penstock')\n"
        f"root.__path__ = [{package!r}]\n"
        "sys.modules['penstock'] = root\n"
        "import penstock.cli\n"
        "sys.exit('pyspark' in sys.modules or 'pandas' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


class TestElasticity:
    def test_every_policy_and_placement_has_a_name_that_works(self) -> None:
        assert {placement.value for placement in PlacementName} == set(run_job.PLACEMENTS)
        for name in ("static", "static:3", *ADAPTING):
            assert isinstance(Elasticity(name).chosen_policy(), penstock.Policy)

    @pytest.mark.parametrize("policy", ["static", "auto-scale-plus"])
    def test_this_machine_has_cores(self, policy: str) -> None:
        slots = Elasticity(policy, max_slots=3).slots("local[4]")
        assert slots == penstock.LocalSlots(max=3)

    def test_a_cluster_is_asked_for_executors_only_by_a_policy_that_adapts(self) -> None:
        slots = Elasticity("replica-pool", 2, 9).slots("spark://host:7077")
        assert isinstance(slots, penstock.ExecutorSlots)
        assert repr(slots) == "ExecutorSlots(min=2, max=9)"
        fixed = Elasticity("static", max_slots=9).slots("spark://host:7077")
        assert fixed == penstock.LocalSlots(max=9)

    @pytest.mark.parametrize(
        ("elasticity", "master", "told"),
        [
            (Elasticity("fuzzy"), "yarn", "such as --max-slots 20"),
            (Elasticity("static", min_slots=2), "yarn", "or leave it out"),
        ],
    )
    def test_what_does_not_go_together(
        self, elasticity: Elasticity, master: str, told: str
    ) -> None:
        with pytest.raises(penstock.ConfigurationError, match=told):
            elasticity.slots(master), elasticity.chosen_policy()


class TestJobFile:
    def test_function_may_be_named(self, tmp_path: Path) -> None:
        file = job_file(tmp_path, "def nightly(spark): return spark\n")
        assert JobFile.parse(f"{file}:nightly").load().function(5) == 5

    def test_neighbours_can_be_imported_and_dataclasses_made(self, tmp_path: Path) -> None:
        (tmp_path / "neighbour_of_job.py").write_text("ROWS = 7\n")
        text = (
            "from __future__ import annotations\n"
            "from dataclasses import dataclass\n"
            "import neighbour_of_job\n"
            "@dataclass\nclass Row:\n    n: int = neighbour_of_job.ROWS\n"
            "def build(spark): return Row()\n"
        )
        file = job_file(tmp_path, text)
        assert JobFile.parse(file).load().function(None).n == 7

    @pytest.mark.parametrize(
        ("returned", "told"),
        [
            ("None", "something of type NoneType"),
            ("[]", "an empty list"),
            ("[1]", "something of type int"),
        ],
    )
    def test_what_is_no_outlet(self, tmp_path: Path, returned: str, told: str) -> None:
        file = job_file(tmp_path, f"def build(spark): return {returned}\n")
        with pytest.raises(ConfigurationError, match=f"returned {told}.*stream.to"):
            JobFile.parse(file).load().build(None)  # type: ignore[arg-type]

    def test_build_that_fails(self, tmp_path: Path) -> None:
        file = job_file(tmp_path, "def build(spark):\n    return spark.nosuch\n")
        with pytest.raises(ConfigurationError, match=r"job.py line 2: AttributeError"):
            JobFile.parse(file).load().build(None)  # type: ignore[arg-type]


def finished(
    batch_id: int,
    *,
    rows: int = 10,
    at: float = 0.0,
    seconds: float = 0.5,
    out: int = 0,
    failed: int = 0,
) -> BatchFinished:
    operators = (
        OperatorObservation("look_up", rows, rows, 0.1, 1, 0.1, 0.1, failed_rows=failed),
        OperatorObservation("sink", out, out, 0.1, 1, 0.1, 0.1),
    )
    sources = (SourceObservation("source", rows, waiting_rows=3),)
    return BatchFinished(Observation(batch_id, at, seconds, 1.0, 8, operators, sources))


def events(*bodies: KnownEvent) -> list[Event]:
    return [Event(number, 0.0, body) for number, body in enumerate(bodies, start=1)]


STARTED = QueryStarted("id", "demo", "Topology", "0.1.0", "4.3.0", 8)


class TestRunRecord:
    @given(
        st.lists(
            st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 9)), max_size=90
        )
    )
    def test_totals_are_sums_however_events_arrive(
        self, batches: list[tuple[int, int, int]]
    ) -> None:
        bodies = [
            finished(n, rows=rows, out=out, failed=failed)
            for n, (rows, out, failed) in enumerate(batches)
        ]
        whole = RunRecord().after(events(*bodies))
        one_by_one = RunRecord()
        for event in events(*bodies):
            one_by_one = one_by_one.after([event])
        assert whole == one_by_one
        assert whole.batches == len(batches)
        assert whole.rows_in == sum(rows for rows, _, _ in batches)
        assert whole.rows_out.get("sink", 0) == sum(out for _, out, _ in batches)
        assert whole.failed_rows == sum(failed for _, _, failed in batches)
        assert len(whole.recent) == min(len(batches), KEPT_BATCHES)

    def test_rate_is_over_the_time_since_the_last_batch(self) -> None:
        record = RunRecord().after(
            events(finished(0, rows=100, at=10.0), finished(1, rows=100, at=12.0))
        )
        assert [batch.rows_per_second for batch in record.recent] == [200.0, 50.0]

    def test_slots_are_those_of_the_decision_in_force(self) -> None:
        record = RunRecord().after(
            events(
                DecisionMade(-1, Decision(2, "begin small")),
                finished(0),
                DecisionMade(0, Decision(99, "more than there are")),
                finished(1),
            )
        )
        assert [batch.slots for batch in record.recent] == [2, 8]

    def test_a_restart_begins_a_new_record_with_its_first_decision(self) -> None:
        first = DecisionMade(-1, Decision(4, "all"))
        record = RunRecord().after(
            events(finished(0, failed=1), RowsLate(0, "late", 5), first, STARTED, finished(1))
        )
        assert (record.batches, record.failed_rows, record.late_rows) == (1, 0, 0)
        assert record.decisions == (first,)

    def test_late_rows(self) -> None:
        assert RunRecord().after(events(RowsLate(0, "a", 5), RowsLate(1, "b", 2))).late_rows == 7


def drawn(record: RunRecord, outputs: list[str]) -> list[str]:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(record, outputs))
    return console.export_text().splitlines()


class TestProgress:
    def test_each_batch_is_one_plain_line(self) -> None:
        lines: list[str] = []
        progress = PlainProgress(["sink"], lines.append)
        record = RunRecord().after(events(finished(0, out=9, failed=1)))
        progress.show(record)
        progress.show(record)
        assert lines == [
            "batch 0: 10 rows, 20 rows/s, 0.5 s of 1 s, 3 waiting, 8 slots, sink 9, 1 failed"
        ]

    def test_table_has_the_newest_batches_and_the_totals(self) -> None:
        record = RunRecord().after(events(*(finished(n, out=7) for n in range(20))))
        lines = drawn(record, ["sink"])
        assert lines[0].split() == (
            ["batch", "rows", "in", "rows/s", "batch", "time", "waiting", "slots", "sink", "failed"]
        )
        assert [line.split()[0] for line in lines[1:-1]] == [str(n) for n in range(12, 20)]
        assert lines[-1].split() == ["all", "200", "140", "0"]

    def test_three_sinks_fit_a_small_terminal(self) -> None:
        record = RunRecord().after(events(*(finished(n, rows=9_999) for n in range(20))))
        lines = drawn(record, ["readings", "alarms", "unread"])
        assert len(lines) == 10
        assert not any("…" in line for line in lines)

    def test_live_progress_draws(self) -> None:
        console = Console(width=120, record=True, force_terminal=True)
        with LiveProgress(["sink"], console, "a job") as progress:
            progress.show(RunRecord().after(events(finished(41, out=7))))
        shown = console.export_text()
        assert "a job" in shown
        assert "█" in shown
        assert "41" in shown

    @pytest.mark.parametrize(("width", "has_columns"), [(80, False), (140, True)])
    def test_sinks_share_a_column_where_there_is_no_room(
        self, width: int, has_columns: bool
    ) -> None:
        sinks = ["sink", "readings", "unread", "late", "windows", "peaks", "alarms"]
        console = Console(width=width, record=True, force_terminal=True)
        with LiveProgress(sinks, console, "a job") as progress:
            progress.show(RunRecord().after(events(finished(41, out=7))))
        shown = console.export_text()
        assert "…" not in shown
        assert ("rows out: sink 7, readings 0, unread 0" in shown) is not has_columns
        assert (" peaks alarms failed" in shown) is has_columns

    @given(st.lists(st.floats(0, 1e9)))
    def test_sparkline_has_a_bar_for_each_value(self, values: list[float]) -> None:
        bars = sparkline(values)
        assert len(bars) == len(values)
        if values and max(values) > 0:
            assert bars[values.index(max(values))] == "█"


def test_second_ctrl_c_raises_and_the_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with CtrlC() as ctrl_c:
        assert not ctrl_c.pressed
        signal.raise_signal(signal.SIGINT)
        assert ctrl_c.pressed
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
