"""Files, and plain lists of messages, into recordings.

Rule: where a file holds one recording a line, a recording is decoded only when it is asked for.
"""

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.errors import InputError, NotFound
from holdfast.events import Recording
from holdfast.messages import Json
from holdfast.recordings import anthropic, claude_code, codex, copilot, neutral, openai_chat, pi, swe_agent
from holdfast.recordings.decoding import decoded
from holdfast.recordings.draft import Draft, content_id
from holdfast.recordings.formats import MESSAGES, check_format, detect_format, format_of, is_message
from holdfast.recordings.shapes import obj, text
from holdfast.recordings.source import Line, Source, json_lines
from holdfast.recordings.tally import Tally

HEAD = 50
"""Lines looked at to tell a format: Claude Code may begin with a screenful of bookkeeping."""

SHOWN = 5

READERS: dict[str, Callable[[Iterable[dict[str, Json]], Draft], Recording]] = {
    claude_code.NAME: claude_code.read_claude_code,
    codex.NAME: codex.read_codex,
    copilot.NAME: copilot.read_copilot,
    pi.NAME: pi.read_pi,
}
"""Formats with one recording a file, a line for each thing that happened."""

VALUE_READERS: dict[str, Callable[[Json, Draft, str], Recording]] = {
    neutral.NAME: neutral.read_neutral,
    openai_chat.NAME: openai_chat.read_openai,
    anthropic.NAME: anthropic.read_anthropic,
    swe_agent.NAME: swe_agent.read_swe_agent,
}
"""Formats with one recording a value, so that a file may hold many."""


class Ids(Struct):
    """The little of a line that finding a recording needs."""

    id: Any = None
    custom_id: Any = None


class Unread(Struct, frozen=True):
    """A recording whose id is known and whose events are not made yet. It can be read in another process.

    `size` is about how much there is to read, in bytes.
    """

    id: str
    read: Callable[[], Recording]
    size: int = 0


def read_recordings(path: Path, format: str | None = None) -> Iterator[Recording]:  # noqa: A002
    """Every recording of a file, one at a time."""
    for unread in unread_recordings(path, format):
        yield unread.read()


def find_recording(path: Path, id: str | None = None, format: str | None = None) -> Recording:  # noqa: A002
    """One recording: the only one, or the one with this id, its beginning, its end or the beginning of a part."""
    path = Path(path)
    recordings = unread_recordings(path, format)
    if id is None:
        return _only(recordings, path.name)
    ids: list[str] = []
    near: list[str] = []
    match: Unread | None = None
    for unread in recordings:
        if unread.id == id:
            return unread.read()
        ids.append(unread.id)
        if id and (unread.id.startswith(id) or unread.id.endswith(id) or f"/{id}" in unread.id):
            near.append(unread.id)
            match = match or unread
    if match is not None and len(near) == 1:
        return match.read()
    if near:
        raise InputError(
            f"`{id}` fits {len(near)} recordings of {path.name}.", hint=f"say more: {_shown(near)}."
        )
    close = get_close_matches(id, ids, n=SHOWN, cutoff=0.4) or ids
    raise NotFound(f"{path.name} holds no recording `{id}`.", hint=f"it has {_shown(close)}.")


def _only(recordings: Iterator[Unread], name: str) -> Recording:
    found = list(islice(recordings, SHOWN + 1))
    if len(found) == 1:
        return found[0].read()
    ids = [unread.id for unread in found]
    raise InputError(f"{name} holds several recordings.", hint=f"choose one with `--id`: {_shown(ids)}.")


def _shown(ids: Iterable[str]) -> str:
    some = list(islice(ids, SHOWN + 1))
    return ", ".join(f"`{id}`" for id in some[:SHOWN]) + (", …" if len(some) > SHOWN else "")  # noqa: A001


def unread_recordings(path: Path, format: str | None = None) -> Iterator[Unread]:  # noqa: A002
    """The recordings of a file in order, each with its id, none made into events yet."""
    if format is not None:
        check_format(format)
    source = Source(Path(path))
    lines = json_lines(source)
    head: list[Line] = []
    values: list[Json] = []
    for line in lines:
        head.append(line)
        values += decoded(line.raw, source.name, line.number, Tally())
        if any(map(format_of, values)) or len(head) == HEAD:
            break
    name = _settled(format, values, source.name)
    every = chain(head, lines)
    if name in READERS:
        yield _whole_file(source, every, name)
    elif is_message(values[0]):
        yield _message_lines(source, every, name)
    else:
        for line in every:
            yield from _line_recordings(source, line, name)


def _settled(format: str | None, values: list[Json], name: str) -> str:  # noqa: A002
    """The named format, unless the file plainly has another."""
    if format is None:
        return detect_format(values, name)
    found = next(filter(None, map(format_of, values)), None)
    overlap = format in MESSAGES and (found in MESSAGES or any(map(is_message, values)))
    if found == format or overlap or (found is None and not any(map(is_message, values))):
        return format
    raise InputError(
        f"{name} is not {format}: line 1 looks like {found or 'a list of messages'}.",
        hint=f"leave `--from` out, or say `--from {found or openai_chat.NAME}`.",
    )


def _whole_file(source: Source, lines: Iterable[Line], name: str) -> Unread:
    draft = Draft(name, where=source.name, notes=source.notes)
    recording = READERS[name](_objects(source, lines, draft), draft)
    if draft.is_empty():
        draft.refuse(f"holds no message that {name} would have", hint="check that the agent took a turn.")
    return Unread(recording.id, partial(_given, recording), source.path.stat().st_size)


def _given(recording: Recording) -> Recording:
    return recording


def _objects(source: Source, lines: Iterable[Line], draft: Draft) -> Iterator[dict[str, Json]]:
    for line in lines:
        for value in decoded(line.raw, source.name, line.number, draft.tally):
            if not isinstance(value, dict):
                draft.where = f"{source.name} line {line.number}"
                draft.refuse("is not a JSON object", hint="only a torn last line is forgiven.")
            yield value


def _message_lines(source: Source, lines: Iterable[Line], name: str) -> Unread:
    """One message a line: the file is one recording."""
    draft = Draft(name, where=source.name, notes=source.notes)
    messages = list(_objects(source, lines, draft))
    recording = VALUE_READERS[name](messages, draft, content_id(name, messages))
    return Unread(recording.id, partial(_given, recording), source.path.stat().st_size)


def _line_recordings(source: Source, line: Line, name: str) -> Iterator[Unread]:
    try:
        found = msgspec.json.decode(line.raw, type=Ids)
    except (msgspec.DecodeError, RecursionError):
        found = Ids()
    if own := text(found.id) or text(found.custom_id):
        yield Unread(own, partial(_read_line, source, line, name, own), len(line.raw))
        return
    tally = Tally()
    for value in decoded(line.raw, source.name, line.number, tally):
        for part in _several(value):
            own = text(obj(part).get("id")) or text(obj(part).get("custom_id")) or content_id(name, part)
            yield Unread(own, partial(_read_value, source, line, name, own, part, tally), len(line.raw))


def _several(value: Json) -> list[Json]:
    """A list may be one recording's messages or a list of recordings."""
    return value if isinstance(value, list) and value and not is_message(value[0]) else [value]


def _read_line(source: Source, line: Line, name: str, own: str) -> Recording:
    tally = Tally()
    value = decoded(line.raw, source.name, line.number, tally)[0]
    return _read_value(source, line, name, own, value, tally)


def _read_value(source: Source, line: Line, name: str, own: str, value: Json, tally: Tally) -> Recording:
    draft = Draft(name, where=f"{source.name} line {line.number}", notes=[*source.notes, *tally.sentences()])
    return VALUE_READERS[name](value, draft, own)
