"""Checks of a policy: does it give the same packs again, and does it not look ahead?

Rule: packs are compared with those of another process that hashes differently, and with those of recordings
whose rest was scrambled; a policy that differs is named with the recording that showed it.
"""

from collections.abc import Iterable, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.lab.case import RecordedTurn, ReplayCase
from holdfast.lab.evidence.study import StudiedRequest
from holdfast.lab.jobs import ReplayJob, planned_runs, read_case, scoring_setup, study_case
from holdfast.lab.options import ReplayOptions
from holdfast.lab.results import Score
from holdfast.lab.run import PolicyRun
from holdfast.messages import Json

HASHES, SUFFIX = "hash seeds", "suffix"
SHARES = (0.3, 0.7)
"""Where the rest of a recording is scrambled."""

OTHER_SEED = "2718"


class CheckResult(Struct, frozen=True):
    """What a second run of a policy found. `scrambled_at` is the first request whose pack knew the future."""

    policy: str
    budget: int
    recording: str
    fingerprint: str
    scrambled_at: int | None


def check_job(options: ReplayOptions, job: ReplayJob) -> list[CheckResult]:
    """Every policy twice more: as it was, and with the rest scrambled."""
    try:
        case = read_case(options, job)
    except HoldfastError:
        return []  # the replay has said so
    setup = scoring_setup(options)
    study = study_case(options, case, setup.counter)
    scrambled = [(cut, study_case(options, scramble(case, cut), setup.counter)) for cut in _cuts(case)]
    verdicts: list[CheckResult] = []
    for policy, budget, budgets in planned_runs(options):
        run = PolicyRun(study, policy, budget, budgets, setup)
        score = run.go()[0][0]
        differences = (
            _first_difference(
                run, PolicyRun(other, policy, budget, budgets, setup), study.requests[: cut + 1]
            )
            for cut, other in scrambled
        )
        place = next((index for index in differences if index is not None), None)
        verdicts += [CheckResult(policy.name, b, case.id, score.fingerprint, place) for b in budgets]
    return verdicts


def _first_difference(run: PolicyRun, again: PolicyRun, requests: Sequence[StudiedRequest]) -> int | None:
    """Where packs differ up to the cut. The pack there is the last that scrambling may not change: its reply is the
    first that is scrambled."""
    again.go()
    both = zip(requests, run.prints, again.prints, strict=False)
    return next((request.index for request, one, other in both if one != other), None)


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
    verdicts: Iterable[CheckResult], scores: Iterable[Score]
) -> dict[tuple[str, int], dict[str, str]]:
    """For each policy and budget what the checks found: `ok`, or the recording that differed."""
    fingerprints = {(s.policy, s.budget, s.recording): s.fingerprint for s in scores}
    found: dict[tuple[str, int], dict[str, str]] = {}
    for verdict in verdicts:
        checks = found.setdefault((verdict.policy, verdict.budget), {HASHES: "ok", SUFFIX: "ok"})
        before = fingerprints.get((verdict.policy, verdict.budget, verdict.recording))
        if before is not None and before != verdict.fingerprint:
            checks[HASHES] = f"other packs for {verdict.recording}"
        if verdict.scrambled_at is not None:
            checks[SUFFIX] = f"knew the future of {verdict.recording} at {verdict.scrambled_at}"
    return found


def _cuts(case: ReplayCase) -> list[int]:
    return sorted({int(case.requests * share) for share in SHARES})


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
