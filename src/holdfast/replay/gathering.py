"""What is kept of a replay's outcomes, and the report made of it.

Rule: of each recording its scores stay, of one recording the picture too.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.errors import InputError
from holdfast.prices import NUMBERS
from holdfast.replay.evidence.common_names import shipped_names
from holdfast.replay.jobs.checks import Verdict, compare
from holdfast.replay.jobs.pool import Died
from holdfast.replay.jobs.work import Outcome
from holdfast.replay.order import VARIATIONS, Order
from holdfast.replay.report.figures import budget as shown_budget
from holdfast.replay.results import BASELINE, Picture, Report, Row, Score, Sensitivity
from holdfast.replay.statistics.aggregate import build_comparisons, build_rows
from holdfast.replay.statistics.bootstrap import DRAWS
from holdfast.replay.statistics.ranking import dollars_at_recall, kendall_tau, levels_for
from holdfast.version import __version__


class Wish(Struct, frozen=True):
    """What a report shall have beside its rows."""

    reference: str = ""
    """The policy that the others are compared with."""
    picture: str = ""
    """Id of the recording to draw; the one with most requests if empty."""
    checks: bool = False
    draws: int = DRAWS


class Gathered:
    """What is kept of the outcomes."""

    def __init__(self, order: Order, wish: Wish) -> None:
        self._order = order
        self._wish = wish
        self._scores: list[list[Score]] = [[] for _ in order.measures]
        self._pictures: list[Picture] = []
        self._notes: list[str] = []
        self._remarks: dict[str, list[str]] = {}
        """Recordings with little to score, by why."""
        self.kept: list[int] = []
        """Numbers of the jobs that count, whatever became of them."""
        self.short = 0
        """How many were left out."""

    def take(self, outcome: Outcome | Died) -> None:
        if isinstance(outcome, Outcome) and outcome.short:
            self.short += 1
            return
        self.kept.append(outcome.number)
        error = "its process died" if isinstance(outcome, Died) else outcome.error
        if error:
            self._notes.append(f"{outcome.id} was not replayed: {error}")
        if isinstance(outcome, Died) or not outcome.scores:
            return
        for note in outcome.notes:
            # Without its count, so that the same loss in many recordings is one remark.
            self._remarks.setdefault(f"when read, {note.split(' (')[0]}", []).append(outcome.id)
        first = outcome.scores[0]
        if first[0].note:
            self._remarks.setdefault(first[0].note, []).append(outcome.id)
        self._keep_picture(outcome.id, first)
        for kept, scores in zip(self._scores, outcome.scores, strict=True):
            kept.extend(replace(score, moments=[]) for score in scores)

    def _keep_picture(self, id_: str, scores: Sequence[Score]) -> None:
        if not self._order.pictures or not _fits(self._wish.picture, id_):
            return
        length = len(self._pictures[0].moments) if self._pictures else 0
        if scores[0].requests > length:
            self._pictures = [Picture(s.recording, s.policy, s.budget, s.moments) for s in scores]

    def report(self, files: Sequence[Path], verdicts: Iterable[Verdict]) -> Report:
        order, wish, scores = self._order, self._wish, self._scores[0]
        abouts = {plan.name: plan.about for plan in order.all_plans()}
        checks = compare(verdicts, scores)
        rows = [
            replace(row, checks=checks.get((row.policy, row.budget), {}))
            for row in build_rows(scores, abouts, wish.draws)
        ]
        prices = order.tables[0].name
        reference = wish.reference or default_reference(list(abouts))
        if wish.picture and order.pictures and not self._pictures:
            self._notes.append(f"no recording fits `{wish.picture}`, so there is no picture")
        return Report(
            version=__version__,
            measure=asdict(order.measures[0]),
            common_names=shipped_names().about,
            prices=prices,
            price_tables={
                table.name: {key: getattr(table, key) for key in NUMBERS} for table in order.tables
            },
            budgets=list(order.budgets),
            draws=wish.draws,
            files=[path.name for path in files],
            recordings=len(self.kept),
            projects=_projects(scores),
            needs=sum(score.needs for score in _one_each(scores, order.budgets[0])),
            hard_needs={
                budget: sum(score.hard_needs for score in _one_each(scores, budget))
                for budget in order.budgets
            },
            rows=rows,
            comparisons=build_comparisons(scores, reference, prices=prices, draws=wish.draws),
            at_recall=dollars_at_recall(rows, prices, levels_for(rows)),
            pictures=self._pictures,
            sensitivity=self._sensitivity(abouts),
            at_least=order.at_least,
            notes=self._all_notes(),
        )

    def _all_notes(self) -> list[str]:
        short = short_notes(self._order, self.short, self.short + len(self.kept))
        remarks = [_remark(*item) for item in sorted(self._remarks.items())]
        return [*_shortened(self._notes), *short, *remarks]

    def _sensitivity(self, abouts: dict[str, str]) -> list[Sensitivity]:
        if len(self._scores) == 1:
            return []
        plain = _hard_recalls(build_rows(self._scores[0], abouts, draws=1))
        return [
            Sensitivity(name, budget, kendall_tau(plain[budget], recalls), _best_first(recalls))
            for (name, _), scores in zip(VARIATIONS, self._scores[1:], strict=True)
            for budget, recalls in _hard_recalls(build_rows(scores, abouts, draws=1)).items()
        ]


def default_reference(policies: Sequence[str]) -> str:
    """What the others are compared with if nobody says: our `code` profile, or the first that keeps a budget."""
    if "code" in policies:
        return "code"
    return next((name for name in policies if name != BASELINE), BASELINE)


def short_notes(order: Order, short: int, read: int) -> list[str]:
    """What to say of recordings that are too short for the order, if any are."""
    at_least = shown_budget(order.at_least)
    left_out = f"shorter than {at_least} tokens, and so left out: {short} of {read} recordings"
    return [left_out] if short else []


def all_short(order: Order) -> InputError:
    """What to say where nothing is left."""
    return InputError(
        f"no recording has {shown_budget(order.at_least)} tokens or more",
        hint="give longer recordings, or a smaller `--at-least`",
    )


def _fits(wanted: str, id_: str) -> bool:
    return id_.startswith(wanted) or id_.endswith(wanted) or f"/{wanted}" in id_


def _projects(scores: Iterable[Score]) -> dict[str, int]:
    recordings: dict[str, set[str]] = {}
    for score in scores:
        recordings.setdefault(score.project, set()).add(score.recording)
    return {project: len(found) for project, found in sorted(recordings.items())}


def _one_each(scores: Iterable[Score], budget: int) -> Iterable[Score]:
    """A score of each recording at a budget: what is needed is the same for all policies."""
    return {score.recording: score for score in scores if score.budget == budget}.values()


def _hard_recalls(rows: Iterable[Row]) -> dict[int, dict[str, float]]:
    """Mean hard recall by budget and policy; the baseline is no contestant."""
    recalls: dict[int, dict[str, float]] = {}
    for row in rows:
        if row.policy != BASELINE and row.hard is not None:
            recalls.setdefault(row.budget, {})[row.policy] = row.hard.mean
    return recalls


def _best_first(recalls: dict[str, float]) -> list[str]:
    return sorted(recalls, key=lambda policy: (-recalls[policy], policy))


def _remark(note: str, recordings: Sequence[str], most: int = 3) -> str:
    named = ", ".join(recordings[:most]) + (", …" if len(recordings) > most else "")
    return f"{len(recordings)} of the recordings: {note} ({named})"


def _shortened(notes: Sequence[str], most: int = 20) -> list[str]:
    rest = len(notes) - most
    return [*notes[:most], *([f"and {rest} more like these"] if rest > 0 else [])]
