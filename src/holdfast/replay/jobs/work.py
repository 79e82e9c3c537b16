"""One recording under every policy and budget: what a worker does.

Rule: a recording comes in whole and only figures go out; packs go to a file, line by line, never into memory.
"""

from collections.abc import Iterator
from contextlib import nullcontext

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.recordings.reading import Unread
from holdfast.replay.case import Case, make_case, project_of
from holdfast.replay.evidence.common_names import shipped_names
from holdfast.replay.evidence.study import Study, study
from holdfast.replay.order import Order
from holdfast.replay.policies.policy import Plan
from holdfast.replay.request import Scale, read_message
from holdfast.replay.results import BASELINE, Score
from holdfast.replay.runs.dumping import DumpFile
from holdfast.replay.runs.run import Instruments, Run
from holdfast.tokenizers import load_tokenizer


class Job(Struct, frozen=True):
    """A recording to replay. `id` is unique in the run, whatever the file says."""

    number: int
    id: str
    file: str
    unread: Unread


class Outcome(Struct, frozen=True):
    """Scores by measure. `error` says why a recording could not be replayed at all."""

    number: int
    id: str
    scores: tuple[tuple[Score, ...], ...] = ()
    dumped: str = ""
    """A file with the packs, for whoever takes the outcome to read and remove."""
    error: str = ""
    short: bool = False
    """It has fewer tokens than the order asks for, and is left out."""
    notes: tuple[str, ...] = ()
    """What reading the recording lost or forgave."""


def replay_job(order: Order, job: Job) -> Outcome:
    try:
        case = read_case(order, job)
    except HoldfastError as error:
        return Outcome(job.number, job.id, error=str(error))
    scale = Scale(load_tokenizer())
    if is_short(order, case, scale):
        return Outcome(job.number, job.id, short=True)
    studied, tools = study_case(order, case, scale), instruments(order, scale)
    with DumpFile(order.dump, case.id) if order.dump else nullcontext() as file:
        # By run, then by measure, then by budget.
        scores = [
            Run(studied, plan, budget, budgets, tools, file if _is_wanted(order, plan) else None).go()
            for plan, budget, budgets in rounds(order)
        ]
    by_measure = tuple(tuple(score for row in rows for score in row) for rows in zip(*scores, strict=True))
    return Outcome(job.number, job.id, by_measure, file.name if file else "", notes=case.notes)


def read_case(order: Order, job: Job) -> Case:
    recording = job.unread.read()
    project = project_of(recording, job.file.split(".")[0], order.project_from)
    return replace(make_case(recording, project), id=job.id)


def is_short(order: Order, case: Case, scale: Scale) -> bool:
    """Whether the messages take fewer tokens than the order asks for."""
    if not order.at_least:
        return False
    messages = (turn.message for turn in case.turns if turn.message is not None)
    return scale.total([read_message(message) for message in messages]) < order.at_least


def study_case(order: Order, case: Case, scale: Scale) -> Study:
    return study(case, scale, order.measures, shipped_names().above)


def rounds(order: Order) -> Iterator[tuple[Plan, int, tuple[int, ...]]]:
    """Each plan with each budget; one that no budget binds runs once, and is scored for all of them."""
    for plan in order.all_plans():
        if plan.budgeted:
            for budget in order.budgets:
                yield plan, budget, (budget,)
        else:
            yield plan, max(order.budgets), order.budgets


def instruments(order: Order, scale: Scale) -> Instruments:
    return Instruments(load_tokenizer(), scale, order.tables, min(order.budgets), order.pictures)


def _is_wanted(order: Order, plan: Plan) -> bool:
    """Whether it was asked for: the baseline is replayed in any case, but dumped only then."""
    return plan.name != BASELINE or BASELINE in order.policies
