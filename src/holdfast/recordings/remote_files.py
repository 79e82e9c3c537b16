"""Recording files that are not on this machine: object stores and whatever else fsspec reads.

Rule: every file is copied before it is read, so that it is read like any other, and as often as needed.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from holdfast.errors import InputError
from holdfast.recordings.folders import ENDINGS

T = TypeVar("T")

SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://")
SECRET = re.compile(r"(?<=//)[^/@]*@")
PATTERN = re.compile(r"[*?\[]")


def is_url(name: str) -> bool:
    return SCHEME.match(name) is not None


Track = Callable[[list[str]], AbstractContextManager[Iterable[str]]]
"""Goes through names, and shows how far it is."""


def copy_files(url: str, folder: Path, track: Track) -> list[Path]:
    """Copy the file of a URL, those that a pattern matches or those below a folder, in order of their names."""
    shown = SECRET.sub("", url)
    try:
        # Imported late: an extra, and only a URL needs it.
        from fsspec.core import url_to_fs  # noqa: PLC0415
    except ImportError:
        raise InputError(
            f"`{shown}` needs the package fsspec, which is not installed",
            hint="run `pip install fsspec`, and the package for the place, such as `s3fs` for `s3://`",
        ) from None
    files, place = _answer(shown, partial(url_to_fs, url))
    names = _answer(shown, partial(_names, files, place))
    if not names:
        raise InputError(f"there is no recording in `{shown}`", hint=f"they end with {', '.join(ENDINGS)}")
    copied: list[Path] = []
    with track(names) as tracked:
        for name in tracked:
            # In folders of their own: files of several folders may have one name.
            copy = folder / str(len(copied)) / PurePosixPath(name).name
            copy.parent.mkdir(parents=True)
            _answer(shown, partial(files.get_file, name, str(copy)))
            copied.append(copy)
    return copied


def _names(files: Any, place: str) -> list[str]:
    if PATTERN.search(place):
        return sorted(name for name in files.glob(place) if not files.isdir(name))
    if files.isdir(place):
        return sorted(name for name in files.find(place) if _is_taken(PurePosixPath(name).name))
    return [place]


def _is_taken(name: str) -> bool:
    return name.endswith(ENDINGS) and not name.startswith(".")


def _answer(shown: str, ask: Callable[[], T]) -> T:
    """What the place answers. Its libraries raise errors of their own, of any class."""
    try:
        return ask()
    except FileNotFoundError:
        raise InputError(f"`{shown}` does not exist", hint="check the address") from None
    except ImportError as error:
        raise InputError(
            f"`{shown}` needs a package that is not installed: {_line(error)}", hint="install it with pip"
        ) from None
    except Exception as error:
        raise InputError(
            f"`{shown}` cannot be read: {_line(error)}",
            hint="check the address, and the credentials where its library looks for them",
        ) from None


def _line(error: Exception) -> str:
    return SECRET.sub("", str(error).strip().split("\n", 1)[0]) or type(error).__name__
