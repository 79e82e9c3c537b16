"""Changes to a configuration file that a person made: a rule more or less, a default.

Rule: comments, order and everything else stay as they are, and the file is replaced at once or not at all. A text
that would not say what is meant is not written.
"""

import copy
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from holdfast.errors import ConfigError

EditText = Callable[[str], str]
"""**Contract:** the text of a configuration file, changed. Raises `ConfigError` if it cannot be changed."""

TRIES = 5

Document = MutableMapping[str, Any]

_HEADER = r"^[ \t]*\[[ \t]*{}permissions[ \t]*\][ \t]*(?:#[^\n]*)?\n"


def add_rule(text: str, kind: str, rule: str, *, section: tuple[str, ...] = ()) -> str:
    """The text with one more rule in a list of `[permissions]`, such as `allow`."""

    def add(document: Document, new_table: Callable[[], Any]) -> None:
        table = document.setdefault("permissions", new_table())
        if kind not in table:
            table[kind] = []
        if rule not in table[kind]:
            table[kind].append(rule)

    if kind not in _inner(_parsed(text), section).get("permissions", {kind: ()}):
        # Behind the last line of its table it would stand below a comment on what follows.
        header = _HEADER.format("".join(rf"{key}\." for key in section))
        return _changed(
            re.sub(header, rf"\g<0>{kind} = []\n", text, count=1, flags=re.MULTILINE), text, add, section
        )
    return _changed(text, text, add, section)


def remove_rule(text: str, kind: str, rule: str, *, section: tuple[str, ...] = ()) -> str:
    """The text without a rule."""

    def remove(document: Document, _new_table: Callable[[], Any]) -> None:
        rules = document.get("permissions", {}).get(kind, [])
        while rule in rules:
            rules.remove(rule)

    return _changed(text, text, remove, section)


def set_default(text: str, name: str, value: str, *, section: tuple[str, ...] = ()) -> str:
    """The text with a default such as `default_model`, where it is or at the top."""

    def put(document: Document, _new_table: Callable[[], Any]) -> None:
        settings = document.get("settings", {})
        (settings if name in settings else document)[name] = value

    return _changed(text, text, put, section)


def edit_file(path: Path, edit: EditText) -> str:
    """Change a file, or make one, and return its text. OSError if it cannot be written."""
    # Through a link, so that the file stays where a person keeps it.
    place = path.resolve()
    for _ in range(TRIES):
        before = _bytes(place)
        try:
            text = edit(before.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ConfigError(f"it cannot be read: {error}") from error
        if _replaced(place, text, before):
            return text
    raise OSError(f"{path} is being changed by others")


def _replaced(place: Path, text: str, before: bytes) -> bool:
    """Write a file, unless it is no longer what it was before."""
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    fresh = Path(name)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a descriptor
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        fresh.chmod(place.stat().st_mode & 0o777 if place.exists() else 0o644)
        if is_same := _bytes(place) == before:
            fresh.replace(place)
        return is_same
    finally:
        fresh.unlink(missing_ok=True)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _changed(
    prepared: str, text: str, change: Callable[[Document, Callable[[], Any]], None], section: tuple[str, ...]
) -> str:
    # Loaded late: a file is changed rarely.
    import tomlkit  # noqa: PLC0415
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    meant = copy.deepcopy(_parsed(text))
    try:
        change(_inner(meant, section), dict)
        document = tomlkit.parse(prepared)
        change(_inner(document, section), tomlkit.table)
        written = tomlkit.dumps(document)
        is_right = tomllib.loads(written) == meant
    except (TOMLKitError, tomllib.TOMLDecodeError, AttributeError, TypeError, ValueError):
        is_right = False
    if not is_right:
        raise ConfigError(
            "the file is written in a way that is not understood", hint="change it in an editor"
        )
    return written


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"it is not valid TOML: {error}") from error


def _inner(document: Document, section: tuple[str, ...]) -> Document:
    for key in section:
        document = document.setdefault(key, {})
    return document
