"""Recording files: which format a file has, and the recordings in it.

Rule: a format is recognised by the shape of its values; a file's name never decides. Where a file holds one
recording a line, a recording is decoded only when it is asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from holdfast.errors import HoldfastError, InputError, NotFound, suggest
from holdfast.events import Recording
from holdfast.messages import Json
from holdfast.recordings import (
    claude_code,
    codex,
    copilot,
    gemini,
    mini_swe_agent,
    neutral,
    opencode,
    pi,
    swe_agent,
)
from holdfast.recordings.json_lines import FileLine, RecordingFile, decode_line, json_lines
from holdfast.recordings.opencode_database import database_recordings, is_database
from holdfast.wire.foreign_json import Losses, obj, text
from holdfast.wire.formats import GEMINI_CONTENTS
from holdfast.wire.message_checks import is_message
from holdfast.wire.message_lists import (
    ANTHROPIC,
    MESSAGE_FORMATS,
    NEUTRAL,
    OPENAI,
    RESPONSES,
    block_types,
    message_format,
    read_message_list,
    request_format,
    request_of,
)
from holdfast.wire.recording_builder import RecordingBuilder, content_id

CODEX_ITEMS = (*codex.CALLS, *codex.OUTPUTS, "reasoning")
CLAUDE_CODE_KEYS = ("parentUuid", "sessionId", "leafUuid", "isSnapshotUpdate", "session_id")

HEAD = 50
"""Lines looked at to tell a format: Claude Code may begin with a screenful of bookkeeping."""
SHOWN = 5
READERS: dict[str, Callable[[Iterable[dict[str, Json]], RecordingBuilder], Recording]] = {
    claude_code.NAME: claude_code.read_claude_code,
    codex.NAME: codex.read_codex,
    copilot.NAME: copilot.read_copilot,
    gemini.NAME: gemini.read_gemini,
    pi.NAME: pi.read_pi,
}
"""Formats with one recording a file, a line for each thing that happened."""
VALUE_READERS: dict[str, Callable[[Json, RecordingBuilder, str], Recording]] = {
    NEUTRAL: neutral.read_neutral,
    OPENAI: read_message_list,
    RESPONSES: read_message_list,
    ANTHROPIC: read_message_list,
    GEMINI_CONTENTS: read_message_list,
    opencode.NAME: opencode.read_opencode,
    swe_agent.NAME: swe_agent.read_swe_agent,
    mini_swe_agent.NAME: mini_swe_agent.read_mini_swe_agent,
}
"""Formats with one recording a value, so that a file may hold many."""
FORMATS = (
    *(NEUTRAL, OPENAI, RESPONSES, ANTHROPIC, GEMINI_CONTENTS),
    *READERS,
    *(opencode.NAME, swe_agent.NAME, mini_swe_agent.NAME),
)


def detect_format(values: Sequence[Json], name: str = "the input") -> str:
    """The format of a file from its first values; several are needed only for one message a line."""
    for value in values:
        if found := format_of(value):
            return found
    messages = [value for value in values if is_message(value)]
    if messages:
        return message_format(messages)
    if values and values[0] == []:
        raise InputError(
            f"{name} is not a recording: the list is empty.",
            hint='a recording is a list such as [{"role": "user", "content": "Fix the parser."}].',
        )
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    what = kinds.get(type(values[0]), "a number") if values else "nothing"
    raise InputError(
        f"{name} is not a recording in a known format: it begins with {what} that none of them has",
        hint=f"name the format with `--from`; known: {', '.join(FORMATS)}",
    )


def format_of(value: Json) -> str | None:
    """The format one value shows by itself; None for a lone message and for what is unknown."""
    if isinstance(value, list):
        first = value[0] if value else None
        if is_message(first):
            return message_format(value)
        return format_of(first) if isinstance(first, dict | list) else None
    record = obj(value)
    kind = record.get("type")
    if isinstance(record.get("messages"), list) and "id" in record and {"meta", "source"} & record.keys():
        return NEUTRAL
    if found := next((name for name, is_it in _DOCUMENTS.items() if is_it(record)), None):
        return found
    if request := request_of(record):
        return request_format(request)
    if isinstance(record.get("history"), list) or isinstance(record.get("trajectory"), list):
        return swe_agent.NAME
    if isinstance(kind, str):
        return _line_format(record, kind)
    if record.get("record_type") == "state" or {"id", "timestamp", "instructions"} <= record.keys():
        return codex.NAME
    return None


_DOCUMENTS = {
    gemini.NAME: gemini.is_gemini,
    opencode.NAME: opencode.is_opencode,
    mini_swe_agent.NAME: mini_swe_agent.is_mini_swe_agent,
}
"""Formats whose documents have a list of `messages` too."""


def _line_format(record: dict[str, Json], kind: str) -> str | None:
    if kind in codex.ENVELOPES and "payload" in record:
        return codex.NAME
    if any(key in record for key in CLAUDE_CODE_KEYS):
        return claude_code.NAME
    if isinstance(record.get("data"), dict) and ("." in kind or kind == "abort"):
        return copilot.NAME
    if kind == "session" or (kind == "message" and isinstance(record.get("message"), dict)):
        return pi.NAME
    bare = kind == "message" and "role" in record and block_types(record) & {"input_text", "output_text"}
    return codex.NAME if kind in CODEX_ITEMS or bare else None


class LineIds(Struct):
    """The little of a line that finding a recording needs."""

    id: Any = None
    custom_id: Any = None
    instance_id: Any = None
    info: Any = None

    @property
    def own(self) -> str:
        """The id of the recording on the line; empty where it has none."""
        found = (self.id, self.custom_id, self.instance_id, obj(self.info).get("id"))
        return next(filter(None, map(text, found)), "")


class LazyRecording(Struct, frozen=True):
    """A recording whose id is known and whose events are not made yet. It can be read in another process.

    `size` is about how much there is to read, in bytes; `line` is the line that it alone is on, if there is one.
    """

    id: str
    read: Callable[[], Recording]
    size: int = 0
    line: bytes = b""
    needs_file: bool = False
    """Whether reading it opens a file again, which another machine may not have."""

    def detached(self) -> "LazyRecording":
        """The same for a worker on any machine. An error of reading is kept for its reader."""
        if not self.needs_file:
            return self
        try:
            return LazyRecording(self.id, partial(_given, self.read()), self.size)
        except HoldfastError as error:
            return LazyRecording(self.id, partial(_refuse, error), self.size)


def read_recordings(path: Path, format: str | None = None) -> Iterator[Recording]:  # noqa: A002
    """Every recording of a file, one at a time."""
    for recording in scan_recordings(path, format):
        yield recording.read()


def find_recording(path: Path, id: str | None = None, format: str | None = None) -> Recording:  # noqa: A002
    """One recording: the only one, or the one with this id, its beginning, its end or the beginning of a part."""
    file = RecordingFile(Path(path))
    recordings = scan_recordings(file, format)
    if id is None:
        found = list(islice(recordings, SHOWN + 1))
        if len(found) == 1:
            return found[0].read()
        hint = f"`holdfast show {file.name}` lists them; `--id` takes the beginning or the end of an id"
        raise InputError(f"{file.name} holds several recordings", hint=hint)
    ids: list[str] = []
    near: list[str] = []
    match: LazyRecording | None = None
    for recording in recordings:
        if recording.id == id:
            return recording.read()
        ids.append(recording.id)
        if id and (recording.id.startswith(id) or recording.id.endswith(id) or f"/{id}" in recording.id):
            near.append(recording.id)
            match = match or recording
    if match and len(near) == 1:
        return match.read()
    if near:
        raise InputError(
            f"`{id}` fits {len(near)} recordings of {file.name}",
            hint=f"give more of the id: {_shown(near)}",
        )
    lost = f" ({'; '.join(file.notes)})" if file.lost_recordings else ""
    close = get_close_matches(id, ids, n=SHOWN, cutoff=0.4) or ids
    raise NotFound(f"{file.name} holds no recording `{id}`{lost}", hint=f"it has {_shown(close)}")


def _shown(ids: Sequence[str]) -> str:
    return ", ".join(f"`{id_}`" for id_ in ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")


def check_format(name: str | None) -> None:
    """Raises InputError for a name that no format has."""
    if name is not None and name not in FORMATS:
        hint = suggest(name.lower(), FORMATS, lists=True)
        raise InputError(f"`{name}` is not a format of recordings", hint=hint)


def scan_recordings(
    path: Path | RecordingFile,
    format: str | None = None,  # noqa: A002
) -> Iterator[LazyRecording]:
    """The recordings of a file in order, each with its id, none made into events yet.

    What a damaged end cost is known when all have been taken: give a `RecordingFile`, then `check_complete`.
    """
    check_format(format)
    source = path if isinstance(path, RecordingFile) else RecordingFile(Path(path))
    if is_database(source.path):
        yield from _database(source, format)
        return
    lines = json_lines(source)
    head: list[FileLine] = []
    values: list[Json] = []
    for line in lines:
        head.append(line)
        values += decode_line(line.raw, source.name, line.number, Losses())
        if any(map(format_of, values)) or len(head) == HEAD:
            break
    name = _checked_format(format, values, source.name)
    every = chain(head, lines)
    if name in READERS or is_message(values[0]):
        yield _whole_file(source, every, name)
    else:
        for line in every:
            yield from _line_recordings(source, line, name)
        source.lost_recordings = bool(source.notes)


def _database(source: RecordingFile, format: str | None) -> Iterator[LazyRecording]:  # noqa: A002
    if format not in (None, opencode.NAME):
        raise InputError(
            f"{source.name} is not {format}: it is a database, as {opencode.NAME} has",
            hint=f"leave `--from` out, or say `--from {opencode.NAME}`",
        )
    for own, read, size in database_recordings(source.path):
        yield LazyRecording(own, read, size, needs_file=True)


def _checked_format(format: str | None, values: list[Json], name: str) -> str:  # noqa: A002
    """The named format, unless the file plainly has another."""
    if format is None:
        return detect_format(values, name)
    found = next(filter(None, map(format_of, values)), None)
    overlap = format in MESSAGE_FORMATS and (found in MESSAGE_FORMATS or any(map(is_message, values)))
    if found == format or overlap or (found is None and not any(map(is_message, values))):
        return format
    raise InputError(
        f"{name} is not {format}: line 1 looks like {found or 'a list of messages'}",
        hint=f"leave `--from` out, or say `--from {found or OPENAI}`",
    )


def _given(recording: Recording) -> Recording:
    return recording


def _refuse(error: HoldfastError) -> NoReturn:
    raise error


def _objects(
    source: RecordingFile, lines: Iterable[FileLine], builder: RecordingBuilder
) -> Iterator[dict[str, Json]]:
    for line in lines:
        for value in decode_line(line.raw, source.name, line.number, builder.losses):
            if not isinstance(value, dict):
                builder.where = f"{source.name} line {line.number}"
                builder.refuse("is not a JSON object", hint="only a torn last line is forgiven")
            yield value


def _whole_file(source: RecordingFile, lines: Iterable[FileLine], name: str) -> LazyRecording:
    """A line for each thing that happened, or one message a line: the file is one recording."""
    builder = RecordingBuilder(name, where=source.name, notes=source.notes)
    values = _objects(source, lines, builder)
    if name in READERS:
        recording = READERS[name](values, builder)
        if builder.is_empty():
            builder.refuse(
                f"holds no message that {name} would have", hint="check that the agent took a turn"
            )
    else:
        messages = list(values)
        recording = VALUE_READERS[name](messages, builder, content_id(name, messages))
    return LazyRecording(recording.id, partial(_given, recording), source.path.stat().st_size)


def _line_recordings(source: RecordingFile, line: FileLine, name: str) -> Iterator[LazyRecording]:
    try:
        found = msgspec.json.decode(line.raw, type=LineIds)
    except (msgspec.DecodeError, RecursionError):
        found = LineIds()
    if own := found.own:
        yield LazyRecording(own, partial(_read_part, source, line, name, own, 0), len(line.raw), line.raw)
        return
    for place, part in enumerate(_parts(source, line, Losses())):
        ids = {key: value for key, value in obj(part).items() if key in LineIds.__struct_fields__}
        own = LineIds(**ids).own or content_id(name, part)
        yield LazyRecording(own, partial(_read_part, source, line, name, own, place), len(line.raw))


def _parts(source: RecordingFile, line: FileLine, losses: Losses) -> list[Json]:
    """The recordings on a line. A list may be one recording's messages or a list of recordings."""
    parts: list[Json] = []
    for value in decode_line(line.raw, source.name, line.number, losses):
        parts += value if isinstance(value, list) and value and not is_message(value[0]) else [value]
    return parts


def _read_part(source: RecordingFile, line: FileLine, name: str, own: str, place: int) -> Recording:
    losses = Losses()
    value = _parts(source, line, losses)[place]
    notes = [*source.notes, *losses.sentences()]
    builder = RecordingBuilder(name, where=f"{source.name} line {line.number}", notes=notes)
    return VALUE_READERS[name](value, builder, own)
