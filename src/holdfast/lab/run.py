"""A run: one policy over one recording at one budget, asked, judged and billed.

Rule: the policy gets copies of what had happened by then, one more request at a time. Whatever it does or fails
to do is written down, and the run goes on. Memory is what the system reports; where it cannot tell, the figure
is 0. The cached part of a request is never longer than its longest common prefix, by token, with the request just
before it. A request is the token streams of its messages' texts, one after the other.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.evidence.credit import HeldNeeds, NeedScorer, NeedTally, score_needs
from holdfast.lab.evidence.indexed_message import PackIndex
from holdfast.lab.evidence.needs import FileCopies, StudiedRequest, Study
from holdfast.lab.packs import DumpFile, PackWriter, PolicyAnswer, PolicyRunner
from holdfast.lab.policy import ModelCall, NamedPolicy, Task
from holdfast.lab.results import PicturedRequest, Score, Share
from holdfast.lab.scored_message import MessageCounter, ScoredMessage
from holdfast.packing.counting.tokens import Tokenizer
from holdfast.prices import PriceTable
from holdfast.wire.content_blocks import WireDict

_RESET = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
PEAK, RESIDENT = "VmHWM:", "VmRSS:"

EMPTY, NO_USER = "empty-pack", "no-user-message"
"""Rules of ours: a pack has messages, and one of them is the user's, as in the recording."""


CHARACTERS_PER_TOKEN = 4
"""For tokenizers that cannot say which tokens a text has."""

REMEMBERED = 16
"""Encoded texts kept: what a request opens with is compared once as the new and once as the old one."""


class BilledRequest(Struct, frozen=True):
    """A request measured against the one before. `common` is what they share, whether or not a cache still had it.

    `moved_tokens` and `moved_bytes` are what came after the common prefix in the request before: what was
    dropped or changed. Bytes are UTF-8, counted from the first character that differs.
    """

    tokens: int
    common: int
    moved_tokens: int
    moved_bytes: int
    cached: dict[str, int] = {}
    """By price table, once it is billed."""


class Bill:
    """The bill of one recording under one policy, in every price table at once.

    Units are the price of one uncached input token. `uncached` counts tokens of requests; the calls a policy
    makes on its own are in `dollars` only.
    """

    def __init__(self, counter: MessageCounter, tokenizer: Tokenizer, tables: Sequence[PriceTable]) -> None:
        self._tables = tables
        self._trail = PrefixTracker(counter, tokenizer)
        self._at: float | None = None
        self.dollars = {table.name: 0.0 for table in tables}
        self.uncached = {table.name: 0 for table in tables}
        self.ref_dollars = {table.name: 0.0 for table in tables}
        """What following references would cost on top of `dollars`."""

    def charge(
        self, request: Sequence[ScoredMessage], at: float | None, calls: Sequence[ModelCall] = ()
    ) -> BilledRequest:
        """Bill a request sent at a time, None where there is no clock, and the model calls that made it.

        Cached is the common prefix if it has the table's minimum and the cache still lives; without a clock it
        does. A request of the minimum or more costs `read` a cached token and `write` any other; a shorter one,
        which no provider caches, costs 1 a token. Model calls cost 1 a token of prompt and `output` a token of
        completion.
        """
        idle = None if at is None or self._at is None else at - self._at
        self._at = at
        step = self._trail.follow(request)
        cached = {table.name: cached_tokens(table, step.common, idle) for table in self._tables}
        for table in self._tables:
            hit = cached[table.name]
            made = sum(call.prompt + table.output * call.completion for call in calls)
            self.dollars[table.name] += request_price(table, step.tokens, hit) + made
            self.uncached[table.name] += step.tokens - hit
        return replace(step, cached=cached)

    def ref_charge(self, fetched_tokens: int, request_tokens: int) -> None:
        """Bill one more call, which follows a reference: the same request again, with the fetched text after it.

        It comes at once, so the request is read from the cache and the fetched tokens are written to it:
        `read` × request + `write` × fetched; where the request is too short for a cache, what `charge` says of
        one without a hit. The few tokens in which the model asks for the text are left out, as are all replies.
        """
        for table in self._tables:
            hit = cached_tokens(table, request_tokens, 0.0)
            self.ref_dollars[table.name] += request_price(table, request_tokens + fetched_tokens, hit)


def cached_tokens(table: PriceTable, common: int, idle: float | None) -> int:
    """How much of a common prefix a cache gives back after some idle seconds; None is no clock."""
    is_warm = table.life_seconds > 0 and (idle is None or idle <= table.life_seconds)
    return common if is_warm and common >= table.minimum_tokens else 0


def request_price(table: PriceTable, tokens: int, cached: int) -> float:
    if table.life_seconds == 0 or tokens < table.minimum_tokens:
        return float(tokens)
    return table.read * cached + table.write * (tokens - cached)


class PrefixTracker:
    """Requests in order, each compared with the one before. Messages that are the same are not read again."""

    def __init__(self, counter: MessageCounter, tokenizer: Tokenizer) -> None:
        self._counter = counter
        encode: Callable[[str], list[int]] | None = getattr(tokenizer, "ids", None)
        self._ids = lru_cache(REMEMBERED)(encode) if encode else None
        self._before: list[ScoredMessage] = []
        self._sizes: list[int] = []

    def follow(self, request: Sequence[ScoredMessage]) -> BilledRequest:
        # Ids of calls included: where only an id differs, which is not sent, the comparison by text goes on.
        pairs = zip(self._before, request, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
        head = sum(self._sizes[:same])
        sizes = self._sizes[:same] + [self._counter.message(scored) for scored in request[same:]]
        common, kept = self._inside(self._before[same:], request[same:])
        moved = sum(_size(text) for text in _texts(self._before[same:])) - kept
        step = BilledRequest(sum(sizes), head + common, sum(self._sizes) - head - common, moved)
        self._before, self._sizes = list(request), sizes
        return step

    def _inside(self, before: Sequence[ScoredMessage], after: Sequence[ScoredMessage]) -> tuple[int, int]:
        """Tokens and bytes in common from the first message that differs."""
        old_texts, new_texts = _texts(before), _texts(after)
        common = kept = 0
        for old, new in zip(old_texts, new_texts, strict=False):
            if old == new:
                common += self._counter.text(old)
                kept += _size(old)
                continue
            shared = _shared(old, new)
            kept += _size(old[:shared])
            if self._ids is None:
                common += shared // CHARACTERS_PER_TOKEN
            else:
                # By token. A stream has no seams: where one text ends early, its successor goes on against the rest
                # of the other.
                rests = (chain((old,), old_texts), chain((new,), new_texts))
                tokens = (chain.from_iterable(map(self._ids, rest)) for rest in rests)
                same = takewhile(lambda pair: pair[0] == pair[1], zip(*tokens, strict=False))
                common += sum(1 for _ in same)
            break
        return common, kept


def _shared(one: str, other: str) -> int:
    """Length of the common prefix, by halving: slices are compared in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _texts(request: Iterable[ScoredMessage]) -> Iterator[str]:
    return (text for scored in request for text in scored.texts)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


class ScoringSetup(Struct, frozen=True):
    """What a run is measured with, the same for all policies."""

    tokenizer: Tokenizer
    counter: MessageCounter
    tables: tuple[PriceTable, ...]
    curve_budget: int
    """The smallest budget of the replay."""
    pictures: bool = False


class PolicyRun:
    """`score_budgets` has several only for a policy that none of them binds: it is run once, and its packs go to
    `dump` once for each."""

    def __init__(
        self,
        study: Study,
        policy: NamedPolicy,
        budget: int,
        score_budgets: Sequence[int],
        setup: ScoringSetup,
        dump: DumpFile | None = None,
    ) -> None:
        self._study = study
        self._policy = policy
        self._budget = budget
        self._setup = setup
        self._dump = dump
        self._writer = PackWriter()
        self._index = PackIndex(study.messages)
        self._files = FileCopies()
        self._credits = [NeedScorer(study.messages, self._files, measure) for measure in study.measures]
        self._tallies = [
            [NeedTally(measure, b, setup.curve_budget) for b in score_budgets] for measure in study.measures
        ]
        self._score_budgets = score_budgets
        self._bill = Bill(setup.counter, setup.tokenizer, setup.tables)
        self.fingerprints: list[bytes] = []
        """A fingerprint of every pack."""
        case = study.case
        self._score = Score(case.id, case.project, policy.name, budget, requests=len(study.requests))
        """What is the same for every measure and budget, as it comes in."""

    def run(self) -> list[list[Score]]:
        """Scores by measure, then by budget."""
        measured = reset_peak()
        start = memory_bytes(RESIDENT)
        prices = self._setup.tables[0] if self._setup.tables else None
        runner = PolicyRunner(self._policy, Task(self._budget, self._setup.counter.total, prices))
        messages = [turn.message for turn in self._study.case.turns if turn.message is not None]
        handed: list[WireDict] = []
        for request in self._study.requests:
            for at in range(len(handed), request.before):
                handed.append(deepcopy(messages[at]))
                self._files.note(self._study.messages[at].scored)
            # A list of its own each time, so that a policy that changes it changes nothing for the next request.
            self._judge(runner, request, runner.ask(list(handed), request.at))
        score = self._score
        score.peak_bytes = max(memory_bytes(PEAK) - start, 0) if measured else 0
        score.fingerprint = blake2b(b"".join(self.fingerprints), digest_size=12).hexdigest()
        score.uncached, score.dollars = self._bill.uncached, self._bill.dollars
        score.ref_dollars = self._bill.ref_dollars
        runner.close()
        return [[tally.scored(score) for tally in tallies] for tallies in self._tallies]

    def _judge(self, runner: PolicyRunner, request: StudiedRequest, answer: PolicyAnswer) -> None:
        score = self._score
        if answer.fault:
            _count(score.failures, [answer.fault])
        elif request.before:
            _count(score.violations, self._broken(request, answer.pack))
        charged = self._bill.charge(answer.pack, request.at, answer.sent.calls)
        over = self._policy.budgeted and charged.tokens > self._budget
        score.model_calls += len(answer.sent.calls)
        score.tokens += charged.tokens
        score.moved_bytes += charged.moved_bytes
        score.over_budget += over
        score.seconds.append(answer.seconds)
        self.fingerprints.append(blake2b(self._writer.fingerprint(answer.pack), digest_size=8).digest())
        held = self._score_needs(runner, request, None if answer.fault or over else answer.pack, charged)
        if self._setup.pictures:
            score.moments.append(self._moment(request, answer, charged, over, held))
        if self._dump is not None:
            messages = self._writer.dump(answer.pack)
            for budget in self._score_budgets:
                self._dump.write(
                    request.index,
                    budget,
                    self._policy.name,
                    messages=messages,
                    tokens=charged.tokens,
                    fault=answer.fault,
                )

    def _broken(self, request: StudiedRequest, pack: Sequence[ScoredMessage]) -> set[str]:
        """The rules that a pack breaks and the recording up to there does not: to pass on a fault is none."""
        if not pack:
            return {EMPTY}
        broken = self._violated(pack)
        if not broken:
            return set()
        recorded = [message.scored for message in self._study.messages[: request.before]]
        return broken - self._violated(recorded)

    def _violated(self, pack: Sequence[ScoredMessage]) -> set[str]:
        no_user = all(scored.role != "user" for scored in pack)
        return self._writer.violations(pack) | ({NO_USER} if no_user else set())

    def _score_needs(
        self,
        runner: PolicyRunner,
        request: StudiedRequest,
        pack: list[ScoredMessage] | None,
        charged: BilledRequest,
    ) -> HeldNeeds:
        """Judge the needs of a request under every measure; the first one's verdict is the headline."""
        first: HeldNeeds | None = None
        fetch = runner.fetch
        packed = None if pack is None else self._index.of(pack)
        for needs, credit, tallies in zip(request.needs, self._credits, self._tallies, strict=True):
            held = score_needs(needs, packed, credit, fetch if first is None else None)
            first = first or held
            for tally in tallies:
                tally.add(held)
        assert first is not None
        for kind, lines in request.probes.items():
            hard = [n for n in lines if n.is_hard(self._study.measures[0], self._score_budgets[0])]
            found = sum(self._credits[0].span(line, packed or []) for line in hard)
            if hard:
                self._score.probes[kind] = self._score.probes.get(kind, Share()).plus(found, len(hard))
        for text in first.fetched.values():
            self._bill.ref_charge(self._setup.counter.text(text), charged.tokens)
        return first

    def _moment(
        self,
        request: StudiedRequest,
        answer: PolicyAnswer,
        charged: BilledRequest,
        over: bool,
        held: HeldNeeds,
    ) -> PicturedRequest:
        hard = self._tallies[0][0].hard(held)
        by_role: Counter[str] = Counter()
        for scored in answer.pack:
            by_role[scored.role] += self._setup.counter.message(scored)
        return PicturedRequest(
            index=request.index,
            tokens=charged.tokens,
            cached=next(iter(charged.cached.values()), 0),
            layers=answer.sent.layers or dict(by_role),
            moved=charged.moved_tokens,
            hard=len(hard),
            held=sum(held.span[i] for i in hard),
            fault=answer.fault or ("over budget" if over else ""),
        )


def _count(counts: dict[str, int], found: Iterable[str]) -> None:
    for name in found:
        counts[name] = counts.get(name, 0) + 1


def reset_peak() -> bool:
    """Start measuring again; whether the system could."""
    try:
        _RESET.write_text("5")
    except OSError:
        return False
    return True


def memory_bytes(field: str) -> int:
    """What the system says of this process under `PEAK` or `RESIDENT`."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)
