"""The last step before a provider: a pack in the provider's format, checked by the validator.

Rule: nothing leaves the process without passing it. A pack that fails is our fault, not the user's.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from holdfast.errors import HoldfastError
from holdfast.messages import AssistantMessage, Json, Message, SystemMessage, Text, UserMessage
from holdfast.packing.layers import Cut, Pack
from holdfast.packing.validator import check
from holdfast.recall import answer_recall, call_arguments
from holdfast.store.protocol import Store
from holdfast.wire.anthropic import MessageBlocks, mark_layer_ends
from holdfast.wire.content_blocks import FormatName, WireDict
from holdfast.wire.foreign_json import merge_sentences
from holdfast.wire.formats import FORMATS

Provider = FormatName
"""The format in which messages are written."""


class PackRecord(Struct, frozen=True):
    """A pack with every cut by its id, the log and store that have the text, and what could not be read."""

    pack: Pack
    store: Store
    log: str = ""
    unread: tuple[str, ...] = ()


class Packed(Struct, frozen=True, dict=True):
    """A request's messages, ready to send, and the account of what they leave out.

    Messages, system and tools are plain dicts, typed so that the provider's SDK takes them.
    """

    provider: Provider
    messages: list[Any]
    system: Any
    """Anthropic's `system` field, Gemini's `system_instruction`; None for OpenAI, which has system messages."""
    tools: list[Any]
    tokens: int
    """Tokens of the whole request: messages, system prompt and tools."""
    make_record: Callable[[], PackRecord]
    """Called when a cut or a text is asked for: most packs are only sent."""

    @cached_property
    def record(self) -> PackRecord:
        return self.make_record()

    @property
    def pack(self) -> Pack:
        return self.record.pack

    @property
    def store(self) -> Store:
        return self.record.store

    @property
    def log(self) -> str:
        return self.record.log

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """What was left out or shortened, each with the id that brings it back."""
        return self.pack.cuts

    @property
    def losses(self) -> tuple[str, ...]:
        """What could not be read of the messages, such as a document, and what the provider's format has no place
        for, such as thinking in OpenAI chat."""
        written = FORMATS[self.provider].write_request(self.pack.messages, self.pack.tools)
        return (*self.record.unread, *written.losses)

    def recall(self, arguments: WireDict | str) -> str:
        """What to answer to a call of Recall: its arguments, as a dict or as JSON."""
        return answer_recall(self.store, call_arguments(arguments), log=self.log or None)[0]


class Sender:
    """Writes packs in one provider's format. What a pack shares with the one before is not written again."""

    def __init__(self, provider: Provider, cache_marks: int = 0) -> None:
        self.provider: Provider = provider
        self._format = FORMATS[provider]
        self._cache_marks = cache_marks
        self._written: dict[int, _Written] = {}
        self._passed: tuple[Message, ...] = ()
        """What passed the validator last."""
        opening = UserMessage((Text("before"),))
        self._opening = _Written(opening, self._format.write(opening))
        """Takes the place of what passed before, where only the rest is checked."""

    def send(self, pack: Pack, store: Store, log: str = "", unread: Sequence[str] = ()) -> Packed:
        """The pack, checked; `store` has what it leaves out, `unread` says what could not be read. Raises
        HoldfastError if the provider would refuse it."""
        said = tuple(unread)
        return self.send_recorded(pack, lambda: PackRecord(pack, store, log, merge_sentences(said)))

    def send_recorded(self, pack: Pack, make_record: Callable[[], PackRecord]) -> Packed:
        """`send`, where the record is made only if it is asked for."""
        sent, format_ = pack.messages, self._format
        known = self._written.get
        written = [known(id(message)) or _Written(message, format_.write(message)) for message in sent]
        self._written = {id(one.message): one for one in written}
        tools = [_copied(tool) for tool in format_.write_tools(pack.tools)]
        system = [
            [format_.system_block(m.text)]
            if format_.system_block and isinstance(m, SystemMessage) and m.text.strip()
            else []
            for m in sent
        ]
        copies = [one.copies() for one in written]
        if self.provider == "anthropic" and self._cache_marks:
            blocks: list[MessageBlocks] = [
                (True, said) if said else (False, [block for message in copy for block in message["content"]])
                for said, copy in zip(system, copies, strict=True)
            ]
            mark_layer_ends(pack.layer_ends, tools, blocks, most=self._cache_marks)
        messages = self._join(copies)
        beside = [block for said in system for block in said] or None
        if not all(isinstance(m, SystemMessage) for m in sent):
            self._check(sent, written, beside, tools)
        self._passed = sent
        return Packed(self.provider, messages, beside, tools, pack.tokens, make_record)

    def _join(self, copies: Iterable[list[WireDict]]) -> list[WireDict]:
        joined = self._format.join(copies)
        last = joined[-1] if joined else {}
        content = last.get("content")
        if (
            last.get("role") == "assistant"
            and isinstance(content, list)
            and content[-1].get("type") == "text"
        ):
            # The model continues a last assistant message, and Anthropic refuses one that ends in white space.
            content[-1]["text"] = content[-1]["text"].rstrip()
        return joined

    def _check(
        self,
        sent: tuple[Message, ...],
        written: "list[_Written]",
        system: list[WireDict] | None,
        tools: list[WireDict],
    ) -> None:
        """Check what is new, from the last assistant message in common with the pack that passed before: in front
        of one, every call has its result, and nearly all rules look at neighbours only.

        Two do not, and hold for another reason: the transcript makes every call id unique, and cache marks are
        set here, never too many.
        """
        pairs = enumerate(zip(self._passed, sent, strict=False))
        same = min(len(self._passed), len(sent))
        start = next((at for at, (before, now) in pairs if before is not now), same)
        while start > 0 and not (start < len(sent) and isinstance(sent[start], AssistantMessage)):
            start -= 1
        suffix = [self._opening, *written[start:]] if start else written
        broken = check(
            self._join(one.copies() for one in suffix), self.provider, system=system, tools=tools or None
        )
        if broken:
            first = broken[0]
            raise HoldfastError(
                f"the pack breaks {len(broken)} rules of {self.provider}, first `{first.rule}`: {first.message}",
                hint="this is a fault of Holdfast: please report it with the recording",
            )


class _Written:
    """A message in the provider's format, kept with the message so that Python's id of it stays in use."""

    __slots__ = ("_copy", "_wired", "message")

    def __init__(self, message: Message, wired: list[WireDict]) -> None:
        self.message = message
        self._wired = wired
        # OpenAI's two commonest shapes are copied by hand, several times as fast: this is done for every message
        # of every request.
        nested = {key for w in wired for key, value in w.items() if isinstance(value, dict | list)}
        self._copy = dict.copy if not nested else _copied_calls if nested == {"tool_calls"} else _copied

    def copies(self) -> list[WireDict]:
        if len(self._wired) == 1:
            return [self._copy(self._wired[0])]
        return [self._copy(w) for w in self._wired]


def _copied(value: Json) -> Json:
    """Plain JSON that the caller may change (to mark a cache breakpoint, say) without changing later packs.

    Strings, most of what there is, are not worth a call of their own: that is two thirds of the time.
    """
    if type(value) is dict:
        return {key: item if type(item) is str else _copied(item) for key, item in value.items()}
    if type(value) is list:
        return [item if type(item) is str else _copied(item) for item in value]
    return value


def _copied_calls(message: WireDict) -> WireDict:
    copy = message.copy()
    copy["tool_calls"] = calls = []
    for call in message["tool_calls"]:
        twin = call.copy()
        twin["function"] = call["function"].copy()
        calls.append(twin)
    return copy
