"""What the Messages API refuses in images, thinking, cache marks and the system prompt, one rule each.

Rule: whether thinking was modified shows in its signature, which only the provider can check; here a block is
whole or it is not.
"""

from collections.abc import Iterator

from holdfast.messages import Json
from holdfast.packing.validator.request import IMAGE_TYPES, Breach, ParsedRequest, ProviderRule, describe

MOST_CACHE_MARKS = 4
THINKING = frozenset(("thinking", "redacted_thinking"))


def thinking_whole(request: ParsedRequest) -> Iterator[Breach]:
    for index, block in request.of_kind("redacted_thinking"):
        if not _filled(data := block.get("data")):
            yield index, f"the data of a redacted thinking block is {describe(data)}", ""
    for index, block in request.of_kind("thinking"):
        if not isinstance(text := block.get("thinking"), str):
            yield index, f"the text of a thinking block is {describe(text)}", ""
        elif not _filled(signature := block.get("signature")):
            yield index, f"the signature of a thinking block is {describe(signature)}", ""


def thinking_first(request: ParsedRequest) -> Iterator[Breach]:
    for index, role, kinds in _rows_with_thinking(request):
        if role != "assistant":
            continue
        if kinds[0] not in THINKING:
            yield index, f"the message has thinking blocks and begins with {describe(kinds[0])}", ""
        elif "tool_use" in kinds and not THINKING.isdisjoint(kinds[kinds.index("tool_use") :]):
            yield index, "a thinking block stands behind a `tool_use` block", ""


def thinking_not_last(request: ParsedRequest) -> Iterator[Breach]:
    for index, role, kinds in _rows_with_thinking(request):
        if role == "assistant" and kinds[-1] in THINKING:
            yield index, "the message ends in a thinking block", ""


def thinking_not_marked(request: ParsedRequest) -> Iterator[Breach]:
    for thinking in sorted(THINKING):
        for index, block in request.of_kind(thinking):
            if block.get("cache_control") is not None:
                yield index, f"a `{thinking}` block carries `cache_control`", ""


def cache_mark_shape(request: ParsedRequest) -> Iterator[Breach]:
    for index, mark in request.marks:
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            yield index, "a `cache_control` is no object of type `ephemeral`", ""
        elif mark.get("ttl", "5m") not in ("5m", "1h"):
            yield index, f"the `ttl` of a `cache_control` is {describe(mark['ttl'])}, not `5m` or `1h`", ""


def cache_mark_limit(request: ParsedRequest) -> Iterator[Breach]:
    if len(marks := request.marks) > MOST_CACHE_MARKS:
        yield marks[MOST_CACHE_MARKS][0], f"the request carries {len(marks)} `cache_control` marks", ""


def cache_mark_order(request: ParsedRequest) -> Iterator[Breach]:
    short = False
    for index, mark in request.marks:
        if isinstance(mark, dict):
            if mark.get("ttl", "5m") != "1h":
                short = True
            elif short:
                yield index, "a `1h` mark stands behind one of `5m`", ""


def system_legal(request: ParsedRequest) -> Iterator[Breach]:
    system = request.system
    if system is None:
        return
    if isinstance(system, str):
        if not system.strip():
            yield None, "`system` is empty or white space only", ""
    elif not isinstance(system, list) or not system:
        yield None, f"`system` is {describe(system)}, not text or a list of text blocks", ""
    else:
        for number, block in enumerate(system):
            text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
            if not isinstance(text, str) or not text.strip():
                yield None, f"block {number} of `system` is no text block that says something", ""


def image_source(request: ParsedRequest) -> Iterator[Breach]:
    for index, block in request.of_kind("image"):
        if fault := _source_fault(block.get("source")):
            yield index, fault, ""


def _rows_with_thinking(request: ParsedRequest) -> list[tuple[int, str, list[str]]]:
    return [row for row in request.kinds if "thinking" in row[2] or "redacted_thinking" in row[2]]


def _source_fault(source: Json) -> str:
    if not isinstance(source, dict):
        return f"the image's source is {describe(source)}, not an object"
    match source.get("type"):
        case "base64":
            if source.get("media_type") not in IMAGE_TYPES:
                return f"the image's media type is {describe(source.get('media_type'))}"
            return "" if _filled(source.get("data")) else "the image has no base64 data"
        case "url":
            return "" if _filled(source.get("url")) else "the image has no URL"
        case "file":
            return "" if _filled(source.get("file_id")) else "the image has no file id"
        case other:
            return f"the type of the image's source is {describe(other)}"


def _filled(value: Json) -> bool:
    return isinstance(value, str) and value != ""


BLOCK_RULES = (
    ProviderRule(
        "anthropic.thinking-whole",
        "A thinking block has its text, which may be empty, and a signature; a redacted one has its data.",
        thinking_whole,
    ),
    ProviderRule(
        "anthropic.thinking-first",
        "An assistant message with thinking begins with it, and none stands behind a `tool_use` block.",
        thinking_first,
    ),
    ProviderRule(
        "anthropic.thinking-not-last", "No assistant message ends in a thinking block.", thinking_not_last
    ),
    ProviderRule(
        "anthropic.thinking-not-marked", "A thinking block carries no `cache_control`.", thinking_not_marked
    ),
    ProviderRule(
        "anthropic.cache-mark-shape",
        "A `cache_control` has the type `ephemeral` and, if any, a `ttl` of `5m` or `1h`.",
        cache_mark_shape,
    ),
    ProviderRule(
        "anthropic.cache-mark-limit", "A request carries at most 4 `cache_control` marks.", cache_mark_limit
    ),
    ProviderRule(
        "anthropic.cache-mark-order",
        "Counted over tools, system and messages, marks of `1h` come before marks of `5m`.",
        cache_mark_order,
    ),
    ProviderRule(
        "anthropic.system-legal",
        "`system` is text or a list of text blocks, and each says something.",
        system_legal,
    ),
    ProviderRule(
        "anthropic.image-source",
        "An image comes as base64 data of a JPEG, PNG, GIF or WebP picture, as a URL or as a file id.",
        image_source,
    ),
)
