"""What Anthropic's Messages API refuses.

Rule: what `holdfast.packing.validator` states is asked of it; here are only the rules that concern a whole request,
or its model. Thinking is judged where it is signed.
"""

import re
from collections.abc import Iterator
from typing import Any

from clients.wires.values import Asked, Body, Breach, objects
from holdfast.models.catalogue import load_catalogue
from holdfast.packing.validator import Violation, check

MOST_MARKS = 4
LEAST_THINKING = 1_024
OLDER = re.compile(r"claude-(?:3|opus-4-[0-7]|sonnet-4|haiku-4)")
"""Models that take no system message among the messages, and that let a reply be begun for them."""

RULES = {
    "tool-result-has-call": "A01",
    "tool-use-answered": "A02",
    "tool-result-first": "A03",
    "tool-use-id": "A04",
    "tool-use-id-unique": "A04",
    "tool-result-once": "A04",
    "thinking-whole": "A07",
    "thinking-not-last": "A09",
    "cache-mark-limit": "A10",
    "thinking-not-marked": "A11",
    "cache-mark-order": "A11",
    "cache-mark-shape": "A11",
    "text-not-blank": "A12",
    "content-shape": "A12",
    "system-legal": "A12",
    "messages-present": "A13",
    "first-is-user": "A13",
    "no-trailing-space": "A14",
    "tools-legal": "A16",
    "tool-names-unique": "A16",
    "tool-name": "A16",
    "messages-limit": "A20",
    "tool-result-shape": "A21",
    "image-source": "A21",
}
"""Rules of the validator, with their ids in our table of what providers refuse. Its other rules are ours alone, or
know fewer kinds of blocks than the provider does today."""

WORDS = {
    "tool-result-has-call": "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` "
    "block must have a corresponding `tool_use` block in the previous message.",
    "tool-use-answered": "`tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    "tool-use-id-unique": "`tool_use` ids must be unique",
    "tool-result-once": "each tool_use must have a single result. Found multiple `tool_result` blocks with "
    "id: {id}",
    "thinking-whole": "Invalid `signature` in `thinking` block",
    "cache-mark-limit": "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
    "thinking-not-marked": "cache_control cannot be set for thinking blocks",
    "text-not-blank": "text content blocks must be non-empty",
    "content-shape": "all messages must have non-empty content except for the optional final assistant message",
    "messages-present": "at least one message is required",
    "first-is-user": "first message must use the `user` role",
    "no-trailing-space": "final assistant content cannot end with trailing whitespace",
    "tool-names-unique": "Tool names must be unique.",
}


def broken_rules(asked: Asked) -> Iterator[Breach]:
    """Every rule that the request breaks, but for those of thinking."""
    body, messages = asked.body, merged(asked.body)
    shown = [message for _, message in messages if message.get("role") != "system"]
    places = [at for at, message in messages if message.get("role") != "system"]
    violations = check(shown, "anthropic", system=body.get("system") or None, tools=body.get("tools"))
    yield from (_breach(one, places) for one in violations if _short(one) in RULES)
    for rule in (_request, _marks, _tools, _system_messages, _compaction, _server_tools, _results):
        yield from rule(asked)


def merged(body: Body) -> list[tuple[int, Body]]:
    """The messages with their places, contents as lists; neighbours of one role are one, as the API has it."""
    out: list[tuple[int, Body]] = []
    for at, message in enumerate(objects(body.get("messages"))):
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if out and out[-1][1].get("role") == message.get("role") != "system" and isinstance(content, list):
            out[-1] = (out[-1][0], {**out[-1][1], "content": [*out[-1][1]["content"], *content]})
        else:
            out.append((at, {**message, "content": content if content is not None else []}))
    return out


def _short(violation: Violation) -> str:
    return violation.rule.partition(".")[2]


def _number_in(text: str) -> str:
    found = re.search(r"\d+", text)
    return found[0] if found else ""


def _breach(violation: Violation, places: list[int]) -> Breach:
    name = _short(violation)
    said = WORDS.get(name, "{message}").format(
        id=violation.id, message=violation.message, count=_number_in(violation.message)
    )
    where = "" if violation.index is None else f"messages.{places[violation.index]}: "
    return Breach(RULES[name], where + said)


def _request(asked: Asked) -> Iterator[Breach]:
    """A14, A17, A19: what concerns the request as a whole."""
    body, most = asked.body, body_limit(asked.model)
    limit, thinking = body.get("max_tokens"), body.get("thinking")
    if not asked.is_counting:
        if not isinstance(limit, int):
            yield Breach("A17", "max_tokens: Field required")
        elif most and limit > most:
            allowed = f"which is the maximum allowed number of output tokens for {asked.model}"
            words = f"max_tokens: {limit} > {most}, {allowed}"
            yield Breach("A17", words)
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(budget, int):
        if budget < LEAST_THINKING:
            words = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            yield Breach("A17", words)
        elif isinstance(limit, int) and budget >= limit:
            yield Breach("A17", "`max_tokens` must be greater than `thinking.budget_tokens`")
    messages = objects(body.get("messages"))
    if messages and messages[-1].get("role") == "assistant" and not OLDER.match(asked.model):
        words = "This model does not support assistant message prefill."
        yield Breach("A14", f"{words} The conversation must end with a user message.")
    if body.get("fallback_credit_token"):
        yield Breach("A19", "fallback_credit_token: the token was issued for another request body")


def body_limit(model: str) -> int:
    return load_catalogue().entry(f"anthropic/{model}").max_output


def _marks(asked: Asked) -> Iterator[Breach]:
    """A10, where the mark of the whole request is one too many; A11 on empty text."""
    marks = sum(bool(block.mark) for block in asked.blocks)
    if isinstance(asked.body.get("cache_control"), dict) and marks > MOST_MARKS:
        yield Breach("A10", f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    if any(block.mark and not block.text for block in asked.blocks):
        yield Breach("A11", "cache_control cannot be set for empty text blocks")


def _tools(asked: Asked) -> Iterator[Breach]:
    """A16: tools where the history has calls, and no forced call while thinking."""
    body = asked.body
    if (asked.calls or asked.results) and not body.get("tools"):
        yield Breach("A16", "Requests which include `tool_use` or `tool_result` blocks must define tools")
    choice, thinking = body.get("tool_choice"), body.get("thinking")
    forced = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    if forced and isinstance(thinking, dict) and thinking.get("type") != "disabled":
        yield Breach("A16", "Thinking may not be enabled when tool_choice forces tool use.")


def _system_messages(asked: Asked) -> Iterator[Breach]:
    """A15: a system message among the messages."""
    before = ""
    for at, message in enumerate(objects(asked.body.get("messages"))):
        role = message.get("role")
        if role == "system":
            if OLDER.match(asked.model):
                yield Breach("A15", f"messages.{at}: role 'system' is not supported on this model")
            elif before != "user":
                yield Breach("A15", f"messages.{at}: role 'system' must follow a user message")
            elif not message.get("content") and not message.get("output_config"):
                yield Breach("A15", f"messages.{at}: role 'system' needs content or output_config")
        elif role not in ("user", "assistant"):
            yield Breach("A15", f"messages.{at}.role: Input should be 'user', 'assistant' or 'system'")
        if "clear_at" in message and role != "system":
            yield Breach("A15", f"messages.{at}.clear_at: Extra inputs are not permitted")
        before = str(role)


def _compaction(asked: Asked) -> Iterator[Breach]:
    """A18: a summary of the provider's own."""
    body = asked.body
    if body.get("compaction") and body.get("context_management"):
        yield Breach("A18", "compaction: may not be combined with context_management")
    for at, message in merged(body):
        for place, block in enumerate(objects(message["content"])):
            if block.get("type") != "compaction":
                continue
            if at or place:
                yield Breach("A18", f"messages.{at}.content.{place}: a compaction block must come first")
            elif block.get("content") == "":
                yield Breach("A18", f"messages.{at}.content.{place}: compaction content must be non-empty")


def _server_tools(asked: Asked) -> Iterator[Breach]:
    """A05: the result of a tool of the provider's comes after its call, in the same message."""
    for at, message in merged(asked.body):
        called: set[Any] = set()
        for place, block in enumerate(objects(message["content"])):
            kind = str(block.get("type"))
            if kind in ("server_tool_use", "mcp_tool_use"):
                called.add(block.get("id"))
            elif kind.endswith("_tool_result") and block.get("tool_use_id") not in called:
                words = f"`{kind}` block has no corresponding `server_tool_use` block"
                yield Breach("A05", f"messages.{at}.content.{place}: {words}")


def _results(asked: Asked) -> Iterator[Breach]:
    """A21: an error is text."""
    for at, message in merged(asked.body):
        for block in objects(message["content"]):
            inner = objects(block.get("content"))
            if block.get("is_error") is True and any(one.get("type") != "text" for one in inner):
                words = 'all content must be type "text" if "is_error" is true'
                yield Breach("A21", f"messages.{at}: {words}")
