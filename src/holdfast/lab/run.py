"""A run: one policy over one recording at one budget, asked, judged and billed.

Rule: the policy gets copies of what had happened by then, one more request at a time. Whatever it does or fails
to do is written down, and the run goes on. Memory is what the system reports; where it cannot tell, the figure
is 0.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.bill import Bill, BilledRequest
from holdfast.lab.evidence.credit import HeldNeeds, NeedScorer, NeedTally, score_needs
from holdfast.lab.evidence.indexed_message import PackIndex
from holdfast.lab.evidence.needs import FileCopies, StudiedRequest, Study, later_use
from holdfast.lab.loss_reasons import FAILED, OVER, NeedCensus
from holdfast.lab.packs import DumpFile, PackWriter, PolicyAnswer, PolicyRunner
from holdfast.lab.policy import NamedPolicy, Task
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


class ScoringSetup(Struct, frozen=True):
    """What a run is measured with, the same for all policies."""

    tokenizer: Tokenizer
    counter: MessageCounter
    tables: tuple[PriceTable, ...]
    curve_budget: int
    """The smallest budget of the replay."""
    pictures: bool = False
    why: bool = False
    """Whether to say of every need where it was lost."""


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
        runner = PolicyRunner(self._policy, self._task())
        census = self._census(runner)
        messages = [turn.message for turn in self._study.case.turns if turn.message is not None]
        handed: list[WireDict] = []
        for request in self._study.requests:
            for at in range(len(handed), request.before):
                handed.append(deepcopy(messages[at]))
                self._files.note(self._study.messages[at].scored)
            # A list of its own each time, so that a policy that changes it changes nothing for the next request.
            answer = runner.ask(list(handed), request.at)
            held, fault = self._judge(runner, request, answer)
            if census is not None:
                census.add(held, fault)
        score = self._score
        score.peak_bytes = max(memory_bytes(PEAK) - start, 0) if measured else 0
        score.fingerprint = blake2b(b"".join(self.fingerprints), digest_size=12).hexdigest()
        score.uncached, score.dollars = self._bill.uncached, self._bill.dollars
        score.ref_dollars, score.parts = self._bill.ref_dollars, self._bill.parts
        runner.close()
        scores = [[tally.scored(score) for tally in tallies] for tallies in self._tallies]
        if census is not None:
            for scored in scores[0]:
                scored.groups = census.groups(scored.budget)
        return scores

    def _census(self, runner: PolicyRunner) -> NeedCensus | None:
        if not self._setup.why:
            return None
        study = self._study
        return NeedCensus(study, self._credits[0], study.measures[0], self._score_budgets, runner.feed)

    def _task(self) -> Task:
        prices = self._setup.tables[0] if self._setup.tables else None
        task = Task(self._budget, self._setup.counter.total, prices)
        if not self._policy.sees_future:
            return task
        before = [request.before for request in self._study.requests]
        return replace(task, later=lambda count: later_use(self._study, bisect_left(before, count)))

    def _judge(
        self, runner: PolicyRunner, request: StudiedRequest, answer: PolicyAnswer
    ) -> tuple[HeldNeeds, str]:
        """The needs of a request, and why no pack could hold any of them."""
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
        return held, FAILED if answer.fault else OVER if over else ""

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
            fault=answer.fault or (OVER if over else ""),
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
