"""Packs between policy and scorer: read in, checked, and written out again.

Rule: what is scored, billed, checked and dumped is one and the same reading of what the policy returned.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.packing.validator import check
from holdfast.replay.policies.policy import Message, Sent
from holdfast.replay.request import Said, read_message

_encode = msgspec.json.encode


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


def _is_still(said: Said, message: Message) -> bool:
    """Is a message of the same text still what it was read as? It may have been changed in place."""
    answers = message.get("tool_call_id") or ""
    return (said.role, said.answers) == (message.get("role"), answers)


def _read(message: Json) -> Said:
    try:
        return read_message(message)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
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
        self._checked: dict[Said, Message] = {}
        self._dumped: dict[Said, bytes] = {}
        self._digests: dict[Said, bytes] = {}

    def violations(self, pack: Sequence[Said]) -> set[str]:
        """The rules of structure that a provider would hold against a pack."""
        return {broken.rule for broken in check([self._for_check(said) for said in pack], "openai")}

    def dump(self, pack: Sequence[Said]) -> bytes:
        """The messages as a JSON list."""
        return b"[" + b",".join(map(self._for_dump, pack)) + b"]"

    def fingerprint(self, pack: Sequence[Said]) -> bytes:
        return b"".join(map(self._digest, pack))

    def _for_check(self, said: Said) -> Message:
        message = self._checked.get(said)
        if message is None:
            message = self._checked[said] = _openai(said)
        return message

    def _for_dump(self, said: Said) -> bytes:
        raw = self._dumped.get(said)
        if raw is None:
            raw = self._dumped[said] = _encode(_dumped(said))
        return raw

    def _digest(self, said: Said) -> bytes:
        digest = self._digests.get(said)
        if digest is None:
            # As the fields of a struct, so that no two messages share one text.
            digest = self._digests[said] = blake2b(msgspec.msgpack.encode(said), digest_size=8).digest()
        return digest


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


def _dumped(said: Said) -> Message:
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
    return message


def _arguments(text: str) -> Json:
    """JSON as it is; what is none goes out as text, since a line of a dump is JSON whatever a model wrote."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return msgspec.Raw(text.encode())
