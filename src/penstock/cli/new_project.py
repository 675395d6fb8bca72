"""``penstock init``: writes a small project that works."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.version import __version__

# By where each goes; a template's own name must not be one that tools would pick up.
TEMPLATES: Mapping[str, str] = {
    "topology.py": "topology.py.template",
    "test_topology.py": "test_topology.py.template",
    "data/orders.json": "orders.json.template",
    "Makefile": "Makefile.template",
    "requirements.txt": "requirements.txt.template",
    "README.md": "README.md.template",
    ".gitignore": "gitignore.template",
}


@dataclass(frozen=True, slots=True)
class NewProject:
    """A project that was written."""

    directory: Path
    name: str
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON takes it."""
        return {"directory": str(self.directory), "name": self.name, "files": list(self.files)}

    def as_text(self) -> str:
        """Say what was written and what to do next."""
        here = self.directory == Path.cwd()
        go = [] if here else [f"  cd {shlex.quote(str(self.directory))}"]
        return "\n".join(
            [
                f"Wrote {len(self.files)} files to {self.directory}: {', '.join(self.files)}.",
                "Next:",
                *go,
                "  penstock run topology.py --available-now",
                "  make test",
            ]
        )


def write_project(directory: Path, name: str | None = None, *, force: bool = False) -> NewProject:
    """Write a project; files that are there already are left, unless ``force`` replaces them."""
    directory = directory.absolute()
    name = _checked(directory.name or "penstock-job" if name is None else name)
    _refuse_what_is_in_the_way(directory, force=force)
    texts = {path: _filled(template, name) for path, template in TEMPLATES.items()}
    try:
        for path, text in texts.items():
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename or directory} can't be written: {error.strerror}. Name another "
            "directory: penstock init DIR"
        ) from error
    return NewProject(directory, name, tuple(texts))


def requirement() -> str:
    """Say what pip is to install: the Penstock that this is, from where it came."""
    try:
        text = importlib.metadata.distribution("penstock").read_text("direct_url.json")
        url = json.loads(text or "{}").get("url")
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        url = None
    return f"penstock @ {url}" if url else f"penstock>={__version__}"


def _checked(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ConfigurationError(
            f"--name {name!r} is no name. Write one line of text, such as --name shop-takings"
        )
    return name.strip()


def _refuse_what_is_in_the_way(directory: Path, *, force: bool) -> None:
    if directory.exists() and not directory.is_dir():
        raise ConfigurationError(f"{directory} is a file. Name a directory: penstock init DIR")
    there = [path for path in TEMPLATES if (directory / path).exists()]
    folders = [path for path in there if (directory / path).is_dir()]
    if folders:
        raise ConfigurationError(
            f"{directory} has a directory {folders[0]} where a file should be. Name another "
            "directory: penstock init DIR"
        )
    if there and not force:
        raise ConfigurationError(
            f"{directory} has {', '.join(there)} already. Name another directory, or replace "
            f"{'it' if len(there) == 1 else 'them'} with --force"
        )


def _filled(template: str, name: str) -> str:
    text = (files("penstock.cli") / "project" / template).read_text("utf-8")
    # Make reads $ before the shell does.
    in_make = shlex.quote(name).replace("$", "$$")
    values = {"NAME_IN_MAKE": in_make, "NAME": name, "REQUIREMENT": requirement()}
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
