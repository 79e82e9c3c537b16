"""`/export`: the session as a file, to read, to keep, or to continue elsewhere.

Rule: everything that was said is in it; Markdown has the beginning and the end of a tool's result, with the id of
the whole. Only what is in the log is written, and no secret is there. An existing file stays, unless a `!` says
otherwise.
"""

import asyncio
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import bullets, code, fenced, joined, strip_controls
from holdfast.agents.outcomes import CommandAnswer
from holdfast.agents.sessions import session_title
from holdfast.errors import InputError
from holdfast.ids import text_id
from holdfast.log import export_log
from holdfast.messages import Image, Message, SystemMessage, Text, Thinking, ToolCall
from holdfast.numbers import counted
from holdfast.session import Session
from holdfast.views import Step, Transcript, User, path
from holdfast.wire.anthropic import to_anthropic
from holdfast.wire.openai import to_openai

MOST_LINES = 40
LONGEST_LINE = 500


def session_as_markdown(transcript: Transcript, title: str, log: str) -> str:
    parts = [f"# {strip_controls(title) or 'A session'}", f"Log {code(log)}."]
    number = 0
    for item in transcript.items:
        if isinstance(item, User):
            number += item.opens_round
            parts.append(_user(item, number))
        else:
            parts += _step(item)
    return joined(*parts) + "\n"


def _user(user: User, number: int) -> str:
    text = "\n\n".join(_shown(part) for part in user.message.parts)
    if user.origin == "reminder":
        return _quoted(text)
    who = "You" if user.origin == "person" else "Another agent"
    return joined(f"## {number}. {who}", text)


def _step(step: Step) -> Iterator[str]:
    said = [part for part in step.message.parts if isinstance(part, Text)]
    if said:
        yield joined("### Holdfast", *(strip_controls(part.text) for part in said))
    for part in step.message.parts:
        if isinstance(part, Thinking) and part.text:
            yield joined("*Thinking*", _quoted(part.text))
    for call, answer in zip(step.calls.values(), step.answers(), strict=True):
        yield joined(
            f"**{call.name}**{' failed' if answer.error else ''}: {code(step.uses[call.id].label)}",
            _written(call),
            *(_cut(part.text) if isinstance(part, Text) else _shown(part) for part in answer.parts),
        )


def _written(call: ToolCall) -> str:
    """The texts that a call was given, which its label does not show."""
    given = [(name, value) for name, value in call.arguments.items() if isinstance(value, str)]
    return joined(*(joined(f"{code(name)}:", _cut(value)) for name, value in given if "\n" in value))


def _cut(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        left = len(lines) - 2 * half
        lines = [*lines[:half], f"[… {left} lines: {text_id(text)} …]", *lines[-half:]]
    return fenced(
        "\n".join(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines)
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in strip_controls(text).splitlines())


def _shown(part: Text | Image) -> str:
    return strip_controls(part.text) if isinstance(part, Text) else f"[image {part.media_type}]"


Format = Literal["markdown", "json", "openai", "anthropic"]
ENDINGS: dict[Format, str] = {
    "markdown": ".md",
    "json": ".jsonl",
    "openai": ".openai.json",
    "anthropic": ".anthropic.json",
}

MORE = """\
`markdown` is for reading. `json` is the whole log, one entry a line, which `holdfast logs import` reads back.
`openai` and `anthropic` are all messages as they were said, in the format of these APIs. Without FILE the file is
written to the project's folder and named after the log. A `!` at the end overwrites an existing file."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    format_, name = _parse(argument.removesuffix("!").strip())
    if not name:
        name = f"holdfast-{coding.session.log.id.replace(':', '-')}{ENDINGS[format_]}"
    data, losses = await asyncio.to_thread(_export, coding.session, format_)
    root, overwrites = Path(coding.workspace.roots[0]), argument.endswith("!")
    file = await asyncio.to_thread(_write, root, name, data, overwrites=overwrites)
    return CommandAnswer(
        joined(
            f"{counted(len(data), 'byte')} written to {code(str(file))}.",
            bullets(f"{code(format_)} cannot hold all of it: {loss}" for loss in losses),
        )
    )


def _export(session: Session, format_: Format) -> tuple[bytes, tuple[str, ...]]:
    """The session in a format, and what the format cannot hold."""
    if format_ == "json":
        return b"".join(export_log(session.log)), ()
    entries = path(session.log.entries())
    transcript = Transcript(entries)
    if format_ == "markdown":
        text = session_as_markdown(transcript, session_title(entries), session.log.id)
        return text.encode("utf-8", "replace"), ()
    if format_ == "openai":
        openai = to_openai(_messages(transcript), transcript.tools)
        return _encoded({"messages": openai.messages, "tools": openai.tools}), openai.losses
    anthropic = to_anthropic(_messages(transcript), transcript.tools)
    body = {"system": anthropic.system, "messages": anthropic.messages, "tools": anthropic.tools}
    return _encoded(body), anthropic.losses


def _messages(transcript: Transcript) -> list[Message]:
    """Everything as it was said: nothing is folded in an export."""
    texts = (transcript.system, *transcript.rules.values(), *transcript.contexts.values())
    messages: list[Message] = [SystemMessage(text) for text in texts if text.strip()]
    for item in transcript.items:
        messages.append(item.message)
        if isinstance(item, Step):
            messages += item.answers()
    return messages


def _encoded(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _parse(words: str) -> tuple[Format, str]:
    """The format and the file that are named; the file may be left out."""
    first, _, rest = words.partition(" ")
    for format_ in ENDINGS:
        if format_ == first.lower():
            return format_, rest.strip()
    if first and not rest and "." not in first and "/" not in first:
        known = ", ".join(f"`{name}`" for name in ENDINGS)
        raise InputError(f"`{first}` is neither a format nor a file", hint=f"the formats are {known}")
    return "markdown", words


def _write(root: Path, name: str, data: bytes, *, overwrites: bool) -> Path:
    """Written completely or not at all, and readable only for its owner: a session may say more than its files."""
    file = root / Path(name.strip('"')).expanduser()
    beside = file.with_name(f".holdfast-{secrets.token_hex(8)}.tmp")
    if file.is_dir():
        raise InputError(f"`{file}` is a folder", hint="add the name of a file")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
        if overwrites:
            beside.replace(file)
        else:
            os.link(beside, file)
    except FileExistsError:
        raise InputError(f"`{file}` exists already", hint="a `!` at the end overwrites it") from None
    except OSError as error:
        raise InputError(
            f"`{file}` cannot be written: {error.strerror}", hint="choose another file"
        ) from None
    finally:
        beside.unlink(missing_ok=True)
    return file


EXPORT = SlashCommand(
    "export", "/export [markdown|json|openai|anthropic] [FILE] [!]", "write the session to a file", _run, MORE
)
