"""The folder of a pair: one folder of outputs for each iteration, and the design as one short hash.

Rule: a path that leads out of the folder is never opened, and files are written completely or not at all. Names and
bytes alone make the hash of a design: two folders with the same files have the same design.
"""

import os
import re
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.messages import Json

SAMPLES = "samples"
RESULTS = "evaluation_results"
ATTRIBUTION = "attribution_analysis"
PARTS = (SAMPLES, "execution_traces", RESULTS, ATTRIBUTION)
_ITERATION = re.compile(r"iteration_[0-9]+")


class Outputs(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of folders and files, from the folder that both agents work in."""

    folder: str = "execution_outputs"
    parts: tuple[str, ...] = PARTS
    report: str = "layer1_problems_report.json"

    def iteration(self, number: int) -> str:
        return f"{self.folder}/iteration_{number}"

    def report_of(self, number: int) -> str:
        return f"{self.iteration(number)}/{self.report}"


class PathInfo(Struct, frozen=True):
    """A file with its size in bytes, or a folder with its number of entries."""

    size: int
    is_folder: bool = False


class PairFolder:
    """**Contract:** paths are relative to the folder, with `/`; what `look` refuses is never opened."""

    def __init__(self, root: Path, outputs: Outputs) -> None:
        self.root = Path(os.path.realpath(root))
        self.outputs = outputs

    def look(self, path: str) -> PathInfo | str:
        """What a path leads to, or why it may not be used."""
        if wrong := path_fault(path):
            return wrong
        try:
            real = Path(os.path.realpath(self.root / path))
        except (OSError, ValueError, RecursionError):
            return f"`{path}` is not a path"
        if not real.is_relative_to(self.root):
            return f"`{path}` is a link that leads out of the folder"
        try:
            if real.is_dir():
                return PathInfo(sum(1 for _ in real.iterdir()), is_folder=True)
            if real.is_file():
                return PathInfo(real.stat().st_size)
        except OSError as error:
            return f"`{path}` cannot be read: {error.strerror}"
        return f"`{path}` is not a file" if os.path.lexists(real) else f"`{path}` does not exist"

    def iterations(self) -> tuple[str, ...]:
        """The folders of iterations that hold any file."""
        folder = self.root / self.outputs.folder
        try:
            names = sorted(entry.name for entry in folder.iterdir() if _ITERATION.fullmatch(entry.name))
        except OSError:
            return ()
        held = (name for name in names if any(files for _, _, files in os.walk(folder / name)))
        return tuple(f"{self.outputs.folder}/{name}" for name in held)

    def prepare(self, iteration: int) -> None:
        """Create the folders of an iteration, if they do not exist."""
        for part in self.outputs.parts:
            name = f"{self.outputs.iteration(iteration)}/{part}"
            try:
                self._inside(name).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"the folder `{name}` cannot be created: {error.strerror}") from None

    def write_json(self, path: str, value: Json) -> None:
        """The same value gives the same bytes. The old file stays until the new one is complete."""
        data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        target = self._inside(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, data)
        except OSError as error:
            raise InputError(f"`{path}` cannot be written: {error.strerror}", hint="check the disk") from None

    def _inside(self, path: str) -> Path:
        """Where a path leads. An error if it leads outside: an agent may have put a link in its way."""
        target = self.root / path
        if not Path(os.path.realpath(target.parent)).is_relative_to(self.root):
            raise InputError(
                f"`{path}` leads out of the folder, by a link", hint="remove the link, then resume"
            )
        return target


def path_fault(path: str) -> str:
    """Why a path cannot be one inside a folder, whatever the folder holds; empty if it can."""
    if not path.strip() or "\0" in path:
        return f"`{path}` is not a path"
    if path.startswith(("/", "~")) or (len(path) > 1 and path[1] == ":"):
        return f"`{path}` is not a path inside the folder; name it from there"
    if ".." in path.split("/"):
        return f"`{path}` leads out of the folder with `..`"
    return ""


def printable(name: str) -> str:
    """A name as a log and a terminal can show it: a file's may have bytes that are no text, and escapes."""
    return name if name.isprintable() else ascii(name)[1:-1]


def replace_file(target: Path, data: bytes) -> None:
    """Write a new file beside the old one, then replace it."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Design(Struct, frozen=True):
    """`hash` is empty if there are no files. `missing` are files that cannot be read; they count for the hash."""

    files: tuple[str, ...] = ()
    hash: str = ""
    missing: tuple[str, ...] = ()


def read_design(layout: PairFolder, paths: Iterable[str], more: str = "") -> Design:
    """`more` is what else belongs to the design, as text."""
    files = tuple(sorted({_plain(path) for path in paths}))
    if not files:
        return Design()
    digest, missing = sha256(), list[str]()
    for path in files:
        name = path.encode("utf-8", "surrogateescape")
        try:
            data = None if isinstance(layout.look(path), str) else (layout.root / path).read_bytes()
        except OSError:
            data = None
        if data is None:
            missing.append(path)
            digest.update(b"%d %s -\n" % (len(name), name))
        else:
            digest.update(b"%d %s %d\n" % (len(name), name, len(data)))
            digest.update(data)
    digest.update(more.encode())
    return Design(files, digest.hexdigest()[:12], tuple(missing))


def _plain(path: str) -> str:
    """One name for one file: `./a//b` is `a/b`. An absolute path stays as it is."""
    if path.startswith("/"):
        return path
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or path
