"""A whole replay: recordings in, a report out, with checks of the policies if they are wanted.

Rule: recordings are read, replayed and forgotten one by one; only the scores of each are kept, and the picture
of one. The checks compare packs with those of another process that hashes differently, and with those of recordings
whose rest was scrambled; a policy that differs is named with the recording that showed it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from random import Random
from time import monotonic

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.errors import HoldfastError, InputError
from holdfast.lab.aggregate import (
    build_comparisons,
    build_rows,
    dollars_at_recall,
    group_needs,
    kendall_tau,
    levels_for,
)
from holdfast.lab.bootstrap import DRAWS
from holdfast.lab.case import RecordedTurn, ReplayCase
from holdfast.lab.evidence.common_names import shipped_names
from holdfast.lab.jobs import (
    VARIATIONS,
    JobOutcome,
    RecordingSources,
    ReplayJob,
    ReplayOptions,
    joined_outcomes,
    planned_runs,
    read_case,
    replay_job,
    scoring_setup,
    study_case,
)
from holdfast.lab.report.figures import budget as shown_budget
from holdfast.lab.results import (
    BASELINE,
    SEES_FUTURE,
    Picture,
    PolicyRow,
    ReplayReport,
    Score,
    Sensitivity,
)
from holdfast.lab.run import PolicyRun
from holdfast.lab.stored_logs import StoredLog
from holdfast.lab.workers import THIS_PROCESS, Workers, run_jobs
from holdfast.messages import Json
from holdfast.prices import NUMBERS
from holdfast.version import __version__

HASHES, SUFFIX = "hash seeds", "suffix"
SHARES = (0.3, 0.7)
"""Where the rest of a recording is scrambled."""

OTHER_SEED = "2718"
JOBS_EACH = 4
"""How many jobs each worker should have at least, so that none is idle for long at the end."""
CHECKED = 6
"""Recordings that are replayed again for the checks."""

NAMED = 3
"""Recordings that a remark names."""


class ReportOptions(Struct, frozen=True):
    reference: str = ""
    """The policy that the others are compared with."""
    picture: str = ""
    """Id of the recording to draw; the one with most requests if empty."""
    checks: bool = False
    draws: int = DRAWS


class CheckResult(Struct, frozen=True):
    """What a second run of a policy found. `scrambled_at` is the first request whose pack knew the future."""

    policy: str
    budget: int
    recording: str
    fingerprint: str
    scrambled_at: int | None


class ReplayCollector:
    """What is kept of the outcomes, and the report made of it."""

    def __init__(self, options: ReplayOptions, wanted: ReportOptions) -> None:
        self._options = options
        self._wanted = wanted
        self._scores: list[list[Score]] = [[] for _ in options.measures]
        self._pictures: list[Picture] = []
        self._notes: list[str] = []
        self._remarks: dict[str, list[str]] = {}
        """Recordings with little to score, by why."""
        self.kept: list[int] = []
        """Numbers of the jobs that count, whatever became of them."""
        self.short = 0
        """How many were left out."""

    def take(self, outcome: JobOutcome) -> None:
        if outcome.short:
            self.short += 1
            return
        self.kept.append(outcome.number)
        if outcome.error:
            self._notes.append(f"{outcome.id} was not replayed: {outcome.error}")
        if not outcome.scores:
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
        wanted = self._wanted.picture
        fits = id_.startswith(wanted) or id_.endswith(wanted) or f"/{wanted}" in id_
        if not self._options.pictures or not fits:
            return
        length = len(self._pictures[0].moments) if self._pictures else 0
        if scores[0].requests > length:
            self._pictures = [Picture(s.recording, s.policy, s.budget, s.moments) for s in scores]

    def report(self, files: Sequence[Path | StoredLog], verdicts: Iterable[CheckResult]) -> ReplayReport:
        options, wanted, scores = self._options, self._wanted, self._scores[0]
        abouts = {policy.name: policy.about for policy in options.all_policies()}
        ceilings = {policy.name for policy in options.all_policies() if policy.sees_future}
        checks = compare_runs(verdicts, scores, ceilings)
        rows = [
            replace(row, sees_future=row.policy in ceilings, checks=checks.get((row.policy, row.budget), {}))
            for row in build_rows(scores, abouts, wanted.draws)
        ]
        projects: dict[str, set[str]] = {}
        for score in scores:
            projects.setdefault(score.project, set()).add(score.recording)
        prices = options.tables[0].name
        reference = wanted.reference or default_reference([name for name in abouts if name not in ceilings])
        if wanted.picture and options.pictures and not self._pictures:
            self._notes.append(f"no recording fits `{wanted.picture}`, so there is no picture")
        return ReplayReport(
            version=__version__,
            measure=asdict(options.measures[0]),
            common_names=shipped_names().about,
            prices=prices,
            price_tables={
                table.name: {key: getattr(table, key) for key in NUMBERS} for table in options.tables
            },
            budgets=list(options.budgets),
            draws=wanted.draws,
            files=[path.name for path in files],
            recordings=len(self.kept),
            projects={project: len(found) for project, found in sorted(projects.items())},
            needs=sum(score.needs for score in _one_each(scores, options.budgets[0])),
            hard_needs={
                budget: sum(score.hard_needs for score in _one_each(scores, budget))
                for budget in options.budgets
            },
            rows=rows,
            comparisons=build_comparisons(scores, reference, prices=prices, draws=wanted.draws),
            at_recall=dollars_at_recall(
                rows, prices, levels_for([row for row in rows if not row.sees_future])
            ),
            pictures=self._pictures,
            groups=group_needs(scores),
            sensitivity=self._sensitivity(
                {name: said for name, said in abouts.items() if name not in ceilings}
            ),
            at_least=options.at_least,
            notes=self._all_notes(),
        )

    def _all_notes(self) -> list[str]:
        notes = shortened(self._notes) + short_notes(self._options, self.short, self.short + len(self.kept))
        for note, recordings in sorted(self._remarks.items()):
            named = ", ".join(recordings[:NAMED]) + (", …" if len(recordings) > NAMED else "")
            notes.append(f"{len(recordings)} of the recordings: {note} ({named})")
        return notes

    def _sensitivity(self, abouts: dict[str, str]) -> list[Sensitivity]:
        """How the policies rank that `abouts` names."""
        if len(self._scores) == 1:
            return []
        ranked = [[score for score in scores if score.policy in abouts] for scores in self._scores]
        plain = _hard_recalls(build_rows(ranked[0], abouts, draws=1))
        return [
            Sensitivity(
                name,
                budget,
                kendall_tau(plain[budget], recalls),
                sorted(recalls, key=lambda policy: (-recalls[policy], policy)),
            )
            for (name, _), scores in zip(VARIATIONS, ranked[1:], strict=True)
            for budget, recalls in _hard_recalls(build_rows(scores, abouts, draws=1)).items()
        ]


def default_reference(policies: Sequence[str]) -> str:
    """What the others are compared with by default: our `code` profile, or the first that keeps a budget."""
    if "code" in policies:
        return "code"
    return next((name for name in policies if name != BASELINE), BASELINE)


def short_notes(options: ReplayOptions, short: int, read: int) -> list[str]:
    """What to say of recordings that are shorter than `--at-least`, if any are."""
    at_least = shown_budget(options.at_least)
    left_out = f"shorter than {at_least} tokens, and so left out: {short} of {read} recordings"
    return [left_out] if short else []


def all_too_short(options: ReplayOptions) -> InputError:
    """What to say if no recording is left."""
    return InputError(
        f"no recording has {shown_budget(options.at_least)} tokens or more",
        hint="give longer recordings, or a smaller `--at-least`",
    )


def _one_each(scores: Iterable[Score], budget: int) -> Iterable[Score]:
    """A score of each recording at a budget: what is needed is the same for all policies."""
    return {score.recording: score for score in scores if score.budget == budget}.values()


def _hard_recalls(rows: Iterable[PolicyRow]) -> dict[int, dict[str, float]]:
    """Mean hard recall by budget and policy; the baseline is no contestant."""
    recalls: dict[int, dict[str, float]] = {}
    for row in rows:
        if row.policy != BASELINE and row.hard is not None:
            recalls.setdefault(row.budget, {})[row.policy] = row.hard.mean
    return recalls


def shortened(notes: Sequence[str], most: int = 20) -> list[str]:
    rest = len(notes) - most
    return [*notes[:most], *([f"and {rest} more like these"] if rest > 0 else [])]


def replay(
    options: ReplayOptions,
    sources: RecordingSources,
    recordings: int,
    wanted: ReportOptions,
    *,
    workers: Workers = THIS_PROCESS,
    done: Callable[[int], None] = lambda _: None,
    dump: Callable[[str], None] = lambda _: None,
) -> ReplayReport:
    """Replay all recordings of the sources. Ctrl-C ends it early, with what there is, and the report says so.

    `done` is told the size of what is finished, `dump` the files with packs.
    """
    began = monotonic()
    gathered = ReplayCollector(options, wanted)
    partial = ""
    try:
        parts = parts_of_each(recordings, len(planned_runs(options)), workers.count)
        jobs = (part for job in sources.jobs() for part in job.split(parts))
        for outcome in joined_outcomes(run_jobs(replay_job, options, jobs, workers, done), parts):
            gathered.take(outcome)
            for file in outcome.dumped:
                dump(file)
        if gathered.short and not gathered.kept:
            raise all_too_short(options)
        verdicts = _checked(options, sources, gathered.kept, workers) if wanted.checks else []
    except KeyboardInterrupt:
        partial = f"interrupted after {len(gathered.kept) + gathered.short} of {recordings} recordings"
        verdicts = []
    report = gathered.report(sources.files, verdicts)
    return replace(report, partial=partial, seconds=monotonic() - began)


def parts_of_each(recordings: int, runs: int, workers: int) -> int:
    """Into how many jobs a recording is split. To read and study it again costs little beside long runs, but more
    than nothing: so only where there are too few recordings to keep all workers busy to the end."""
    return min(runs, -(-JOBS_EACH * workers // recordings)) if workers > 1 else 1


def _checked(
    options: ReplayOptions, sources: RecordingSources, kept: Sequence[int], workers: Workers
) -> list[CheckResult]:
    """Some recordings, spread over those kept, once more in other processes with another hash seed."""
    chosen = {*kept[:: max(len(kept) // CHECKED, 1)]}
    sample = (job for job in sources.jobs() if job.number in chosen)
    found = run_jobs(check_job, options, sample, workers.with_hash_seed(OTHER_SEED))
    return [verdict for verdicts in found if not isinstance(verdicts, JobOutcome) for verdict in verdicts]


def check_job(options: ReplayOptions, job: ReplayJob) -> list[CheckResult]:
    """Every policy twice more: as it was, and, if it says that it sees no future, with the rest scrambled."""
    try:
        case = read_case(options, job)
    except HoldfastError:
        return []  # the replay has said so
    setup = scoring_setup(options)
    study = study_case(options, case, setup.counter)
    cuts = sorted({int(case.requests * share) for share in SHARES})
    scrambled = [study_case(options, scramble(case, cut), setup.counter) for cut in cuts]
    verdicts: list[CheckResult] = []
    for policy, budget, budgets in planned_runs(options):
        run = PolicyRun(study, policy, budget, budgets, setup)
        score = run.run()[0][0]
        place: int | None = None
        for cut, other in zip(cuts, scrambled, strict=True) if not policy.sees_future else ():
            again = PolicyRun(other, policy, budget, budgets, setup)
            again.run()
            # The pack at the cut is the last that scrambling may not change: its reply is the first scrambled one.
            both = zip(study.requests[: cut + 1], run.fingerprints, again.fingerprints, strict=False)
            differing = next((request.index for request, one, two in both if one != two), None)
            place = differing if place is None else place
        verdicts += [CheckResult(policy.name, b, case.id, score.fingerprint, place) for b in budgets]
    return verdicts


def scramble(case: ReplayCase, requests: int) -> ReplayCase:
    """The case with everything from the reply to this many requests on made into something else."""
    chance = Random(requests)  # noqa: S311 - the same disorder every time
    turns: list[RecordedTurn] = []
    for turn in case.turns:
        if turn.is_reply:
            requests -= 1
        scrambled = requests < 0 and turn.message is not None
        turns.append(replace(turn, message=_shuffled(turn.message, chance)) if scrambled else turn)
    return replace(case, turns=tuple(turns))


def compare_runs(
    verdicts: Iterable[CheckResult], scores: Iterable[Score], ceilings: Collection[str] = ()
) -> dict[tuple[str, int], dict[str, str]]:
    """For each policy and budget what the checks found: `ok`, or the recording that differed. `ceilings` are the
    policies that see the future."""
    fingerprints = {(s.policy, s.budget, s.recording): s.fingerprint for s in scores}
    found: dict[tuple[str, int], dict[str, str]] = {}
    for verdict in verdicts:
        suffix = SEES_FUTURE if verdict.policy in ceilings else "ok"
        checks = found.setdefault((verdict.policy, verdict.budget), {HASHES: "ok", SUFFIX: suffix})
        before = fingerprints.get((verdict.policy, verdict.budget, verdict.recording))
        if before is not None and before != verdict.fingerprint:
            checks[HASHES] = f"other packs for {verdict.recording}"
        if verdict.scrambled_at is not None:
            checks[SUFFIX] = f"knew the future of {verdict.recording} at {verdict.scrambled_at}"
    return found


def _shuffled(value: Json, chance: Random) -> Json:
    """The same shape with other texts: roles, names and ids stay, so that structure does."""
    if isinstance(value, str):
        words = value.split(" ")
        chance.shuffle(words)
        return "scrambled " + " ".join(words)
    if isinstance(value, list):
        return [_shuffled(item, chance) for item in value]
    if isinstance(value, dict):
        kept = ("role", "id", "name", "tool_call_id", "type")
        return {key: item if key in kept else _shuffled(item, chance) for key, item in value.items()}
    return value
