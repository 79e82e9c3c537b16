"""A message as the scorer sees it: role, text and calls, and how many tokens it has.

Rule: whatever a policy returns is either read in full or refused with a sentence; nothing is guessed.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from json import loads

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.packing.counting.tokens import Tokenizer, compact_json

ROLES = ("system", "developer", "user", "assistant", "tool")


class ScoredCall(Struct, frozen=True, gc=False):
    name: str
    arguments: str
    """Compact JSON."""
    id: str = ""


class ScoredMessage(Struct, frozen=True, gc=False):
    """One message. `answers` is the id of the call that a tool message answers."""

    role: str
    text: str
    calls: tuple[ScoredCall, ...] = ()
    answers: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that are counted, in the order in which they are sent."""
        if not self.calls:
            return (self.role, self.text)
        return (self.role, self.text, *(t for call in self.calls for t in (call.name, call.arguments)))


class MessageCounter:
    """Tokens as the scorer counts them, each distinct text counted once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._count = cache(tokenizer.count)

    def text(self, text: str) -> int:
        return self._count(text) if text else 0

    def message(self, message: ScoredMessage) -> int:
        return sum(map(self.text, message.texts))

    def total(self, messages: Sequence[Json]) -> int:
        """Of messages as a policy has them; this is what policies count with."""
        return sum(self.message(read_message(message)) for message in messages)


def read_message(message: Json) -> ScoredMessage:
    """A message in OpenAI's shape; `arguments` may be an object or JSON text, a call flat or nested."""
    if not isinstance(message, dict):
        raise InputError(f"a message is a {type(message).__name__}, not an object")
    role = message.get("role")
    if role not in ROLES:
        raise InputError(f"a message has the role `{str(role)[:40]}`")
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise InputError("`tool_calls` is not a list")
    answers = _plain(str(message.get("tool_call_id") or ""))
    return ScoredMessage(
        _plain(role), _plain(_text(message.get("content"))), tuple(map(_call, calls)), answers
    )


def _plain(text: str) -> str:
    """The same text as a plain string: a policy may use a subclass of `str`."""
    return text if type(text) is str else str.__str__(text)


def _text(content: Json) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list | tuple):
        raise InputError(f"the content of a message is a {type(content).__name__}")
    texts = [part if isinstance(part, str) else part.get("text") for part in content if part]
    return "\n".join(text for text in texts if isinstance(text, str))


def _call(call: Json) -> ScoredCall:
    if not isinstance(call, dict):
        raise InputError(f"a call is a {type(call).__name__}, not an object")
    body = call.get("function") or call
    name = body.get("name") if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise InputError("a call has no name")
    arguments = body.get("arguments")
    if isinstance(arguments, str):
        # As its value, so that two spellings of JSON count the same; anything else stays text.
        with suppress(ValueError, RecursionError):
            arguments = loads(arguments)
    written = arguments if isinstance(arguments, str) else compact_json(arguments or {})
    return ScoredCall(_plain(name), _plain(written), _plain(str(call.get("id") or "")))
