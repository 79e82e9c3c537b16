"""`/export`: the talk as a file: to read, to keep, or to go on with elsewhere.

Rule: what is written was in the log, where no secret is. A file that is there stays, unless a `!` says otherwise.
"""

import asyncio
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.commands.told import talk_as_markdown
from holdfast.agents.commands.writing import bullets, code, counted, joined
from holdfast.agents.past_talks import title_of
from holdfast.errors import InputError
from holdfast.log import export_log
from holdfast.messages import Message, SystemMessage
from holdfast.recordings.wire import to_anthropic, to_openai
from holdfast.views import Step, Transcript, path

Format = Literal["markdown", "json", "openai", "anthropic"]
ENDINGS: dict[Format, str] = {
    "markdown": ".md",
    "json": ".jsonl",
    "openai": ".openai.json",
    "anthropic": ".anthropic.json",
}

MORE = """\
`markdown` is to be read. `json` is the whole log, one entry a line, which `holdfast logs import` takes back.
`openai` and `anthropic` are all messages as they were said, in the shape of these APIs. Without FILE it goes into
the folder of the project, named after the log. A `!` at the end overwrites a file that is there."""


class Wish(Struct, frozen=True):
    format: Format = "markdown"
    file: str = ""
    overwrites: bool = False


class Content(Struct, frozen=True):
    """Bytes to write, and what the format has no place for."""

    data: bytes
    losses: tuple[str, ...] = ()


async def _run(desk: Desk, argument: str) -> Shown:
    wish = _wished(argument)
    file = Path(desk.workspace.roots[0]) / _named(desk, wish)
    content = await asyncio.to_thread(exported, desk, wish.format)
    await asyncio.to_thread(_write, file, content.data, overwrites=wish.overwrites)
    return Shown(
        joined(
            f"{counted(len(content.data), 'byte')} written to {code(str(file))}.",
            bullets(f"{code(wish.format)} has no place for all of it: {loss}" for loss in content.losses),
        )
    )


def exported(desk: Desk, format_: Format) -> Content:
    """The talk in a format."""
    write: dict[Format, Callable[[Desk], Content]] = {
        "markdown": _markdown,
        "json": _json,
        "openai": _openai,
        "anthropic": _anthropic,
    }
    return write[format_](desk)


def _markdown(desk: Desk) -> Content:
    entries = path(desk.session.log.entries())
    text = talk_as_markdown(Transcript(entries), title_of(entries), desk.session.log.id)
    return Content(text.encode("utf-8", "replace"))


def _json(desk: Desk) -> Content:
    return Content(b"".join(export_log(desk.session.log)))


def _openai(desk: Desk) -> Content:
    transcript = Transcript(path(desk.session.log.entries()))
    wire = to_openai(_messages(transcript), transcript.tools)
    return Content(_encoded({"messages": wire.messages, "tools": wire.tools}), wire.losses)


def _anthropic(desk: Desk) -> Content:
    transcript = Transcript(path(desk.session.log.entries()))
    wire = to_anthropic(_messages(transcript), transcript.tools)
    body = {"system": wire.system, "messages": wire.messages, "tools": wire.tools}
    return Content(_encoded(body), wire.losses)


def _messages(transcript: Transcript) -> list[Message]:
    """All that was said, as it was said: nothing is folded in an export."""
    texts = (transcript.system, *transcript.rules.values(), *transcript.contexts.values())
    messages: list[Message] = [SystemMessage(text) for text in texts if text.strip()]
    for item in transcript.items:
        messages.append(item.message)
        if isinstance(item, Step):
            messages += item.answers()
    return messages


def _encoded(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _wished(argument: str) -> Wish:
    words, overwrites = argument.removesuffix("!").strip(), argument.endswith("!")
    first, _, rest = words.partition(" ")
    format_: Format | None = next((name for name in get_args(Format) if name == first.lower()), None)
    if format_ is not None:
        return Wish(format_, rest.strip(), overwrites)
    if first and not rest and "." not in first and "/" not in first:
        known = ", ".join(f"`{name}`" for name in ENDINGS)
        raise InputError(f"`{first}` is neither a format nor a file", hint=f"formats are {known}")
    return Wish(file=words, overwrites=overwrites)


def _named(desk: Desk, wish: Wish) -> Path:
    if wish.file:
        return Path(wish.file.strip('"')).expanduser()
    return Path(f"holdfast-{desk.session.log.id.replace(':', '-')}{ENDINGS[wish.format]}")


def _write(file: Path, data: bytes, *, overwrites: bool) -> None:
    """Whole or not at all, and for its owner's eyes: a talk may say more than its files."""
    beside = file.with_name(f".holdfast-{secrets.token_hex(8)}.tmp")
    if file.is_dir():
        raise InputError(f"`{file}` is a folder", hint="name the file in it too")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
        if overwrites:
            beside.replace(file)
        else:
            os.link(beside, file)
    except FileExistsError:
        raise InputError(f"`{file}` is there already", hint="a `!` at the end overwrites it") from None
    except OSError as error:
        raise InputError(f"`{file}` cannot be written: {error.strerror}", hint="name another file") from None
    finally:
        beside.unlink(missing_ok=True)


EXPORT = Command(
    "export", "/export [markdown|json|openai|anthropic] [FILE] [!]", "write the talk to a file", _run, MORE
)
