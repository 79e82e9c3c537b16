"""The history of a log: every request that was made, with what was sent.

Rule: one walk, entry by entry; a request costs what is new in it. A message that many requests send is one object
in all of them. Pure: counter, prices and profile are passed in.
"""

from collections.abc import Sequence
from uuid import uuid4

from msgspec.structs import replace

from holdfast.compaction.facts.calls import KnownCalls
from holdfast.events import (
    UNREAD,
    AssistantReplied,
    BoundarySeen,
    Compacted,
    CompactionFailed,
    Entry,
    Event,
    Folded,
    LogStarted,
    Noted,
    OverflowReported,
    Rewound,
    UsageReported,
)
from holdfast.messages import AssistantMessage, Message
from holdfast.models.catalogue import ModelLookup
from holdfast.numbers import grouped
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.profile import Profile
from holdfast.viewer.client_lists import ClientListWalk
from holdfast.viewer.packs import PackWalk, WindowContents
from holdfast.viewer.request_price import price_request
from holdfast.viewer.sent import (
    Basis,
    PlacedBlock,
    RequestMark,
    SentBlock,
    SentRequest,
    SideRequest,
    place_block,
)
from holdfast.views.transcript import FrozenTranscript, Item
from holdfast.wire.foreign_json import count

GATEWAY = "gateway"
"""The source of logs that the gateway recorded."""
REQUEST = "request"
"""The kind of the gateway's remark about a request, which comes after its reply."""

SHRUNK = 0.7
"""A prompt below this share of the one before was cut by the client, whether it said so or not."""

OURS = (Folded, Compacted, CompactionFailed, OverflowReported)
"""What a preview leaves out: it makes folds of its own, and nothing was refused."""


def recorded_basis(entries: Sequence[Entry]) -> Basis:
    """Whether what was sent is our pack or the client's own list. A gateway that only watches changes nothing."""
    started = entries[0].event if entries else None
    if not isinstance(started, LogStarted) or started.origin == "import":
        return "list"
    is_folded = any(isinstance(entry.event, Folded) for entry in entries)
    return "pack" if is_folded or started.source != GATEWAY else "list"


class RequestHistory:
    """The requests on one path of a log. `add` takes entries as they come, so that a live log can be followed."""

    def __init__(
        self,
        basis: Basis,
        profile: Profile,
        counter: TokenCounter,
        lookup: ModelLookup,
        entries: Sequence[Entry] = (),
        remark: str = "",
    ) -> None:
        self.id = uuid4().hex
        """Tells a history that has grown from one that was made again."""
        self.basis = basis
        self.remark = remark
        """What a reader should know about how it was made."""
        self.profile = profile
        self.requests: list[SentRequest] = []
        self.side_requests: list[SideRequest] = []
        self.elsewhere: list[AssistantReplied | UsageReported] = []
        """Requests on branches that were left, and of side chains: the caller with the whole log adds them."""
        self.known_calls = KnownCalls()
        """What was read of its calls, for the facts of any request."""
        self.unread: list[str] = []
        """What an import repaired or left out, in sentences."""
        self._counter = counter
        self._lookup = lookup
        self._walk: PackWalk | ClientListWalk = (
            ClientListWalk(counter)
            if basis == "list"
            else PackWalk(profile, counter, plans_folds=basis == "preview")
        )
        self._contents: list[WindowContents] = []
        self._transcripts: list[FrozenTranscript] = []
        self._marks: list[RequestMark] = []
        self._reported = 0
        """Prompt tokens of the last request, as the provider counted them."""
        self._awaits_account = False
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        event = entry.event
        if self.basis == "preview":
            if isinstance(event, OURS):
                return
            if isinstance(event, LogStarted):
                # Usage that was reported for other requests says nothing about these.
                entry = replace(entry, event=replace(event, origin="import"))
        if isinstance(event, AssistantReplied):
            self._add_request(entry, event)
        elif isinstance(event, UsageReported):
            self._add_usage(event)
        elif isinstance(event, Noted) and event.kind == REQUEST:
            self._add_account(event)
        elif isinstance(event, Noted) and event.kind == UNREAD:
            self.unread.append(event.text)
        else:
            self._marks += marks_of(event)
        self._walk.add(entry)

    def window(self, number: int) -> list[PlacedBlock]:
        """The blocks of a request, numbered from 1, in the order sent."""
        request = self.requests[number - 1]
        return [place_block(request, at, block) for at, block in enumerate(self.blocks(number))]

    def blocks(self, number: int) -> Sequence[SentBlock]:
        """The same without their places."""
        return self._contents[number - 1].blocks()

    def messages(self, number: int) -> list[Message]:
        """The messages of a request, numbered from 1."""
        return [block.message for block in self.blocks(number)]

    def transcript(self, number: int) -> FrozenTranscript:
        """All that had happened when a request was made, with its tools."""
        return self._transcripts[number - 1]

    def item(self, position: int) -> Item | None:
        """The item of the transcript that a block is made from, as it is in the log."""
        items = self._walk.transcript.items
        return items[position] if 0 <= position < len(items) else None

    def _add_request(self, entry: Entry, event: AssistantReplied) -> None:
        contents = self._walk.contents()
        marks = (*self._marks, *contents.marks)
        usage = event.usage if self.basis != "preview" else None
        prompt = usage.prompt if usage else 0
        if self.basis == "list" and 0 < prompt < SHRUNK * self._reported and not marks:
            text = f"the provider counted {grouped(prompt)} tokens after {grouped(self._reported)}"
            marks = (RequestMark("shrunk", text),)
        self._reported = prompt or self._reported
        before = self.requests[-1] if self.requests else None
        idle = entry.at - before.at if before and before.at is not None and entry.at is not None else None
        completion = self._counter.message(AssistantMessage(event.parts))
        tokens = sum(contents.layers)
        known = self._lookup(event.model)
        price = price_request(
            known, tokens=tokens, common=contents.common, idle=idle, completion=completion, usage=usage
        )
        request = SentRequest(
            number=len(self.requests) + 1,
            entry=entry.id,
            at=entry.at,
            model=event.model,
            step=len(self._walk.transcript.steps) + 1,
            layers=contents.layers,
            tokens=tokens,
            cached=price.cached,
            is_reported=price.is_reported,
            usage=usage,
            dollars=price.dollars,
            round_start=contents.round_start,
            same_blocks=contents.same,
            marks=marks,
            common=contents.common,
            completion=completion,
            idle=idle,
        )
        self._contents.append(contents)
        self._transcripts.append(self._walk.transcript.view())
        # Last: another thread that sees the request may ask for its contents.
        self.requests.append(request)
        self._marks = []
        self._awaits_account = True

    def _add_usage(self, event: UsageReported) -> None:
        """Usage that came after its reply, or that of a request which is no step. A preview has neither."""
        if self.basis == "preview":
            return
        last = self.requests[-1] if self.requests else None
        if last is None or last.usage is not None or event.purpose or event.usage.prompt == 0:
            side = SideRequest(len(self.requests) + 1, event.model, event.purpose, event.usage)
            self.side_requests.append(side)
            return
        price = price_request(
            self._lookup(last.model),
            tokens=last.tokens,
            common=last.common,
            idle=last.idle,
            completion=last.completion,
            usage=event.usage,
        )
        self._reported = event.usage.prompt
        self.requests[-1] = replace(
            last, cached=price.cached, is_reported=True, usage=event.usage, dollars=price.dollars
        )

    def _add_account(self, event: Noted) -> None:
        """What the gateway did to the last request. A request without a reply is none of ours, but has one too."""
        if self.basis == "list" and self._awaits_account:
            self._awaits_account = False
            removed = count(event.data.get("removed"))
            self.requests[-1] = replace(self.requests[-1], removed=removed)


def elsewhere_in(
    entries: Sequence[Entry], on_path: Sequence[Entry]
) -> list[AssistantReplied | UsageReported]:
    """The requests in these entries of a log that are on no part of its path."""
    walked = {entry.id for entry in on_path}
    return [
        entry.event
        for entry in entries
        if entry.id not in walked and isinstance(entry.event, AssistantReplied | UsageReported)
    ]


def marks_of(event: Event) -> list[RequestMark]:
    match event:
        case Folded():
            sizes = f"{grouped(event.tokens_before)} to {grouped(event.tokens_after)} tokens"
            return [RequestMark("fold", f"{event.reason}, {sizes}" + (f": {event.why}" if event.why else ""))]
        case Compacted():
            return [RequestMark("compaction", f"{event.slot} written by {event.by}")]
        case CompactionFailed():
            return [RequestMark("error", f"no summary: {event.why}")]
        case BoundarySeen() if "compact" in event.kind:
            return [RequestMark("compaction", f"the client's own: {event.kind}")]
        case OverflowReported():
            return [RequestMark("overflow", event.message or f"refused as too long, limit {event.limit}")]
        case Noted(kind="provider"):
            return [RequestMark("error", event.text)]
        case Rewound():
            return [RequestMark("rewind", event.reason or "what came after was left")]
        case _:
            return []
