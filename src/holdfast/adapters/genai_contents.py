"""Contents of the google-genai SDK, which Google's Agent Development Kit has for all providers.

Rule: what has no place in our messages, such as a document, is sent with its content as long as that is sent as it
was; a fold leaves its name.
"""

from collections.abc import Iterator, Sequence

import msgspec
from google.genai import types

from holdfast.errors import InputError
from holdfast.events import Event
from holdfast.messages import Message
from holdfast.wire.content_blocks import SIGNATURE, WireDict
from holdfast.wire.foreign_json import Losses, obj
from holdfast.wire.gemini import gemini_contents
from holdfast.wire.message_lists import grouped_events


class ContentTranslation:
    """Contents as events, and our messages as contents."""

    def read(
        self, messages: Sequence[types.Content]
    ) -> Iterator[tuple[Sequence[types.Content], list[Event]]]:
        plain = [_plain(content, at) for at, content in enumerate(messages)]
        for content, (_, events) in zip(messages, grouped_events(plain, "gemini", Losses()), strict=True):
            yield [content], events

    def write(self, message: Message) -> list[types.Content]:
        # As JSON, in which bytes are base64.
        return [
            types.Content.model_validate_json(msgspec.json.encode(wired))
            for wired in gemini_contents(message)
        ]


def join_contents(contents: Sequence[types.Content]) -> list[types.Content]:
    """The contents with the results of one reply as one, and so replies that follow each other, as Gemini wants."""
    joined: list[types.Content] = []
    for content in contents:
        last = joined[-1] if joined else None
        is_reply = last is not None and last.role == content.role == "model"
        if last is not None and (is_reply or (has_results(last) and has_results(content))):
            parts = [*(last.parts or ()), *(content.parts or ())]
            joined[-1] = types.Content(role=content.role, parts=parts)
        else:
            joined.append(content)
    return joined


def has_results(content: types.Content) -> bool:
    return any(part.function_response for part in content.parts or ())


def _plain(content: object, at: int) -> WireDict:
    if not isinstance(content, types.Content):
        raise InputError(
            f"message {at} is a `{type(content).__name__}`, not a `Content` of google-genai",
            hint='such as types.Content(role="user", parts=[types.Part(text="…")])',
        )
    plain: WireDict = content.model_dump(mode="json", by_alias=True, exclude_none=True, fallback=str)
    is_reply = content.role == "model"
    plain["parts"] = [_plain_part(part, is_reply=is_reply) for part in plain.get("parts") or ()]
    return plain


def _plain_part(part: WireDict, *, is_reply: bool) -> WireDict:
    """A part, or a text in its place where our messages have no place for it."""
    about: WireDict = {key: value for key, value in part.items() if key in ("thought", SIGNATURE)}
    kinds = [key for key in part if key not in about]
    if not kinds or part.keys() & {"text", "functionCall", "functionResponse"}:
        return part
    value = obj(part[kinds[0]])
    media = value.get("mimeType", "")
    if media.startswith("image/") and not is_reply:
        return part
    match part:
        case {"executableCode": {"code": str(said)}} | {"codeExecutionResult": {"output": str(said)}}:
            pass
        case _:
            named = value.get("displayName") or value.get("fileUri")
            said = f"[{': '.join(filter(None, [media or kinds[0], named]))}]"
    return {**about, "text": said}
