"""Packs between policy and scorer: asked for, read in, checked, and written out again.

Rule: what is scored, billed, checked and dumped is one and the same reading of what the policy returned.
Nothing that a policy does ends a replay.
"""

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError, InputError
from holdfast.lab.evidence.credit import Fetch
from holdfast.lab.policy import ModelCall, NamedPolicy, Policy, PolicyReply, Task
from holdfast.lab.scored_message import ScoredMessage, read_message
from holdfast.messages import Json
from holdfast.packing.validator import check
from holdfast.wire.content_blocks import WireDict

OURS = "openai.strict-"
"""How rules of the validator begin that go beyond what the provider demands."""


class PackReader:
    """Reads what a policy returns. A message that is the same again is the same object again."""

    def __init__(self) -> None:
        self._known: dict[ScoredMessage, ScoredMessage] = {}
        self._plain: dict[int, tuple[WireDict, Json, ScoredMessage]] = {}
        """Messages without calls, by identity: most of a pack is what the pack before had."""

    def read(self, answer: Json) -> tuple[list[ScoredMessage], PolicyReply]:
        """The messages of an answer. InputError says what is wrong with it."""
        sent = answer if isinstance(answer, PolicyReply) else PolicyReply(answer)
        messages = sent.messages
        if isinstance(messages, str | bytes | dict) or not isinstance(messages, Iterable):
            raise InputError(f"the policy returned a {type(messages).__name__}, not a list of messages")
        _check_extras(sent)
        before, self._plain = self._plain, {}
        return [self._message(message, before) for message in messages], sent

    def _message(
        self, message: Json, before: dict[int, tuple[WireDict, Json, ScoredMessage]]
    ) -> ScoredMessage:
        if not isinstance(message, dict) or message.get("tool_calls"):
            # Arguments may have been changed in place, which only reading them again can tell.
            return self._read(message)
        content = message.get("content")
        known, before_content, scored = before.get(id(message), (None, None, None))
        same = known is message and before_content is content and isinstance(content, str)
        # A message of the same text may have been changed in place.
        now = (message.get("role"), message.get("tool_call_id") or "")
        if scored is None or not same or (scored.role, scored.answers) != now:
            scored = self._read(message)
        self._plain[id(message)] = (message, content, scored)
        return scored

    def _read(self, message: Json) -> ScoredMessage:
        try:
            scored = read_message(message)
            if scored not in self._known:
                msgspec.msgpack.encode(scored)
        except InputError:
            raise
        except UnicodeEncodeError as error:
            raise InputError(f"a message holds text that is not Unicode: {error.reason}") from error
        except Exception as error:
            # A policy may return anything: parts that are no objects, arguments that JSON cannot hold.
            raise InputError(f"a message cannot be read: {error}") from error
        return self._known.setdefault(scored, scored)


def _check_extras(sent: PolicyReply) -> None:
    """What a policy says beside its messages must have the right types: it is billed and drawn."""
    calls, layers = sent.calls, sent.layers
    if not isinstance(calls, list | tuple) or not all(isinstance(call, ModelCall) for call in calls):
        raise InputError("`calls` of the answer are not `ModelCall`s")
    if not all(_is_amount(n) for call in calls for n in (call.prompt, call.completion)):
        raise InputError("a model call has a number of tokens that is not one")
    if not isinstance(layers, dict) or not all(
        isinstance(k, str) and _is_amount(n) for k, n in layers.items()
    ):
        raise InputError("`layers` of the answer are not numbers of tokens by name")


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


class PackWriter:
    """Writes messages of packs: for the validator, for a dump, and as fingerprints. Each distinct one once."""

    def __init__(self) -> None:
        self._openai, self._dumped, self._digest = cache(_openai), cache(_dumped), cache(_digest)

    def violations(self, pack: Sequence[ScoredMessage]) -> set[str]:
        """The rules of structure that a provider would hold against a pack; not those that only we hold to."""
        found = check([self._openai(scored) for scored in pack], "openai")
        return {broken.rule for broken in found if not broken.rule.startswith(OURS)}

    def dump(self, pack: Sequence[ScoredMessage]) -> bytes:
        return b"[" + b",".join(self._dumped(scored) for scored in pack) + b"]"

    def fingerprint(self, pack: Sequence[ScoredMessage]) -> bytes:
        return b"".join(self._digest(scored) for scored in pack)


def _digest(scored: ScoredMessage) -> bytes:
    """Of the fields of a struct, so that no two messages share one text."""
    return blake2b(msgspec.msgpack.encode(scored), digest_size=8).digest()


def _openai(scored: ScoredMessage) -> WireDict:
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in scored.calls
    ]
    return _written(scored, scored.text or (None if scored.calls else ""), calls)


def _written(scored: ScoredMessage, content: str | None, calls: list[WireDict]) -> WireDict:
    message: WireDict = {"role": scored.role, "content": content}
    if calls:
        message["tool_calls"] = calls
    if scored.role == "tool":
        message["tool_call_id"] = scored.answers
    return message


def _dumped(scored: ScoredMessage) -> bytes:
    """OpenAI's shape with `arguments` as an object; name and arguments are also flat in a call, as in neutral
    recordings, so that readers of either shape find them."""
    calls: list[WireDict] = []
    for call in scored.calls:
        function = {"name": call.name, "arguments": _arguments(call.arguments)}
        calls.append({"id": call.id, "type": "function", **function, "function": function})
    return msgspec.json.encode(_written(scored, scored.text, calls))


def _arguments(text: str) -> Json:
    """JSON as it is; anything else becomes a string, since a line of a dump is JSON whatever a model wrote."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return msgspec.Raw(text.encode())


class DumpFile:
    """Packs as JSON lines, so that anyone can score them: one line for each reply of the recording, in order, also
    where the policy failed. The reader of the file removes it, and so does an error on the way."""

    def __init__(self, folder: str, recording: str) -> None:
        self._id = msgspec.json.encode(recording)
        self._file = tempfile.NamedTemporaryFile("wb", dir=folder, suffix=".jsonl", delete=False)  # noqa: SIM115
        self.name = self._file.name

    def write(
        self, index: int, budget: int, policy: str, *, messages: bytes, tokens: int, fault: str
    ) -> None:
        """`messages` are JSON already, and too many to encode again."""
        place = msgspec.json.encode({"index": index, "budget": budget, "policy": policy})[1:-1]
        error = b',"error":' + msgspec.json.encode(fault) if fault else b""
        self._file.write(
            b'{"recording":%b,%b,"messages":%b,"tokens":%d%b}\n' % (self._id, place, messages, tokens, error)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is not None:
            Path(self.name).unlink(missing_ok=True)


LONGEST_FAULT = 160
FAULTS = (Exception, SystemExit, GeneratorExit)
"""Whatever a policy raises counts against it; only Ctrl-C is the user's."""


class PolicyAnswer(Struct, frozen=True):
    """What a policy returned, as read; `fault` says why there is nothing to score."""

    pack: list[ScoredMessage] = []
    sent: PolicyReply = PolicyReply([])
    seconds: float = 0.0
    fault: str = ""


class PolicyRunner:
    """A policy started for one recording, or the reason why it could not be."""

    def __init__(self, named: NamedPolicy, task: Task) -> None:
        self._reader = PackReader()
        self._policy: Policy | None = None
        self._start_error = ""
        try:
            self._policy = named.start(task)
        except FAULTS as error:
            self._start_error = f"could not start: {_sentence(error)}"

    def ask(self, handed: list[WireDict], at: float | None) -> PolicyAnswer:
        """What the policy would send. Before anything has happened there is nothing to ask."""
        if not handed:
            return PolicyAnswer()
        if self._policy is None:
            return PolicyAnswer(fault=self._start_error)
        began = perf_counter()
        try:
            answer = _whole(self._policy.pack(handed, at))
        except FAULTS as error:
            return PolicyAnswer(seconds=perf_counter() - began, fault=_sentence(error))
        seconds = perf_counter() - began
        try:
            pack, sent = self._reader.read(answer)
        except InputError as error:
            return PolicyAnswer(seconds=seconds, fault=error.message)
        return PolicyAnswer(pack, sent, seconds)

    @property
    def fetch(self) -> Fetch | None:
        """How the policy's references are followed, if it has any; one that fails finds nothing."""
        own = getattr(self._policy, "fetch", None)
        if not callable(own):
            return None

        def follow(id_: str) -> str | None:
            text = None
            with suppress(*FAULTS):
                text = own(id_)
            return text if isinstance(text, str) else None

        return follow

    @property
    def feed(self) -> object:
        """The window of a policy of ours, to look at; None of any other."""
        return getattr(self._policy, "feed", None)

    def close(self) -> None:
        if callable(close := getattr(self._policy, "close", None)):
            with suppress(*FAULTS):
                close()


def _whole(answer: Json) -> Json:
    """The answer with all its messages: they may come lazily, and only then is it complete."""
    if isinstance(answer, PolicyReply):
        return replace(answer, messages=_whole(answer.messages))
    return answer if isinstance(answer, list | str | dict | None) else list(answer)


def _sentence(error: BaseException) -> str:
    text = str(error).encode("utf-8", "replace").decode().strip().split("\n", 1)[0]
    kind = "" if isinstance(error, HoldfastError) else type(error).__name__
    return ": ".join(part for part in (kind, text) if part)[:LONGEST_FAULT] or "an error without a message"
