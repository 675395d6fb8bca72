"""The files of state that a commit record names, held against those that there are.

A file that was lost or damaged since would be missing in results, or change them, in silence. On
disks contents are read; other file systems check those themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from penstock.engine.checkpoint_files import CheckpointFiles
from penstock.engine.documents import WAY_OUT
from penstock.engine.file_checksums import directory_checksum, file_checksum, listing_checksum
from penstock.engine.state_files import local_path
from penstock.engine.state_manifest import Manifest, StateFile
from penstock.errors import CheckpointError
from penstock.windows.segments import directory_name


def pane_checksum(files: CheckpointFiles, path: str) -> str:
    """Return a checksum of a directory, which tells when a file of it is lost or damaged."""
    local = local_path(path)
    return directory_checksum(local) if local else listing_checksum(files.lengths(path))


def damaged_panes(
    files: CheckpointFiles, store: str, numbers: Collection[int], checksums: Mapping[int, str]
) -> Iterator[CheckpointError]:
    """Say of which directories of a pane store something is not as it was at its commit."""
    there = set(files.list(store)) if numbers else set()
    for number in sorted(numbers):
        path = f"{store}/{directory_name(number)}"
        if directory_name(number) not in there:
            yield CheckpointError(f"'{path}' is missing, which the last commit needs. {WAY_OUT}")
        elif number in checksums and not _fits(files, path, checksums[number]):
            yield CheckpointError(
                f"a file in '{path}' is missing, damaged or was added since the last commit. "
                f"{WAY_OUT}"
            )


def damaged_states(
    files: CheckpointFiles, directory: str, manifest: Manifest
) -> Iterator[CheckpointError]:
    """Say which files of the states of keys are not as they were at their commit."""
    there = files.lengths(directory)
    for file in manifest.files:
        path, problem = f"{directory}/{file.name}", ""
        if file.name not in there:
            problem = "is missing"
        elif there[file.name] != file.bytes:
            problem = f"has {there[file.name]} bytes and was committed with {file.bytes}"
        elif not _is_as_written(path, file):
            problem = "is damaged: its checksum is another than at the last commit"
        if problem:
            yield CheckpointError(f"the state file '{path}' {problem}. {WAY_OUT}")


def _fits(files: CheckpointFiles, path: str, checksum: str) -> bool:
    try:
        return pane_checksum(files, path) == checksum
    except OSError:  # something else is in the place of a file, or it can't be read
        return False


def _is_as_written(path: str, file: StateFile) -> bool:
    local = local_path(path)
    try:
        return local is None or not file.checksum or file_checksum(local) == file.checksum
    except OSError:
        return False
