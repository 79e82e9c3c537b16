"""Recall: whatever a pack left out, brought back by id, lines, pattern or words.

Rule: a text that fits comes back byte for byte, and one that does not says how to get the rest; following `more`
to its end gives the whole text.
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from holdfast.errors import HoldfastError, InputError
from holdfast.messages import Json, ToolDefinition
from holdfast.numbers import count_noun
from holdfast.store.encoding import RECALL, decode_entry
from holdfast.store.entry_display import entry_text, log_index_text
from holdfast.store.protocol import SearchHit, Store
from holdfast.store.text_parts import (
    OutputLimits,
    Range,
    RecalledText,
    character_part,
    line_part,
    lines_with_words,
    list_matches,
    matching_part,
    parse_range,
    split_lines,
)
from holdfast.tool_use.web_frame import framed, has_frame

MAX_LINES = 400
MAX_CHARS = 16_000
"""What one answer to a model may hold."""

TEXTS_FOUND = 10
LINES_OF_EACH = 3
CONTEXT = 2


def recall(
    store: Store,
    id: str | None,  # noqa: A002 - the word users know
    *,
    lines: Range | None = None,
    chars: Range | None = None,
    grep: str | None = None,
    query: str | None = None,
    context: int = 0,
    log: str | None = None,
    max_lines: int = 0,
    max_chars: int = 0,
) -> RecalledText:
    """A text, an entry or a log's index; of it the lines, or those that match. `chars` counts inside `lines`.

    Without an id, `query` searches all texts of the store, or of one `log`. Limits of 0 are none.
    """
    limits = OutputLimits(max_lines, max_chars)
    if grep is not None and query is not None:
        raise InputError("`grep` and `query` do not go together", hint="ask for one after the other")
    if id is None:
        if query is None:
            raise InputError("recall needs an id or a query", hint="a pack's marks contain the ids")
        return _search(store, query, log, limits)
    whole, text = whole_text(store, id)
    if grep is not None or query is not None:
        if chars is not None:
            raise InputError("`chars` goes with neither `grep` nor `query`", hint="narrow these with `lines`")
        sought = {"grep": grep} if grep is not None else {"query": query or ""}
        found = matching_part(whole, text, lines, sought, context, limits)
    elif chars is not None:
        found = character_part(whole, text, lines, chars, limits)
    else:
        found = line_part(whole, text, lines, limits)
    return replace(found, is_web=True) if has_frame(text) else found


def whole_text(store: Store, prefix: str) -> tuple[str, str]:
    """The full id, and the text that it names."""
    found = store.resolve(prefix)
    if found.kind == "artifact":
        return found.id, store.text(found.id)
    if found.kind == "entry":
        page = store.entry(found.id)
        return found.id, entry_text(decode_entry(page.rows[0], page.texts))
    page = store.read(found.id)
    entries = [decode_entry(row, page.texts) for row in page.rows]
    return found.id, log_index_text(store.info(found.id), entries)


def _search(store: Store, query: str, log: str | None, limits: OutputLimits) -> RecalledText:
    hits = store.search(query, log=log, limit=TEXTS_FOUND + 1)
    blocks: list[str] = []
    size = 0
    for hit in hits[:TEXTS_FOUND]:
        block = _found(store, hit, query)
        size += len(block) + 1
        if blocks and limits.chars and size > limits.chars:
            break
        blocks.append(block)
    left = len(hits) > len(blocks)
    note = "more texts were found than are shown; ask with more words" if left else ""
    return RecalledText("", "\n".join(blocks), matches=len(blocks), truncated=left, note=note)


def _found(store: Store, hit: SearchHit, query: str) -> str:
    """A found text by its id, with the lines that are most about the query."""
    text = store.text(hit.artifact)
    lines = split_lines(text)
    found = lines_with_words(query, lines).found[:LINES_OF_EACH]
    listing = list_matches(found, lines, (1, len(lines)), 0, OutputLimits())
    where = f", entry {hit.entry} (number {hit.seq} of log {hit.log})" if hit.entry else ""
    shown = framed(listing.text) if has_frame(text) else [listing.text]
    return "\n".join([f"{hit.artifact}: {count_noun(len(lines), 'line')}{where}", *shown])


RECALL_TOOL = ToolDefinition(
    name=RECALL,
    description=(
        "Read back text that was left out of this conversation. Wherever something was shortened, a mark names its "
        'id, such as `Recall(id="a…")`. With `id` alone you get the text from its start; `lines` gives a part of '
        "it, `grep` the lines that match a regular expression, `query` the lines about some words. `query` without "
        "`id` searches everything seen so far. Long texts come in parts, and each part says how to get the next."
    ),
    schema={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id from a mark, or its first 6 or more characters."},
            "lines": {
                "type": "string",
                "description": "Lines to read, counted from 1: `10-40`, `10-` or `10`.",
            },
            "chars": {
                "type": "string",
                "description": "Characters to read, counted inside `lines`: `1-16000`. For very long lines.",
            },
            "grep": {"type": "string", "description": "A Python regular expression, tried on each line."},
            "query": {"type": "string", "description": "Words to look for, in any order."},
        },
        "additionalProperties": False,
    },
)


def answer_recall(
    store: Store,
    arguments: Mapping[str, Json],
    *,
    log: str | None = None,
) -> tuple[str, bool]:
    """What the Recall tool answers to a model, and whether it is an error. Never raises for what a model wrote.

    `log` bounds a search without an id to one log, so that nothing of other work is shown.
    """
    try:
        asked = _asked(arguments)
        found = recall(
            store,
            asked.get("id"),
            lines=parse_range(asked["lines"], "lines") if "lines" in asked else None,
            chars=parse_range(asked["chars"], "chars") if "chars" in asked else None,
            grep=asked.get("grep"),
            query=asked.get("query"),
            context=CONTEXT,
            log=log,
            max_lines=MAX_LINES,
            max_chars=MAX_CHARS,
        )
    except HoldfastError as error:
        return str(error), True
    return _answer(found, asked), False


def call_arguments(arguments: object) -> Mapping[str, Json]:
    """The arguments of a call, as a dict or as the JSON that OpenAI sends. InputError for anything else."""
    if isinstance(arguments, Mapping):
        return arguments
    hint = 'pass the arguments of the call, such as {"id": "a0123456789ab"}'
    if not isinstance(arguments, str | bytes):
        kind = type(arguments).__name__
        raise InputError(f"the arguments of Recall are of type `{kind}`, not a dict or JSON", hint=hint)
    try:
        return msgspec.json.decode(arguments, type=dict[str, Json])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError("the arguments of Recall are not a JSON object", hint=hint) from None


def _asked(arguments: Mapping[str, Json]) -> dict[str, str]:
    """The arguments that were given, as strings; models also write numbers, pairs and empty strings."""
    known = RECALL_TOOL.schema["properties"]
    asked: dict[str, str] = {}
    for name, given in arguments.items():
        if name not in known:
            raise InputError(f"`{name}` is not an argument of Recall", hint=f"it takes {', '.join(known)}")
        pair = name in ("lines", "chars") and isinstance(given, list) and len(given) == 2
        value = f"{given[0]}-{given[1]}" if pair else given
        if value is not None and not isinstance(value, str | int):
            raise InputError(
                f"`{name}` must be a string", hint='for example id="a0123456789ab", lines="10-40"'
            )
        if value is not None and value != "":
            asked[name] = str(value)
    return asked


def _answer(found: RecalledText, asked: dict[str, str]) -> str:
    name = found.id or "search"
    if "grep" in asked or "query" in asked:
        kind = "grep" if "grep" in asked else "query"
        what = f'{kind} "{" ".join(asked[kind][:200].split())}"'
        things = "matching lines" if found.id else "texts"
        total = f" of {found.total_lines}" if found.id else ""
        head = f"[recall {name} {what}: {found.matches} {things}{total}]"
    elif found.chars:
        head = f"[recall {name} characters {found.chars[0]}-{found.chars[1]} of {found.total_chars}]"
    else:
        head = f"[recall {name} lines {found.first_line}-{found.last_line} of {found.total_lines}]"
    tail = [f"[{found.note}]"] if found.note else []
    if found.more:
        quoted = {key: value.replace("\\", "\\\\").replace('"', '\\"') for key, value in found.more.items()}
        inside = ", ".join(f'{key}="{value}"' for key, value in quoted.items())
        tail.append(f"[more: {RECALL}({inside})]")
    text = found.text.removesuffix("\n") if tail or found.is_web else found.text
    shown = framed(text) if found.is_web else [text] if text else []
    return "\n".join([head, *shown, *tail])
