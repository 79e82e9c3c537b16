"""What the gateway's changes saved and cost, by what the logs of its conversations say.

Rule: every token that was removed counts once; dollars are those of the provider's own usage. What requests would
have cost unchanged is an estimate, made so that it is rather too low: what our changes cost counts against us. A
request without usage or price is counted as such, never as free. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.events import AssistantReplied, Entry, LogStarted, Noted
from holdfast.gateway.conversations import GATEWAY, MODE, REQUEST
from holdfast.gateway.rewriting import cache_life
from holdfast.messages import Json, Usage, add_usage
from holdfast.models.catalogue import ModelEntry, ModelLookup, request_cost
from holdfast.wire.foreign_json import count, obj, text

FEWEST_SESSIONS = 10
"""Sessions that an arm needs to be compared with the other."""


class RequestAccount(Struct, frozen=True, kw_only=True):
    """What a log says of one request. `removed` are the tokens that it had less than the client's, of which
    `removed_now` were removed for the first time. `usage` is None where the provider reported none."""

    at: float = 0.0
    model: str = ""
    status: int = 200
    usage: Usage | None = None
    removed: int = 0
    removed_now: int = 0
    is_folded: bool = False
    retry: str = ""
    fault: str = ""
    retrievals: int = 0
    extra_turn: bool = False

    @property
    def breaks_cache(self) -> bool:
        """Whether we changed what the provider had in its cache: by a fold, or by a second try."""
        return self.is_folded or bool(self.retry)


class TrafficSums(Struct, frozen=True, kw_only=True):
    """Requests added up. `removed` counts each token once, `not_sent` at every request that went without it.
    `usage` and `dollars` are the provider's, `usage_before` and `dollars_before` the estimates for the same
    requests unchanged; dollars leave out requests that are `unpriced` or `unreported`. `failed` are those that the
    provider refused or did not answer."""

    requests: int = 0
    failed: int = 0
    removed: int = 0
    not_sent: int = 0
    usage: Usage = Usage(0)
    usage_before: Usage = Usage(0)
    dollars: float = 0.0
    dollars_before: float = 0.0
    unpriced: int = 0
    unreported: int = 0
    folds: int = 0
    retrievals: int = 0
    extra_turns: int = 0
    retries: int = 0
    faults: int = 0

    @property
    def priced(self) -> int:
        """Requests whose cost is known. One that the provider refused cost nothing."""
        return self.requests - self.unpriced - self.unreported

    @property
    def has_known_cost(self) -> bool:
        """Whether the cost of any answer is known, or all requests failed, which cost nothing."""
        return self.priced > self.failed or 0 < self.failed == self.requests

    def plus(self, other: "TrafficSums") -> "TrafficSums":
        own, more = asdict(self), asdict(other)
        for name in ("usage", "usage_before"):
            own[name] = add_usage(own[name], more.pop(name))
        return TrafficSums(**{**own, **{name: own[name] + more[name] for name in more}})


class SessionAccount(Struct, frozen=True, kw_only=True, dict=True):
    """One conversation. `mode` is the one that it was meant to be in; `switched_off` says why it is no more.
    `is_drawn`: whether chance decided between the mode and the control arm."""

    log: str
    client: str = ""
    models: tuple[str, ...] = ()
    mode: str = "watch"
    is_control: bool = False
    is_drawn: bool = False
    switched_off: str = ""
    requests: tuple[tuple[RequestAccount, TrafficSums], ...] = ()
    """Each request, and what it adds to the sums."""

    @cached_property
    def sums(self) -> TrafficSums:
        return add_up(sums for _, sums in self.requests)


class Arm(Struct, frozen=True):
    """The sessions that were changed, or those that were left as they were to compare with."""

    sessions: int
    sums: TrafficSums

    @property
    def requests_per_session(self) -> float:
        return self.sums.requests / self.sessions if self.sessions else 0.0

    @property
    def dollars_per_session(self) -> float:
        return self.sums.dollars / self.sessions if self.sessions else 0.0

    @property
    def dollars_per_request(self) -> float:
        return self.sums.dollars / self.sums.priced if self.sums.priced else 0.0

    @property
    def cache_read_share(self) -> float:
        return self.sums.usage.cache_read / self.sums.usage.prompt if self.sums.usage.prompt else 0.0


class ComparedArms(Struct, frozen=True):
    control: Arm
    changed: Arm

    @property
    def are_enough(self) -> bool:
        return min(self.control.sessions, self.changed.sessions) >= FEWEST_SESSIONS


def measure_session(entries: Sequence[Entry], lookup: ModelLookup) -> SessionAccount | None:
    """The account of a conversation; None for a log that is not the gateway's."""
    started = entries[0].event if entries else None
    if not isinstance(started, LogStarted) or GATEWAY not in started.meta:
        return None
    about = obj(started.meta[GATEWAY])
    mode, switched_off = text(about.get("mode")) or "watch", ""
    for event in (entry.event for entry in entries):
        if isinstance(event, Noted) and event.kind == MODE:
            is_off = event.text == "watch" and event.data.get("settled") is True
            mode, switched_off = (mode, text(event.data.get("why"))) if is_off else (event.text, "")
    requests = list(read_requests(entries))
    named = [request.model for request in requests] + [text(about.get("model"))]
    is_control = about.get("control") is True
    return SessionAccount(
        log=entries[0].log,
        client=text(about.get("client")),
        models=tuple(dict.fromkeys(filter(None, named[:-1]))) or tuple(filter(None, named)),
        mode=mode,
        is_control=is_control,
        # One that was under way already is never in the control arm, and so in no arm.
        is_drawn=is_control or (about.get("mode") in ("safe", "fold") and about.get("continued") is not True),
        switched_off=switched_off,
        requests=tuple(measure_requests(requests, lookup)),
    )


def compare_arms(sessions: Sequence[SessionAccount]) -> ComparedArms | None:
    """The two arms; None if there is no control arm. A session that was switched off stays in the arm it was drawn
    for, else the arms would differ in what happened to them."""
    control = [one for one in sessions if one.is_control]
    changed = [one for one in sessions if one.is_drawn and not one.is_control]
    return ComparedArms(_arm(control), _arm(changed)) if control else None


def _arm(sessions: Sequence[SessionAccount]) -> Arm:
    return Arm(len(sessions), add_up(session.sums for session in sessions))


def add_up(parts: Iterable[TrafficSums]) -> TrafficSums:
    total = TrafficSums()
    for part in parts:
        total = total.plus(part)
    return total


def read_requests(entries: Sequence[Entry]) -> Iterator[RequestAccount]:
    """The requests in a log, those that a rewind left included: they were paid for. A reply with usage but without
    a remark of its own is a request of which nothing else is known."""
    reply: AssistantReplied | None = None
    for entry in entries:
        event = entry.event
        if isinstance(event, AssistantReplied) and event.usage is not None:
            if reply is not None:
                yield RequestAccount(at=entry.at or 0.0, model=reply.model, usage=reply.usage)
            reply = event
        elif isinstance(event, Noted) and event.kind == REQUEST:
            yield _request(event.data, reply, entry.at or 0.0)
            reply = None
    if reply is not None:
        yield RequestAccount(at=entries[-1].at or 0.0, model=reply.model, usage=reply.usage)


def _request(data: dict[str, Json], reply: AssistantReplied | None, at: float) -> RequestAccount:
    return RequestAccount(
        at=at,
        model=text(data.get("model")) or (reply.model if reply else ""),
        status=count(data.get("status")),
        usage=reply.usage if reply else None,
        removed=count(data.get("removed")),
        removed_now=min(count(data.get("removed_now")), count(data.get("removed"))),
        is_folded=data.get("is_folded") is True,
        retry=text(data.get("retry")),
        fault=text(data.get("fault")),
        retrievals=count(data.get("retrievals")),
        extra_turn=data.get("extra_turn") is True,
    )


def measure_requests(
    requests: Iterable[RequestAccount], lookup: ModelLookup
) -> Iterator[tuple[RequestAccount, TrafficSums]]:
    """The requests of one conversation, in their order, each with what it adds to the sums."""
    cache = _CacheSoFar()
    for request in requests:
        known = lookup(request.model)
        cost = TrafficSums()
        if request.usage is None:
            # What the provider refused cost nothing; what passed without usage cost nobody knows what.
            cost = TrafficSums(unreported=int(request.status == 200))
        else:
            unchanged = cache.unchanged(request, request.usage, known)
            paid = request_cost(known, request.usage) if known else None
            estimate = request_cost(known, unchanged) if known else None
            cost = TrafficSums(
                usage=request.usage,
                usage_before=unchanged,
                unpriced=int(paid is None),
                dollars=paid or 0.0,
                dollars_before=estimate or 0.0,
            )
        yield (
            request,
            replace(
                cost,
                requests=1,
                failed=int(request.status != 200),
                removed=request.removed_now,
                not_sent=request.removed,
                folds=int(request.is_folded),
                retrievals=request.retrievals,
                extra_turns=int(request.extra_turn),
                retries=int(bool(request.retry)),
                faults=int(bool(request.fault)),
            ),
        )


class _CacheSoFar:
    """What the provider's cache would hold, had nothing been changed; by the requests so far."""

    def __init__(self) -> None:
        self._last: RequestAccount | None = None
        self._prompt = 0
        self._share = 0.0

    def unchanged(self, request: RequestAccount, usage: Usage, known: ModelEntry | None) -> Usage:
        """What the provider would have reported for the request unchanged. An estimate: what was removed now would
        have been written, what was removed before would have been read as the rest of what was sent before. Where
        we broke the cache ourselves, all that was sent before would have been read as it was last."""
        whole = usage.prompt + request.removed
        plain = max(0, usage.prompt - usage.cache_read - usage.cache_write)
        if request.breaks_cache and self._last is not None:
            life = cache_life(known)
            share = self._share if request.at - self._last.at <= life else 0.0
            read = int(min(self._prompt + self._last.removed, whole) * share)
        else:
            sent_before = min(self._prompt, usage.prompt) or usage.prompt
            self._share = min(1.0, usage.cache_read / sent_before) if sent_before else 0.0
            read = usage.cache_read + int((request.removed - request.removed_now) * self._share)
        self._last, self._prompt = request, usage.prompt
        # Without any cache in use, more would have been plain input too.
        is_cached = usage.cache_read > 0 or usage.cache_write > 0
        write = max(0, whole - read - plain) if is_cached else 0
        if request.extra_turn:
            # It would not have been made: what is new in it would have been written by the next one.
            return Usage(whole - read, 0, 0, write)
        return Usage(whole, usage.completion, read, write)
