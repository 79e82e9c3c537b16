"""Packs between policy and scorer: read in, checked, and written out again.

Rule: what is scored, billed, checked and dumped is one and the same reading of what the policy returned.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b

import msgspec

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.packing.validator import check
from holdfast.replay.policies.policy import Message, ModelCall, Sent
from holdfast.replay.request import Said, read_message

OURS = "openai.strict-"
"""How rules of the validator begin that go beyond what the provider demands."""


class Inbox:
    """Reads what a policy returns. A message that is the same again is the same object again."""

    def __init__(self) -> None:
        self._known: dict[Said, Said] = {}
        self._plain: dict[int, tuple[Message, Json, Said]] = {}
        """Messages without calls, by identity: most of a pack is what the pack before had."""

    def read(self, answer: Json) -> tuple[list[Said], Sent]:
        """The messages of an answer. InputError says what is wrong with it."""
        sent = answer if isinstance(answer, Sent) else Sent(answer)
        messages = sent.messages
        if isinstance(messages, str | bytes | dict) or not isinstance(messages, Iterable):
            raise InputError(f"the policy returned a {type(messages).__name__}, not a list of messages")
        _check_extras(sent)
        before, self._plain = self._plain, {}
        return [self._message(message, before) for message in messages], sent

    def _message(self, message: Json, before: dict[int, tuple[Message, Json, Said]]) -> Said:
        if not isinstance(message, dict) or message.get("tool_calls"):
            # Arguments may have been changed in place, which only reading them again can tell.
            return self._same(_read(message))
        content = message.get("content")
        known = before.get(id(message))
        same = known is not None and known[0] is message and known[1] is content and isinstance(content, str)
        if known is not None and same and _is_still(known[2], message):
            said = known[2]
        else:
            said = self._same(_read(message))
        self._plain[id(message)] = (message, content, said)
        return said

    def _same(self, said: Said) -> Said:
        known = self._known.get(said)
        if known is None:
            known = self._known[said] = _sendable(said)
        return known


def _check_extras(sent: Sent) -> None:
    """What a policy says beside its messages must be what it claims to be: it is billed and drawn."""
    calls, layers = sent.calls, sent.layers
    if not isinstance(calls, list | tuple) or not all(isinstance(call, ModelCall) for call in calls):
        raise InputError("`calls` of the answer are not `ModelCall`s")
    if not all(_is_amount(n) for call in calls for n in (call.prompt, call.completion)):
        raise InputError("a model call takes a number of tokens that is none")
    if not isinstance(layers, dict) or not all(
        isinstance(k, str) and _is_amount(n) for k, n in layers.items()
    ):
        raise InputError("`layers` of the answer are not numbers of tokens by name")


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_still(said: Said, message: Message) -> bool:
    """Is a message of the same text still what it was read as? It may have been changed in place."""
    answers = message.get("tool_call_id") or ""
    return (said.role, said.answers) == (message.get("role"), answers)


def _read(message: Json) -> Said:
    try:
        return read_message(message)
    except InputError:
        raise
    except Exception as error:
        # A policy may return anything: parts that are no objects, arguments that JSON cannot hold.
        raise InputError(f"a message cannot be read: {error}") from error


def _sendable(said: Said) -> Said:
    try:
        msgspec.msgpack.encode(said)
    except UnicodeEncodeError as error:
        raise InputError(f"a message holds text that is no Unicode: {error.reason}") from error
    return said


class Outbox:
    """Writes messages of packs: for the validator, for a dump, and as fingerprints. Each distinct one once."""

    def __init__(self) -> None:
        self._openai, self._dumped, self._digest = cache(_openai), cache(_dumped), cache(_digest)

    def violations(self, pack: Sequence[Said]) -> set[str]:
        """The rules of structure that a provider would hold against a pack; not those that only we hold to."""
        found = check([self._openai(said) for said in pack], "openai")
        return {broken.rule for broken in found if not broken.rule.startswith(OURS)}

    def dump(self, pack: Sequence[Said]) -> bytes:
        """The messages as a JSON list."""
        return b"[" + b",".join(self._dumped(said) for said in pack) + b"]"

    def fingerprint(self, pack: Sequence[Said]) -> bytes:
        return b"".join(self._digest(said) for said in pack)


def _digest(said: Said) -> bytes:
    """Of the fields of a struct, so that no two messages share one text."""
    return blake2b(msgspec.msgpack.encode(said), digest_size=8).digest()


def _openai(said: Said) -> Message:
    message: Message = {"role": said.role, "content": said.text or (None if said.calls else "")}
    if said.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in said.calls
        ]
    if said.role == "tool":
        message["tool_call_id"] = said.answers
    return message


def _dumped(said: Said) -> bytes:
    """OpenAI's shape with `arguments` as an object; name and arguments also stand flat in a call, as in neutral
    recordings, so that readers of either shape find them."""
    message: Message = {"role": said.role, "content": said.text}
    if said.calls:
        message["tool_calls"] = [
            {
                "id": c.id,
                "type": "function",
                "name": c.name,
                "arguments": (arguments := _arguments(c.arguments)),
                "function": {"name": c.name, "arguments": arguments},
            }
            for c in said.calls
        ]
    if said.role == "tool":
        message["tool_call_id"] = said.answers
    return msgspec.json.encode(message)


def _arguments(text: str) -> Json:
    """JSON as it is; what is none goes out as text, since a line of a dump is JSON whatever a model wrote."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return msgspec.Raw(text.encode())
