"""What a checkpoint holds, of one that Spark wrote and of damaged copies of it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import inspection_checkpoint
from documents_written import resealed
from penstock.cli import app
from penstock.elasticity.decision import Decision
from penstock.engine.commit_log import CommitRecord
from penstock.errors import ConfigurationError
from penstock.inspection import inspect_checkpoint
from penstock.inspection.holding import HeldGroups
from penstock.inspection.state import held_groups, panes_of
from penstock.placement.group_table import GroupTable
from penstock.placement.key_groups import KeyGroupState
from penstock.windows.segments import directory_name, directory_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cloudpickle.register_pickle_by_value(inspection_checkpoint)
    try:
        return inspection_checkpoint.make_checkpoint(spark, tmp_path_factory.mktemp("inspected"))
    finally:
        cloudpickle.unregister_pickle_by_value(inspection_checkpoint)


@pytest.fixture
def checkpoint(written: Path, tmp_path: Path) -> Path:
    """Copy it, to be damaged."""
    return Path(shutil.copytree(written, tmp_path / "ck"))


def inspected(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["inspect", *arguments], env={"COLUMNS": "200"})


def newest(checkpoint: Path) -> Path:
    return max((checkpoint / "commits").glob("*.json"))


def wrong(checkpoint: Path) -> list[str]:
    """Return what looks wrong, and see that the command says it and exits with 2."""
    found = inspect_checkpoint(str(checkpoint))
    told = [each.what for each in found.problems if not each.is_note]
    result = inspected(str(checkpoint), "--quiet")
    assert result.exit_code == (2 if told else 0)
    assert result.stdout.count("WRONG") == len(told)
    return told


class TestWhole:
    def test_all_that_it_holds(self, written: Path) -> None:
        found = inspect_checkpoint(str(written), clock=lambda: NOON)
        assert (found.is_sound, found.is_running, found.problems) == (True, False, ())
        assert (found.name, found.last_batch) == ("clicks-by-user", 1)
        assert {"clicks", "checked", "totals"} <= set(found.operators)
        [source] = found.sources
        # The newest row is of 10:00:25, the watermark 5 seconds behind it, and it is noon.
        assert source.behind_seconds == 7200 - 25 + 5
        [windows] = found.windows
        assert windows.open_windows == 1
        assert windows.closed_until_seconds == NOON - 7200 + 20
        assert (windows.keys, windows.rows > 0, windows.bytes > 0) == ("user string", True, True)
        [keyed] = found.keyed
        # Of a, b and c, the zero has made it forget c.
        assert (keyed.key_count, keyed.files > 0) == (2, True)
        groups = {each.operator: each for each in found.key_groups}
        assert groups["totals"].groups == 128
        assert sum(groups["totals"].groups_by_task) == 128
        assert found.dead_letters is not None
        assert found.dead_letters.rows == 1
        assert found.policy is not None
        assert found.policy.kind == "Incremental"
        assert found.decision is not None
        assert found.decision.reason
        assert "totals" in {name for each in found.plan.values() for name in each}
        assert found.journal is not None
        assert (found.journal.starts, found.journal.corrupt_lines) == (1, 0)
        sizes = sum(file.stat().st_size for file in written.rglob("*") if file.is_file())
        assert found.bytes == sizes

    def test_segments_that_were_compacted(self, spark: SparkSession, tmp_path: Path) -> None:
        path = inspection_checkpoint.make_compacted(spark, tmp_path)
        record = CommitRecord.from_json(newest(path).read_text(), "")
        segments = record.windows["counts_partials"].segments
        assert any("." in each.name for each in segments)
        assert wrong(path) == []
        compacted = next(each for each in segments if "." in each.name)
        shutil.rmtree(path / "panes/counts_partials" / directory_name(directory_of(compacted.name)))
        [told] = wrong(path)
        assert "is missing, with" in told

    def test_in_plain_words(self, written: Path) -> None:
        result = inspected(str(written))
        assert result.exit_code == 0, result.output
        for words in (
            "the checkpoint of query 'clicks-by-user'",
            "The newest micro-batch is 1",
            "No query is running on it.",
            "windows of 10 seconds by user string, 1 still open",
            "totals: 2 keys",
            "128 groups on",
            "policy: Incremental",
            "dead letters: 1 row in",
            "1 start of the query",
            "Nothing looks wrong.",
        ):
            assert words in result.stdout

    def test_json_is_one_object(self, written: Path) -> None:
        result = inspected(str(written), "--json")
        document = json.loads(result.stdout)
        assert (document["is_sound"], document["last_batch"]) == (True, 1)
        assert document["keyed"][0]["key_count"] == 2
        assert inspected(str(written), "--quiet").stdout.strip() == ""

    def test_nothing_is_changed(self, checkpoint: Path) -> None:
        def state() -> dict[str, tuple[int, int]]:
            files = [each for each in checkpoint.rglob("*") if each.is_file()]
            stats = {str(each): each.stat() for each in files}
            return {name: (stat.st_mtime_ns, stat.st_size) for name, stat in stats.items()}

        before = state()
        inspect_checkpoint(str(checkpoint))
        assert state() == before

    def test_spark_is_not_loaded(self, written: Path) -> None:
        script = (
            "import sys\n"
            "from penstock.inspection import inspect_checkpoint\n"
            f"assert inspect_checkpoint({str(written)!r}).is_sound\n"
            "sys.exit('pyspark' in sys.modules)\n"
        )
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

    def test_progress_is_told(self, written: Path) -> None:
        told: list[tuple[str, float]] = []
        inspect_checkpoint(str(written), on_read=lambda what, share: told.append((what, share)))
        assert ("keys of totals", 1.0) in told
        assert all(0.0 <= share <= 1.0 for _, share in told)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def a_segment(checkpoint: Path) -> Path:
    return next((checkpoint / "panes").glob("*/_penstock_segment=*/*.parquet"))


def a_state_file(checkpoint: Path) -> Path:
    return next((checkpoint / "state").glob("*/*.arrow"))


def a_letter(checkpoint: Path) -> Path:
    return next((checkpoint / "dead_letters").glob("batch_id=*/*.parquet"))


def newer_line(journal: Path) -> None:
    with next(journal.glob("*.jsonl")).open("a") as file:
        file.write('{"v":99,"seq":999,"at":1.0,"kind":"BatchSkipped","batch_id":1}\n')


class TestDamaged:
    @pytest.mark.parametrize(
        ("damage", "told"),
        [
            (lambda ck: cut(newest(ck)), "is cut short or damaged"),
            (lambda ck: newest(ck).write_text("{}"), "was not written by Penstock"),
            (lambda ck: cut(a_segment(ck)), "is cut short or damaged"),
            (lambda ck: shutil.rmtree(a_segment(ck).parent), "is missing, with"),
            (lambda ck: flip(a_segment(ck)), "missing, damaged or was added since"),
            (lambda ck: cut(a_state_file(ck)), "bytes and was committed with"),
            (lambda ck: flip(a_state_file(ck)), "is damaged: its checksum"),
            (lambda ck: (ck / "split.json").write_text("x"), "split.json' is cut short or damaged"),
            (lambda ck: (ck / "spark/offsets/1").write_text("x"), "offsets/1' is cut short"),
            (lambda ck: flip(ck / "spark/offsets/1"), "offsets/1' is cut short or damaged"),
            (lambda ck: (ck / "spark/metadata").unlink(), "metadata' is missing"),
            (lambda ck: a_state_file(ck).unlink(), "is missing"),
            (lambda ck: (ck / "query.json").unlink(), "query.json is missing"),
            (lambda ck: cut(ck / "query.json"), "is cut short or damaged"),
            (lambda ck: (ck / "query.json").write_bytes(b"\xff\xfe"), "is cut short or damaged"),
            (lambda ck: shutil.rmtree(ck / "spark"), "is empty or missing"),
            (lambda ck: (ck / "spark/offsets/9").touch(), "they don't belong together"),
            (lambda ck: cut(a_letter(ck)), "is cut short or damaged"),
            (lambda ck: newer_line(ck / "journal"), "was written with schema 99"),
        ],
    )
    def test_is_told_with_what_to_do(
        self, checkpoint: Path, damage: Callable[[Path], object], told: str
    ) -> None:
        damage(checkpoint)
        found = wrong(checkpoint)
        assert any(told in each for each in found), found
        assert all(each.remedy for each in inspect_checkpoint(str(checkpoint)).problems)

    def test_what_is_no_row_that_was_set_aside(self, checkpoint: Path) -> None:
        staged = checkpoint / "dead_letters/_staging/batch_id=9.abc"
        staged.mkdir(parents=True)
        shutil.copy(a_letter(checkpoint), staged)
        (staged / "part-cut.parquet").write_text("PAR1")
        assert wrong(checkpoint) == []
        assert "dead letters: 1 row in" in inspected(str(checkpoint)).stdout

    def test_a_watermark_at_the_beginning_of_time(self, checkpoint: Path) -> None:
        record = newest(checkpoint)
        marks = json.loads(record.read_text())["marks"]
        marks["clicks"] |= {"micros": 0, "newest_micros": 0}
        record.write_text(resealed(record.read_text(), marks=marks))
        [source] = inspect_checkpoint(str(checkpoint)).sources
        assert (source.watermark_seconds, source.newest_row_seconds) == (0.0, 0.0)

    def test_what_only_follows_from_a_damaged_record_is_no_defect(self, checkpoint: Path) -> None:
        first = min((checkpoint / "commits").glob("*.json"))
        segments = CommitRecord.from_json(first.read_text(), "").windows["sums_partials"].segments
        # The second batch closed the window of the first, and had its segment deleted.
        panes = checkpoint / "panes/sums_partials"
        assert not any((panes / f"_penstock_segment={each.name}").exists() for each in segments)
        cut(newest(checkpoint))
        [told] = wrong(checkpoint)
        assert told.startswith(f"'{newest(checkpoint)}' is cut short or damaged")
        [_, note] = inspect_checkpoint(str(checkpoint)).problems
        assert note.is_note
        assert "is of micro-batch 0, the newest whose record can be read" in note.what

    def test_what_is_wrong_besides_a_damaged_record_is_told(self, checkpoint: Path) -> None:
        cut(newest(checkpoint))
        (checkpoint / "spark/offsets/9").touch()
        assert len(wrong(checkpoint)) == 2

    def test_no_record_can_be_read(self, checkpoint: Path) -> None:
        for record in (checkpoint / "commits").glob("*.json"):
            cut(record)
        assert len(wrong(checkpoint)) == 2
        assert "No commit record can be read." in inspected(str(checkpoint)).stdout

    def test_a_newer_format(self, checkpoint: Path) -> None:
        record = newest(checkpoint)
        record.write_text(resealed(record.read_text(), version=99))
        [told, *_] = wrong(checkpoint)
        assert "has version 99" in told
        assert inspect_checkpoint(str(checkpoint)).last_batch == 0

    def test_a_record_of_another_query(self, checkpoint: Path) -> None:
        record = newest(checkpoint)
        record.write_text(resealed(record.read_text(), query_id="other"))
        assert any("is of another query" in each for each in wrong(checkpoint))

    def test_a_line_of_the_journal(self, checkpoint: Path) -> None:
        file = next((checkpoint / "journal").glob("*.jsonl"))
        file.write_text(f"nonsense\n{file.read_text()}")
        assert wrong(checkpoint) == [
            f"1 line of the event log in {checkpoint / 'journal'} can't be read"
        ]

    def test_a_batch_that_was_broken_off(self, checkpoint: Path) -> None:
        shutil.copy(checkpoint / "spark/offsets/1", checkpoint / "spark/offsets/2")
        assert wrong(checkpoint) == []
        [note] = inspect_checkpoint(str(checkpoint)).problems
        assert note.what.startswith("micro-batch 2 was begun and not committed")
        assert "repeats that batch" in note.remedy

    def test_what_a_failed_try_left(self, checkpoint: Path) -> None:
        folder = a_segment(checkpoint).parent
        shutil.copytree(folder, folder.with_name("_penstock_segment=99"))
        assert wrong(checkpoint) == []
        told = "holds 1 segment of which no commit record tells, such as _penstock_segment=99"
        assert told in inspected(str(checkpoint)).stdout

    def test_contents_are_not_compared_while_a_query_may_change_them(
        self, checkpoint: Path
    ) -> None:
        flip(a_segment(checkpoint))
        (checkpoint / "spark/offsets/1").write_text("x")
        file = os.open(checkpoint / ".lock", os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert inspect_checkpoint(str(checkpoint)).is_sound
        finally:
            os.close(file)
        assert len(wrong(checkpoint)) == 2

    def test_a_lock_that_a_running_query_holds(self, checkpoint: Path) -> None:
        assert not inspect_checkpoint(str(checkpoint)).is_running
        file = os.open(checkpoint / ".lock", os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert inspect_checkpoint(str(checkpoint)).is_running
            assert "A query is running on it." in inspected(str(checkpoint)).stdout
        finally:
            os.close(file)


class TestOthers:
    def test_a_plain_spark_checkpoint(self, written: Path) -> None:
        copy = written.parent / "plain"
        shutil.copytree(written / "spark", copy, dirs_exist_ok=True)
        with pytest.raises(ConfigurationError, match=r"did not run and has come to micro-batch 1"):
            inspect_checkpoint(str(copy))

    def test_a_part_of_a_checkpoint(self, written: Path) -> None:
        with pytest.raises(ConfigurationError, match="Name the whole"):
            inspect_checkpoint(str(written / "journal"))

    def test_an_empty_directory(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="is empty"):
            inspect_checkpoint(str(tmp_path))

    def test_another_directory(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(ConfigurationError, match=r"is no checkpoint.*thesis"):
            inspect_checkpoint(str(tmp_path))

    @pytest.mark.parametrize(
        ("path", "told"),
        [
            ("/no/such/place", "there is nothing at"),
            ("hdfs://store/ck", "hadoop fs -get hdfs://store/ck"),
            ("s3a://bucket/ck", "not on this machine's disk"),
            (__file__, "is a file"),
        ],
    )
    def test_one_sentence(self, path: str, told: str) -> None:
        result = inspected(path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert told in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_key_groups_of_windows_are_in_what_the_placement_learnt() -> None:
    state = KeyGroupState(GroupTable((0, 1, 0), 2), (1.0, 6.0, 1.0))
    record = CommitRecord(
        "id", 0, 0.0, Decision(2, "all"), placement={"sums": {"state": state.to_json(), "hot": {}}}
    )
    assert held_groups(record) == [HeldGroups("sums", 3, (2, 1), 0.75)]


@pytest.mark.parametrize(
    ("described", "micros"),
    [
        ("90 seconds, offset 30 seconds", 30_000_000),
        ("1 hour every 1 minute; 10 minutes", 60_000_000),
    ],
)
def test_windows_are_read_back_from_their_words(described: str, micros: int) -> None:
    panes = panes_of(described)
    assert panes is not None
    assert panes.micros == micros
    assert "; ".join(each.spec.describe() for each in panes.specs) == described
