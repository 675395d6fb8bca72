"""A directory of Parquet or JSON files, one subdirectory per batch, published by one rename."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from penstock.arguments import checked
from penstock.errors import ConfigurationError, SinkError
from penstock.sinks.filesystem import HadoopFiles

_BATCH_COLUMN = "batch_id"
_OWNER_VERSION = 1


class FileSink:
    """Writes each batch to ``path/batch_id=N/`` with one Spark job.

    A batch is written to ``path/_staging``, which readers skip, and published by renaming its
    directory. A batch sent again replaces itself. ``path/_penstock/owner.json`` names the query
    that owns the directory; another query is refused.

    ``publishes_empty=False`` leaves a batch without rows no directory, so that files do not pile up
    where rows are rare. Readers who need the columns before the first row came want it published.
    """

    reads_all = True

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        file_format: str,
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        publishes_empty: bool = True,
    ) -> None:
        _check_settings(path, file_format, partition_by)
        self.path = os.fspath(path).rstrip("/") or "/"
        self._format = file_format
        self._partition_by = tuple(partition_by)
        self._options = dict(options or {})
        self._publishes_empty = publishes_empty
        self._files: HadoopFiles | None = None

    def open(self, query_id: str) -> None:
        """Claim the directory for this query and clean up what a crash left in it."""
        self._files = HadoopFiles(SparkSession.active())
        self._claim(self._files, query_id)
        self._clean(self._files)

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Publish the rows of a batch in place of what an earlier try of it published."""
        if self._files is None:
            raise SinkError(f"{self.describe()} got batch {batch_id} before open(query_id)")
        self.check(df.columns)
        self._clean(self._files, prefix=f"{_BATCH_COLUMN}={batch_id}.")
        # The name is new for every try: tasks of a driver that died may still be writing to theirs.
        attempt = f"{self._staging}/{_BATCH_COLUMN}={batch_id}.{uuid.uuid4().hex}"
        try:
            self._run_job(df, f"{attempt}.new", self._files)
            if self._format == "json" and not self._partition_by:
                self._drop_empty_file(self._files, f"{attempt}.new")
        except Exception:
            self._files.delete(f"{attempt}.new", recursive=True)
            raise
        target = f"{self.path}/{_BATCH_COLUMN}={batch_id}"
        if self._publishes_empty or self._has_rows(self._files, f"{attempt}.new"):
            self._publish(self._files, attempt, target)
        else:
            self._withdraw(self._files, attempt, target)

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that these files can't hold, or that readers would mix up."""
        # Most file readers of Spark compare names without case.
        names = [name.lower() for name in columns]
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if repeated:
            raise SinkError(
                f"{self.describe()} got the column '{repeated[0]}' more than once (case does not "
                f"count). Rename one: select(..., 'x AS other_name')"
            )
        if _BATCH_COLUMN in names:
            raise SinkError(
                f"{self.describe()} got a column named '{_BATCH_COLUMN}', which is the name of its "
                f"directories. Rename yours: select(..., 'batch_id AS my_batch_id')"
            )
        missing = [name for name in self._partition_by if name.lower() not in names]
        if missing:
            raise SinkError(
                f"{self.describe()} has partition_by column '{missing[0]}', which is not among "
                f"the columns {', '.join(columns)}. Add it to the rows or drop it from partition_by"
            )
        if len(self._partition_by) == len(names):
            raise SinkError(
                f"{self.describe()} has every column in partition_by, so no column is left for "
                f"the files. Take at least one out of partition_by"
            )

    def describe(self) -> str:
        """Format and directory."""
        return f"{self._format}({self.path})"

    @property
    def _staging(self) -> str:
        return f"{self.path}/_staging"

    def _run_job(self, df: DataFrame, directory: str, files: HadoopFiles) -> None:
        writer = df.write.format(self._format).mode("append")
        writer = writer.options(**files.ready_for_job(directory))
        # No _SUCCESS file in each batch: a published directory is whole by construction.
        writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        writer.options(**self._options).save(directory)

    def _drop_empty_file(self, files: HadoopFiles, directory: str) -> None:
        """Drop the file of a first task without rows: some JSON readers refuse an empty file."""
        for name in files.list(directory):
            if name.startswith("part-00000") and files.size_bytes(f"{directory}/{name}") == 0:
                files.delete(f"{directory}/{name}")
                files.delete(f"{directory}/.{name}.crc")

    def _has_rows(self, files: HadoopFiles, directory: str) -> bool:
        """Whether a job wrote a row; only its first task writes a file that may have none."""
        names = [name for name in files.list(directory) if not name.startswith(("_", "."))]
        if len(names) != 1 or self._format != "parquet":
            return bool(names)
        return files.parquet_rows(f"{directory}/{names[0]}") > 0

    def _publish(self, files: HadoopFiles, attempt: str, target: str) -> None:
        replaces = files.exists(target)
        if replaces:
            files.rename(target, f"{attempt}.old")
        files.rename(f"{attempt}.new", target)
        if replaces:
            files.delete(f"{attempt}.old", recursive=True)

    def _withdraw(self, files: HadoopFiles, attempt: str, target: str) -> None:
        """Take away what an earlier try published: in one step, which no start undoes."""
        if files.exists(target):
            files.rename(target, f"{attempt}.gone")
            files.delete(f"{attempt}.gone", recursive=True)
        files.delete(f"{attempt}.new", recursive=True)

    def _clean(self, files: HadoopFiles, prefix: str = "") -> None:
        """Undo what a crash interrupted: unfinished tries go, a batch moved aside comes back."""
        for name in files.list(self._staging):
            if not name.startswith(prefix):
                continue
            batch = f"{self.path}/{name.partition('.')[0]}"
            if name.endswith(".old") and not files.exists(batch):
                files.rename(f"{self._staging}/{name}", batch)
            else:
                files.delete(f"{self._staging}/{name}", recursive=True)

    def _claim(self, files: HadoopFiles, query_id: str) -> None:
        claim = {
            "version": _OWNER_VERSION,
            "query_id": query_id,
            "format": self._format,
            "partition_by": list(self._partition_by),
        }
        record = f"{self.path}/_penstock/owner.json"
        text = files.read(record)
        if text is None:
            self._refuse_foreign_files(files, record, claim)
            files.write_atomic(record, json.dumps(claim))
            return
        owner = self._parse_owner(text, record, claim)
        if owner.get("query_id") != query_id:
            raise SinkError(
                f"{self.describe()} belongs to query '{owner.get('query_id')}', "
                f"as '{record}' says, and this is query '{query_id}'. Write to another directory, "
                f"or delete this one, or start the query with the checkpoint that it was written "
                f"with"
            )
        if owner.get("version") != _OWNER_VERSION:
            raise SinkError(
                f"{self.describe()} was written with version {owner.get('version')!r} of its "
                f"layout, as '{record}' says, and this Penstock writes version {_OWNER_VERSION}. "
                f"Use the Penstock that wrote it, or a newer one, or write to another directory"
            )
        if owner != claim:
            raise SinkError(
                f"{self.describe()} holds {owner.get('format')} files with "
                f"partition_by={owner.get('partition_by')}, as '{record}' says, and the sink now "
                f"asks for {self._format} with partition_by={list(self._partition_by)}; readers "
                f"can't read the two together. Keep the old settings or write to another directory"
            )

    def _parse_owner(
        self, text: str, record: str, claim: Mapping[str, object]
    ) -> dict[str, object]:
        try:
            owner = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._damaged_owner(record, str(error), claim) from error
        if not isinstance(owner, dict) or owner.keys() != claim.keys():
            raise self._damaged_owner(record, "other fields are expected", claim)
        return owner

    def _damaged_owner(self, record: str, why: str, claim: Mapping[str, object]) -> SinkError:
        return SinkError(
            f"'{record}', which says whose directory this is, is damaged ({why}). If the rows in "
            f"it are this query's, write this to the file: {json.dumps(claim)} Otherwise give the "
            f"sink another directory"
        )

    def _refuse_foreign_files(
        self, files: HadoopFiles, record: str, claim: Mapping[str, object]
    ) -> None:
        visible = [name for name in files.list(self.path) if not name.startswith(("_", "."))]
        if visible:
            raise SinkError(
                f"{self.describe()} already holds files that Penstock did not write, such as "
                f"'{visible[0]}'. Write to an empty or new directory. If they are this query's, "
                f"and '{record}' was lost, write this to the file: {json.dumps(claim)}"
            )


def _check_settings(path: object, file_format: str, partition_by: Sequence[str]) -> None:
    if not isinstance(path, str | os.PathLike) or path == "":
        raise ConfigurationError(
            f"the path of the {file_format} sink is {path!r}. "
            f"Name a directory: {file_format}('out')"
        )
    if isinstance(partition_by, str):
        raise ConfigurationError(
            f"partition_by of the {file_format} sink is the string '{partition_by}'. "
            f"Write a list: partition_by=['{partition_by}']"
        )
    if len({name.lower() for name in partition_by}) < len(partition_by):
        raise ConfigurationError(
            f"partition_by={list(partition_by)} of the {file_format} sink names a column twice. "
            f"Name each once"
        )
