"""Small text files and directory renames on any file system that Spark knows."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError, first_line
from penstock.regular_files import MOST_BYTES, read_text

_STATUS = re.compile(r"path=[^;]*?([^/;]+); isDirectory=false; length=(\d+)")
_SCHEME_AND_AUTHORITY = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")


class HadoopFiles:
    """Reads, writes and renames through Hadoop, so ``file:``, ``hdfs:`` and the like all work.

    Made once per session and kept: it caches the JVM's handles, since every call to the JVM costs a
    tenth of a millisecond or more. One writer per path: two that write the same file at once share
    the name they write aside to.
    """

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = getattr(spark, "_jvm", None)
        if jvm is None:
            raise ConfigurationError(
                "this Spark session has no JVM beside it (Spark Connect). "
                "Start a classic session: SparkSession.builder.master(...).getOrCreate()"
            )
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._path_of = jvm.org.apache.hadoop.fs.Path
        self._paths_of = jvm.org.apache.hadoop.fs.FileUtil.stat2Paths
        self._sequence_of = jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray
        self._text_of = jvm.org.apache.commons.io.IOUtils.toString
        self._stores: dict[str, _LocalDisk | _SharedStorage] = {}

    def write_atomic(self, path: str, text: str) -> None:
        """Write a file whole or not at all, replacing what was there; makes missing directories.

        Written aside to a name that starts with an underscore, closed, then renamed over ``path``.
        """
        store = self._store(path)
        directory, slash, name = path.rpartition("/")
        aside = self._path_of(f"{directory}{slash}_{name}.tmp")
        stream = store.create(aside)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        store.replace(aside, self._path_of(path))

    def read(self, path: str, most_bytes: int | None = MOST_BYTES) -> str | None:
        """Read a UTF-8 file whole, or None if there is no such file.

        One on a disk that is longer than ``most_bytes`` is refused.
        """
        store, file = self._store(path), self._path_of(path)
        if isinstance(store, _LocalDisk):
            return read_text(store.plain_path(file), most_bytes)
        system = store.system
        # Asked first: an exception from the JVM costs a hundred times as much as a question.
        if not system.exists(file):
            return None
        try:
            stream = system.open(file)
            try:
                return str(self._text_of(stream, "UTF-8"))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise ConfigurationError(
                f"'{path}' can't be read ({first_line(error.java_exception.getMessage())}). Give "
                "yourself the right to read it, or put the file back from a copy."
            ) from error

    def list(self, path: str) -> list[str]:
        """Names of the files and directories inside a directory, sorted; empty if it is missing."""
        system, directory = self._store(path).system, self._path_of(path)
        if not system.exists(directory):
            return []
        # One string for all names: one by one, each would cost two calls to the JVM.
        paths = self._paths_of(system.listStatus(directory))
        joined = str(self._sequence_of(paths).mkString("\0"))
        return sorted(full.rsplit("/", 1)[-1] for full in joined.split("\0") if full)

    def delete(self, path: str, recursive: bool = False) -> bool:
        """Delete a file, or a directory with all it holds if ``recursive``; False if missing."""
        return bool(self._store(path).system.delete(self._path_of(path), recursive))

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory in one step; ``target`` must not exist, its parent must.

        One step on local disks and HDFS. Object stores copy file by file instead.
        """
        self._store(source).rename(self._path_of(source), self._path_of(target))

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory at this path."""
        return bool(self._store(path).system.exists(self._path_of(path)))

    def size_bytes(self, path: str) -> int:
        """Length of a file, which must exist."""
        return int(self._store(path).system.getFileStatus(self._path_of(path)).getLen())

    def directory_bytes(self, path: str) -> int:
        """Length of all files in a directory, which must exist."""
        return int(self._store(path).system.getContentSummary(self._path_of(path)).getLength())

    def lengths(self, path: str) -> dict[str, int]:
        """Return the length of every file inside a directory by name; none if it is missing."""
        system, directory = self._store(path).system, self._path_of(path)
        if not system.exists(directory):
            return {}
        told = str(self._sequence_of(system.listStatus(directory)).mkString("\0"))
        found = (_STATUS.search(each) for each in told.split("\0"))
        return {each.group(1): int(each.group(2)) for each in found if each}

    def parquet_rows(self, path: str) -> int:
        """Count the rows of a Parquet file, as its footer says, without a Spark job."""
        parquet = self._jvm.org.apache.parquet.hadoop
        file = parquet.util.HadoopInputFile.fromPath(self._path_of(path), self._configuration)
        reader = parquet.ParquetFileReader.open(file)
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents, where they are missing."""
        self._store(path).make_directory(self._path_of(path))

    def ready_for_job(self, path: str) -> dict[str, str]:
        """Make a directory for the files of one Spark job; returns options for the writer.

        The job must append: the directory is there.
        """
        store = self._store(path)
        store.make_directory(self._path_of(path + store.made_for_jobs))
        return dict(store.job_options)

    def qualify(self, path: str) -> str:
        """The absolute form of a path, with its scheme, as Spark would resolve it."""
        return str(self._store(path).system.makeQualified(self._path_of(path)).toString())

    def is_local(self, path: str) -> bool:
        """Whether the path is on this machine's own disk, which executors elsewhere can't see."""
        return isinstance(self._store(path), _LocalDisk)

    def _store(self, path: str) -> _LocalDisk | _SharedStorage:
        found = _SCHEME_AND_AUTHORITY.match(path)
        key = found.group() if found else ""
        store = self._stores.get(key)
        if store is None:
            store = self._stores[key] = self._connect(path)
        return store

    def _connect(self, path: str) -> _LocalDisk | _SharedStorage:
        try:
            system = self._path_of(path).getFileSystem(self._configuration)
        except Py4JJavaError as error:
            raise ConfigurationError(
                f"'{path}' can't be used ({first_line(error.java_exception.getMessage())}). Name a "
                "directory that this session can reach, or add what its file system needs where "
                "the session is made, such as a package to spark.jars.packages."
            ) from None
        uri = system.getUri()
        if uri.getScheme() == "file":
            return _LocalDisk(self._jvm, uri, self._configuration)
        try:
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
                uri, self._configuration
            )
        except Py4JJavaError as error:
            scheme = uri.getScheme()
            raise ConfigurationError(
                f"the file system '{scheme}:' of '{path}' has no Hadoop FileContext, which "
                f"Penstock needs to replace a file in one step. Set "
                f"spark.hadoop.fs.AbstractFileSystem.{scheme}.impl to its class, "
                f"or use a path on another file system"
            ) from error
        return _SharedStorage(self._jvm, self._gateway, system, context)


class _LocalDisk:
    """The local disk, below Hadoop's own local file system.

    That one keeps a checksum file beside each file and renames the two one after the other, so a
    crash in between leaves a file that can't be read. It also starts a process for every file it
    makes (chmod, about 5 ms); a write and a rename through its FileContext took 49 ms together.

    So a job's committer is given its directories, and its tasks write no checksum files.
    """

    made_for_jobs = "/_temporary/0/_temporary"
    job_options = MappingProxyType(
        {
            "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
            "fs.file.impl.disable.cache": "true",
        }
    )

    def __init__(self, jvm: Any, uri: Any, configuration: Any) -> None:
        self.system = jvm.org.apache.hadoop.fs.RawLocalFileSystem()
        self.system.initialize(uri, configuration)
        self._output_stream = jvm.java.io.FileOutputStream

    def plain_path(self, path: Any) -> str:
        return str(self.system.pathToFile(path).getPath())

    def create(self, path: Any) -> Any:
        file = self.system.pathToFile(path)
        file.getParentFile().mkdirs()
        return self._output_stream(file)

    def replace(self, source: Any, target: Any) -> None:
        if not self.system.pathToFile(source).renameTo(self.system.pathToFile(target)):
            raise OSError(f"cannot rename '{source.toString()}' to '{target.toString()}'")

    def rename(self, source: Any, target: Any) -> None:
        # A POSIX rename replaces an empty directory in silence.
        if self.system.exists(target):
            raise FileExistsError(f"'{target.toString()}' exists already")
        self.replace(source, target)

    def make_directory(self, path: Any) -> None:
        self.system.pathToFile(path).mkdirs()


class _SharedStorage:
    """A file system that all machines see, through Hadoop's FileContext."""

    made_for_jobs = ""
    job_options: MappingProxyType[str, str] = MappingProxyType({})

    def __init__(self, jvm: Any, gateway: Any, system: Any, context: Any) -> None:
        self.system = system
        self._context = context
        # Py4J passes Java's varargs as arrays.
        option = getattr(jvm, "org.apache.hadoop.fs.Options$Rename")
        self._no_options = gateway.new_array(option, 0)
        self._overwrite = gateway.new_array(option, 1)
        self._overwrite[0] = option.OVERWRITE

    def create(self, path: Any) -> Any:
        return self.system.create(path, True)

    def replace(self, source: Any, target: Any) -> None:
        self._context.rename(source, target, self._overwrite)

    def rename(self, source: Any, target: Any) -> None:
        if self.system.exists(target):
            raise FileExistsError(f"'{target.toString()}' exists already")
        self._context.rename(source, target, self._no_options)

    def make_directory(self, path: Any) -> None:
        self.system.mkdirs(path)
