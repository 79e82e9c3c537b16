"""Gemini contents, in and out: of the REST API and of the google-genai SDK, in camel case or snake case.

Rule: a thought signature goes back on the part it came with, and to no other provider. Calls without ids are paired
with their results by name and order; ids that were made for that are not sent.

`Thinking.redacted` holds a signature as a JSON object. With nothing else in it, it belongs to the call or the text
that follows; else to a part of its own, a thought or an empty text.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, ToolReturned
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
    UserPart,
    joined_text,
)
from holdfast.wire.content_blocks import (
    SIGNATURE,
    SYSTEM_ROLES,
    CallNames,
    WireDict,
    WireRequest,
    is_gemini_thinking,
    system_message_events,
    tool_call,
    user_message_events,
)
from holdfast.wire.foreign_json import Losses, count, items, obj, text

MADE_ID = "gemini-call-"
"""How an id begins that was made for a call without one."""
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_STANDARD = str.maketrans("-_", "+/")
"""The SDK writes bytes in the alphabet for URLs, which no other provider reads."""


def gemini_events(
    content: dict[str, Json], names: CallNames, losses: Losses, *, opening: bool
) -> list[Event]:
    """The events of one content; one of the user's gives an event for each function response in it."""
    parts = [obj(part) for part in items(content.get("parts"))]
    role = content.get("role") or "user"
    if role == "model":
        return [AssistantReplied(_reply_parts(parts, names, losses))]
    if role in SYSTEM_ROLES:
        said = {"role": "system", "content": joined_text(tuple(_user_parts(parts, losses)))}
        return system_message_events(said, losses, opening=opening)
    if role not in ("user", "function", "tool"):
        losses.add("left out", f"contents with the unknown role `{str(role)[:40]}`")
        return []
    events: list[Event] = []
    ids = _ids_of_results([_field(part, "functionResponse") for part in parts], names)
    said_parts: list[UserPart] = []
    for part in parts:
        if response := _field(part, "functionResponse"):
            events.append(_returned(response, next(ids), names, losses))
        else:
            said_parts += _user_parts([part], losses)
    if said_parts or not events:
        events += user_message_events(tuple(said_parts), losses)
    return events


def _field(part: dict[str, Json], name: str) -> dict[str, Json]:
    return obj(_value(part, name))


def _value(part: dict[str, Json], name: str) -> Json:
    """A field by its name in camel case, or by the same in snake case."""
    if name in part:
        return part[name]
    return part.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))


def _reply_parts(
    parts: Sequence[dict[str, Json]], names: CallNames, losses: Losses
) -> tuple[AssistantPart, ...]:
    found: list[AssistantPart] = []
    given = {text(_field(part, "functionCall").get("id")) for part in parts}
    ids = (f"{MADE_ID}{number}" for number in itertools.count(len(names)))
    free = (made for made in ids if made not in names and made not in given)
    for part in parts:
        signature, said = text(_value(part, SIGNATURE)), text(part.get("text"))
        if call := _field(part, "functionCall"):
            found += [_signed(signature)] if signature else []
            call_id = text(call.get("id")) or next(free)
            found.append(tool_call(call_id, call.get("name"), call.get("args"), losses))
        elif part.get("thought") is True:
            found += (
                [_signed(signature, said, thought=True)] if signature else [Thinking(said)] if said else []
            )
        elif said:
            found += [_signed(signature), Text(said)] if signature else [Text(said)]
        elif (kind := _kind(part)) not in ("text", "empty"):
            losses.add("left out", f"`{kind}` parts of model contents")
        elif signature:  # what a streamed reply may end with
            found.append(_signed(signature, text=""))
    return tuple(found)


def _signed(signature: str, said: str = "", **more: Json) -> Thinking:
    return Thinking(said, redacted=msgspec.json.encode({SIGNATURE: signature, **more}).decode())


def _kind(part: dict[str, Json]) -> str:
    """What a part holds, by the name of the field."""
    about = ("thought", SIGNATURE, "thought_signature")
    return next((key[:40] for key, value in part.items() if value is not None and key not in about), "empty")


def _ids_of_results(responses: Sequence[dict[str, Json]], names: CallNames) -> Iterator[str]:
    """The call of each response: its own id, or else the oldest call of its function that has no result yet."""
    given = {text(response.get("id")) for response in responses}
    waiting: dict[str, list[str]] = {}
    for response in filter(None, responses):
        name = text(response.get("name"))
        if call_id := text(response.get("id")):
            yield call_id
        else:
            calls = waiting.setdefault(name, [id_ for id_ in names.waiting(name) if id_ not in given])
            yield calls.pop(0) if calls else ""


def _returned(response: dict[str, Json], call_id: str, names: CallNames, losses: Losses) -> ToolReturned:
    """`output` and `error` are the keys that Gemini knows; any other answer is kept as JSON."""
    answer = response.get("response")
    body = obj(answer)
    error = len(body) == 1 and "error" in body
    only = (
        next(iter(body.values()))
        if len(body) == 1 and body.keys() & {"output", "result", "error"}
        else answer
    )
    said = only if isinstance(only, str) else msgspec.json.encode(only).decode() if only is not None else ""
    parts: list[UserPart] = [Text(said)] if said else []
    parts += _user_parts([obj(part) for part in items(response.get("parts"))], losses)
    name = text(response.get("name")) or names.get(call_id, "")
    return ToolReturned(call_id, name, tuple(parts), error=error)


def _user_parts(parts: Iterable[dict[str, Json]], losses: Losses) -> list[UserPart]:
    found: list[UserPart] = []
    for part in parts:
        data, file = _field(part, "inlineData"), _field(part, "fileData")
        media = text(_value(data or file, "mimeType"))
        if media and not media.startswith("image/"):
            losses.add("left out", f"`{media[:40]}` parts")
        elif data:
            found.append(Image(media_type=media, data=text(data.get("data")).translate(_STANDARD)))
        elif file:
            found.append(Image(media_type=media, url=text(_value(file, "fileUri"))))
        elif said := text(part.get("text")):
            found.append(Text(said))
        elif (kind := _kind(part)) != "text":
            losses.add("left out", f"`{kind}` parts")
    return found


def gemini_usage(value: Json) -> Usage | None:
    usage = obj(value)
    prompt = count(_value(usage, "promptTokenCount"))
    completion = count(_value(usage, "candidatesTokenCount")) + count(_value(usage, "thoughtsTokenCount"))
    read = count(_value(usage, "cachedContentTokenCount"))
    return Usage(prompt, completion, cache_read=read) if prompt else None


def to_gemini(messages: Sequence[Message], tools: Sequence[ToolDefinition] = ()) -> WireRequest:
    losses = Losses()
    spoken = False
    for message in messages:
        _count_losses(message, losses)
        if isinstance(message, SystemMessage):
            losses.add("moved to the system field", "system messages after the first turn", int(spoken))
        else:
            spoken = True
    system = [{"text": m.text} for m in messages if isinstance(m, SystemMessage) and m.text.strip()]
    return WireRequest(
        format="gemini",
        messages=join_gemini(map(gemini_contents, messages)),
        system=system or None,
        tools=gemini_tools(tools),
        losses=losses.sentences(),
    )


def gemini_tools(tools: Sequence[ToolDefinition]) -> list[WireDict]:
    """One tool with all functions. Raises InputError for a name that Gemini refuses."""
    for tool in tools:
        if not _NAME.fullmatch(tool.name):
            raise InputError(
                f"Gemini takes no function with the name `{tool.name}`",
                hint="a name begins with a letter or `_`, and has letters, digits and `_.:-`, 128 at most",
            )
    functions = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
        for tool in tools
    ]
    return [{"functionDeclarations": functions}] if functions else []


def join_gemini(wired: Iterable[list[WireDict]]) -> list[WireDict]:
    """All contents in order. The results of one reply are one content, because the API counts them against its
    calls, and so are replies that follow each other: it takes calls only after the user's contents."""
    joined: list[WireDict] = []
    for content in (content for contents in wired for content in contents):
        last = joined[-1] if joined else {}
        is_reply = content["role"] == last.get("role") == "model"
        if is_reply or (last and _has_results(content) and _has_results(last)):
            joined[-1] = {**joined[-1], "parts": [*joined[-1]["parts"], *content["parts"]]}
        else:
            joined.append(content)
    return joined


def _has_results(content: WireDict) -> bool:
    return content["role"] == "user" and any("functionResponse" in part for part in content["parts"])


def gemini_contents(message: Message) -> list[WireDict]:
    """One message as a content; none for a system message, or if nothing of it can be sent."""
    if isinstance(message, SystemMessage):
        return []
    if isinstance(message, AssistantMessage):
        role, parts = "model", _model_parts(message)
    elif isinstance(message, ToolMessage):
        role, parts = "user", _result_parts(message)
    else:
        role, parts = "user", [part for one in message.parts for part in _user_part(one)]
    return [{"role": role, "parts": parts}] if parts else []


def _model_parts(message: AssistantMessage) -> list[WireDict]:
    """The parts in order; thoughts that led to nothing are left out."""
    parts: list[WireDict] = []
    signed: WireDict = {}
    is_spoken = False
    for part in message.parts:
        if isinstance(part, Thinking):
            opaque = _opaque(part)
            if len(opaque) > 1:
                parts.append({"text": part.text, **opaque})
            signed = opaque if len(opaque) == 1 else signed
            continue
        if isinstance(part, ToolCall):
            call: WireDict = {
                "name": _legal(part.name),
                "args": {"raw": part.raw} if part.raw else part.arguments,
            }
            parts.append({"functionCall": _with_id(call, part.id), **signed})
        elif part.text:
            parts.append({"text": part.text, **signed})
        is_spoken = is_spoken or isinstance(part, ToolCall) or bool(part.text)
        signed = {}
    return parts if is_spoken else []


def _opaque(thinking: Thinking) -> WireDict:
    """A signature, and what else there is to its part; nothing for thinking of another provider."""
    try:
        return obj(msgspec.json.decode(thinking.redacted)) if is_gemini_thinking(thinking) else {}
    except msgspec.DecodeError:
        return {}


def _result_parts(message: ToolMessage) -> list[WireDict]:
    key = "error" if message.error else "output"
    response: WireDict = {
        "name": _legal(message.name or "unknown"),
        "response": {key: joined_text(message.parts)},
    }
    pictures = [part for one in message.parts if isinstance(one, Image) for part in _user_part(one)]
    return [{"functionResponse": _with_id(response, message.call_id)}, *pictures]


def _legal(name: str) -> str:
    """The name of a function that was called elsewhere, as Gemini takes it."""
    return name if _NAME.fullmatch(name) else f"_{re.sub(r'[^a-zA-Z0-9_.:-]', '_', name)}"[:128]


def _with_id(value: WireDict, call_id: str) -> WireDict:
    return value if not call_id or call_id.startswith(MADE_ID) else {"id": call_id, **value}


def _user_part(part: UserPart) -> list[WireDict]:
    if isinstance(part, Text):
        return [{"text": part.text}] if part.text.strip() else []
    media = part.media_type or "image/png"
    if part.url:
        return [{"fileData": {"fileUri": part.url, "mimeType": media}}]
    return [{"inlineData": {"mimeType": media, "data": part.data}}]


def _count_losses(message: Message, losses: Losses) -> None:
    if isinstance(message, AssistantMessage):
        thoughts = [part for part in message.parts if isinstance(part, Thinking)]
        losses.add("left out", "thinking blocks", sum(not is_gemini_thinking(one) for one in thoughts))
        raw = sum(bool(call.raw) for call in message.calls)
        losses.add("wrapped as `raw`", "arguments that are no JSON object", raw)
    elif isinstance(message, ToolMessage):
        pictures = sum(isinstance(part, Image) for part in message.parts)
        losses.add("moved beside the result", "pictures in tool results", pictures)
    if not isinstance(message, SystemMessage) and not gemini_contents(message):
        losses.add("left out", "messages with nothing to send")
    if isinstance(message, UserMessage):
        blank = sum(isinstance(part, Text) and not part.text.strip() for part in message.parts)
        losses.add("left out", "blank texts", blank)
