"""The evaluation of a design as a person approved it: its command, and its files by their hashes.

Rule: what was approved is what is run. The approved bytes are kept outside the folder that the agents write to, and
a file that does not have its hash is never used in their place.
"""

import contextlib
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.pair.folder import PairFolder, printable, replace_file
from holdfast.pair.handover import EvaluationPlan

MOST_FILES, MOST_BYTES = 5_000, 200_000_000
"""The most files of an evaluation, folders counted by what they hold, and their bytes."""


class FrozenEvaluation(Struct, frozen=True):
    plan: EvaluationPlan
    files: dict[str, str]
    """Hashes by path."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Inputs that are folders: what was approved is everything in them, and nothing else."""
        return tuple(name for name in map(_plain, self.plan.inputs) if name not in self.files)

    @property
    def hash(self) -> str:
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:12]


class CannotFreeze(ValueError):
    """Why an evaluation cannot be frozen; the message names the file."""


def freeze(layout: PairFolder, plan: EvaluationPlan) -> FrozenEvaluation:
    """The evaluation with its files as they are now. Raises `CannotFreeze`."""
    files: dict[str, str] = {}
    size = 0
    for path in plan.inputs:
        for name in _files(layout, path):
            found = layout.look(name)
            if isinstance(found, str):
                raise CannotFreeze(f"the evaluation: {found}")
            size += found.size
            if len(files) >= MOST_FILES or size > MOST_BYTES:
                raise CannotFreeze(
                    f"the inputs of the evaluation are more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes"
                )
            files[name] = _hash(_read(layout, name))
    return FrozenEvaluation(plan, dict(sorted(files.items())))


def changed_files(layout: PairFolder, frozen: FrozenEvaluation) -> list[str]:
    """Files of the evaluation that are not as they were approved, those in its folders that are new included."""
    changed = []
    for name, hash_ in frozen.files.items():
        try:
            is_same = not isinstance(layout.look(name), str) and _hash(_read(layout, name)) == hash_
        except CannotFreeze:
            is_same = False
        if not is_same:
            changed.append(name)
    new = {printable(name) for folder in frozen.folders for name in _names(layout, folder)} - {*frozen.files}
    return [*changed, *sorted(new)]


def replaced_files(layout: PairFolder, frozen: FrozenEvaluation, more: Iterable[str] = ()) -> dict[str, str]:
    """Hashes, as they are now, of what `changed_files` names and of `more`; without those that cannot be read."""
    found = {}
    for name in (*changed_files(layout, frozen), *more):
        with contextlib.suppress(CannotFreeze):
            if not isinstance(layout.look(name), str):
                found[name] = _hash(_read(layout, name))
    return found


class ApprovedFiles(Struct, frozen=True):
    """A folder outside that of the pair, with the bytes of approved evaluations by their hashes."""

    folder: Path

    def keep(self, layout: PairFolder, frozen: FrozenEvaluation) -> None:
        """Raises `CannotFreeze` if a file changed since it was frozen, and OSError."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, hash_ in frozen.files.items():
            if self._kept(hash_) is None:
                data = _read(layout, name)
                if _hash(data) != hash_:
                    raise CannotFreeze(f"`{name}` of the evaluation changed while it was read")
                replace_file(self.folder / hash_, data)

    def contents(self, layout: PairFolder, frozen: FrozenEvaluation) -> dict[str, bytes]:
        """The approved bytes by path. Raises `CannotFreeze` where they are not here, as after a move to another
        machine, and the folder has others."""
        found = {}
        for name, hash_ in frozen.files.items():
            data = self._kept(hash_)
            if data is None:
                data = b"" if isinstance(layout.look(name), str) else _read(layout, name)
                if _hash(data) != hash_:
                    raise CannotFreeze(
                        f"`{name}` of the evaluation was changed, and no approved copy is left: put it back"
                    )
            found[name] = data
        return found

    def _kept(self, hash_: str) -> bytes | None:
        try:
            data = (self.folder / hash_).read_bytes()
        except OSError:
            return None
        return data if _hash(data) == hash_ else None


def _files(layout: PairFolder, path: str) -> Iterator[str]:
    """A file, or all files of a folder; links are not followed."""
    found = layout.look(path)
    if isinstance(found, str):
        raise CannotFreeze(f"the evaluation: {found}")
    plain = _plain(path)
    if not plain or f"{plain}/".startswith(f"{layout.outputs.folder}/"):
        raise CannotFreeze(
            f"`{path}` cannot be frozen, since others write there: name the files of the evaluation"
        )
    if not found.is_folder:
        yield plain
        return
    for name in _names(layout, plain):
        if (layout.root / name).is_symlink():
            raise CannotFreeze(f"`{printable(name)}` of the evaluation is a link: put the file itself there")
        if not name.isprintable():
            raise CannotFreeze(f"`{printable(name)}` of the evaluation has a name that is not plain text")
        yield name


def _names(layout: PairFolder, folder: str) -> Iterator[str]:
    """The files and links in a folder, whatever they lead to."""
    for one in sorted((layout.root / folder).rglob("*")):
        if (one.is_symlink() or one.is_file()) and "__pycache__" not in one.parts:
            yield one.relative_to(layout.root).as_posix()


def _plain(path: str) -> str:
    """`./a//b` is `a/b`."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _read(layout: PairFolder, name: str) -> bytes:
    try:
        return (layout.root / name).read_bytes()
    except OSError as error:
        raise CannotFreeze(f"`{name}` of the evaluation cannot be read: {error.strerror}") from None


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
