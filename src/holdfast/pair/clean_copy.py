"""A copy of the folder of a pair, in which the approved evaluation is run.

Rule: only plain files, folders and links are copied, never what a link leads to; earlier outputs are left out. The
approved files stand in it as they were approved, whatever the agents put in their place.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from holdfast.pair.folder import SAMPLES, PairFolder

MOST_FILES, MOST_BYTES = 100_000, 2_000_000_000
LEFT_OUT = frozenset({".git", "__pycache__"})


class CannotCopy(ValueError):
    """Why the folder cannot be copied; the message is a sentence."""


def copy_folder(
    layout: PairFolder, target: Path, iteration: int, approved: Mapping[str, bytes]
) -> PairFolder:
    """Copy the folder to `target`, a new folder, with the samples of the iteration and without other outputs.
    Raises `CannotCopy`."""
    outputs = layout.root / layout.outputs.folder
    samples = layout.root / layout.outputs.iteration(iteration) / SAMPLES
    try:
        _copy(layout.root, target, skipped=outputs)
        clean = PairFolder(target, layout.outputs)
        clean.prepare(iteration)
        if SAMPLES in layout.outputs.parts and samples.is_dir() and not samples.is_symlink():
            _copy(samples, clean.root / clean.outputs.iteration(iteration) / SAMPLES)
        for name, data in approved.items():
            _put(clean.root, name, data)
    except OSError as error:
        raise CannotCopy(f"the folder cannot be copied: {error.strerror}: {error.filename}") from None
    return clean


def folder_size(folder: Path) -> int:
    """Bytes of the files in a folder, as they are now."""
    return sum(size for _, size in _sizes(folder))


def _copy(source: Path, target: Path, skipped: Path | None = None) -> None:
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    waiting, files, size = [(source, target)], 0, 0
    while waiting:
        from_, to = waiting.pop()
        with os.scandir(from_) as entries:
            for entry in entries:
                path, made = Path(entry.path), to / entry.name
                if entry.name in LEFT_OUT or path == skipped:
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


def _put(root: Path, name: str, data: bytes) -> None:
    """Write a file whatever is in its way: a link, or a file where a folder should be."""
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
    target.write_bytes(data)


def _sizes(folder: Path) -> Iterator[tuple[str, int]]:
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry.path, entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
