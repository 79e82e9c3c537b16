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
from holdfast.replay.common import shipped_names
from holdfast.replay.dumping import DumpFile
from holdfast.replay.order import BASELINE, Order
from holdfast.replay.policies.policy import Plan
from holdfast.replay.request import Scale
from holdfast.replay.results import Score
from holdfast.replay.run import Dump, Instruments, Run
from holdfast.replay.study import Request, Study, study
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


def replay_job(order: Order, job: Job) -> Outcome:
    try:
        case = read_case(order, job)
    except HoldfastError as error:
        return Outcome(job.number, job.id, error=str(error))
    scale = Scale(load_tokenizer())
    studied = study_case(order, case, scale)
    with DumpFile(order.dump, case.id) if order.dump else nullcontext() as file:
        # By run, then by measure, then by budget.
        scores = [
            Run(
                studied,
                plan,
                budget,
                budgets,
                instruments(order, scale),
                _dump_for(order, plan, budgets, file),
            ).go()
            for plan, budget, budgets in rounds(order)
        ]
    by_measure = tuple(tuple(score for row in rows for score in row) for rows in zip(*scores, strict=True))
    return Outcome(job.number, job.id, by_measure, file.name if file else "")


def read_case(order: Order, job: Job) -> Case:
    recording = job.unread.read()
    project = project_of(recording, job.file.split(".")[0], order.project_from)
    return replace(make_case(recording, project), id=job.id)


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


def _dump_for(order: Order, plan: Plan, budgets: tuple[int, ...], file: DumpFile | None) -> Dump | None:
    """The baseline is dumped only where it was asked for by name; what no budget binds, for each of them."""
    if file is None or (plan.name == BASELINE and BASELINE not in order.policies):
        return None

    def write(request: Request, policy: str, _: int, messages: bytes, tokens: int, fault: str) -> None:
        for budget in budgets:
            file.write(request, policy, budget, messages, tokens, fault)

    return write
