"""A copy of the folder of a pair, in which the approved evaluation is run.

Rule: only plain files, folders and links are copied, never what a link leads to; earlier outputs are left out. The
approved files stand in it as they were approved, whatever the agents put in their place.
"""

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from holdfast.pair.folder import SAMPLES, PairFolder, printable

MOST_FILES, MOST_BYTES = 100_000, 2_000_000_000
BLOCK = 4_096
LEFT_OUT = frozenset({".git", "__pycache__"})


class CannotCopy(ValueError):
    """Why the folder cannot be copied; the message is a sentence."""


def copy_folder(
    layout: PairFolder,
    target: Path,
    iteration: int,
    approved: Mapping[str, bytes],
    *,
    folders: Collection[str] = (),
    without: Path | None = None,
) -> PairFolder:
    """Copy the folder to `target`, a new folder, with the samples of the iteration and without other outputs. In
    `folders` are approved files only. `without` is a folder that is left out. Raises `CannotCopy`."""
    samples = f"{layout.outputs.iteration(iteration)}/{SAMPLES}"
    try:
        _copy(layout.root, target, {layout.root / layout.outputs.folder, without})
        for name in folders:
            _clear(target, name)
        clean = PairFolder(target, layout.outputs)
        clean.prepare(iteration)
        if SAMPLES in layout.outputs.parts and not isinstance(layout.look(samples), str):
            _copy(layout.root / samples, clean.root / samples)
        for name, data in approved.items():
            _clear(clean.root, name).write_bytes(data)
    except OSError as error:
        where = printable(str(error.filename))
        raise CannotCopy(f"the folder cannot be copied: {error.strerror}: {where}") from None
    return clean


def folder_size(*folders: Path) -> int:
    """Bytes that folders take on the disk, as they are now; a file or a folder takes a block at least."""
    return sum(max(size, BLOCK) for folder in folders for size in _sizes(folder))


def _copy(source: Path, target: Path, skipped: Collection[Path | None] = ()) -> None:
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    waiting, files, size = [(source, target)], 0, 0
    while waiting:
        from_, to = waiting.pop()
        with os.scandir(from_) as entries:
            for entry in entries:
                path, made = Path(entry.path), to / entry.name
                if entry.name in LEFT_OUT or path in skipped:
                    continue
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    made.symlink_to(path.readlink())
                elif stat.S_ISDIR(mode):
                    made.mkdir(exist_ok=True, mode=0o700)
                    waiting.append((path, made))
                elif stat.S_ISREG(mode):
                    files += 1
                    size += entry.stat(follow_symlinks=False).st_size
                    if files > MOST_FILES or size > MOST_BYTES:
                        raise CannotCopy(
                            f"the folder is too large to be copied for the evaluation: more than {MOST_FILES:,} "
                            f"files or {MOST_BYTES:,} bytes without its outputs"
                        )
                    shutil.copyfile(path, made, follow_symlinks=False)
                    shutil.copymode(path, made, follow_symlinks=False)


def _clear(root: Path, name: str) -> Path:
    """The place of a file or a folder, with nothing there, whatever was in its way, such as a link."""
    place = root
    for part in name.split("/")[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    target = root / name
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    return target


def _sizes(folder: Path) -> Iterator[int]:
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
