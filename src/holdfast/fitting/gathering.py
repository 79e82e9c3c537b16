"""Recordings into examples, on several processes.

Rule: a recording comes in whole and only numbers go out; the same recordings give the same examples in the same
order, however many processes there are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from holdfast.errors import HoldfastError, InputError
from holdfast.fitting.examples import Examples, examples_of
from holdfast.packing.profile import Profile
from holdfast.replay.gathering import all_short, short_notes
from holdfast.replay.jobs.pool import Died, run_jobs
from holdfast.replay.jobs.sources import Sources
from holdfast.replay.jobs.work import Job, is_short, read_case, study_case
from holdfast.replay.order import Order
from holdfast.replay.policies.policy import Message, Task
from holdfast.replay.report.figures import budget as shown_budget
from holdfast.replay.request import Scale, read_message
from holdfast.tokenizers import load_tokenizer

MOST_NOTES = 20


class Taught(Struct, frozen=True):
    """What became of one recording. `error` says why it could not be read."""

    number: int
    id: str
    examples: Examples | None = None
    error: str = ""
    short: bool = False
    """It has fewer tokens than the order asks for, and is left out."""


class Gathered(Struct, frozen=True):
    """`examples` are of recordings with at least one fold."""

    examples: list[Examples]
    recordings: int
    """Those left out as too short for the order do not count."""
    notes: list[str]


def gather(
    order: Order, sources: Sources, *, processes: int = 1, done: Callable[[int], None] = lambda _: None
) -> Gathered:
    """The examples of all recordings. `done` is told the size of each that is finished."""
    sizes: dict[int, int] = {}
    examples: list[Examples] = []
    notes: list[str] = []
    read = short = unfolded = 0
    for taught in run_jobs(teach_job, order, noting(sources.jobs(), sizes), processes):
        read += 1
        done(sizes.pop(taught.number))
        if isinstance(taught, Taught) and taught.short:
            short += 1
        elif isinstance(taught, Died) or taught.examples is None:
            why = "its process died" if isinstance(taught, Died) else taught.error
            notes.append(f"{taught.id} was left out: {why}")
        elif taught.examples.folds:
            examples.append(taught.examples)
        else:
            unfolded += 1
    if short and short == read:
        raise all_short(order)
    at = " or ".join(map(shown_budget, order.budgets))
    if not examples:
        raise InputError(
            f"no recording is long enough to fold at {at}",
            hint="give longer recordings, or a smaller `--budget`",
        )
    told = [*shortened(notes), *short_notes(order, short, read)]
    if unfolded:
        told.append(f"too short to fold at {at}, and so left out: {unfolded} of {read - short} recordings")
    return Gathered(examples, read - short, told)


def teach_job(order: Order, job: Job) -> Taught:
    """What a worker does with a recording."""
    try:
        case = read_case(order, job)
    except HoldfastError as error:
        return Taught(job.number, job.id, error=str(error))
    scale = Scale(load_tokenizer())
    if is_short(order, case, scale):
        return Taught(job.number, job.id, short=True)
    studied = study_case(order, case, scale)
    tasks = [Task(budget, partial(_count, scale)) for budget in order.budgets]
    return Taught(job.number, job.id, examples_of(studied, fitted_profile(order), tasks))


def fitted_profile(order: Order) -> Profile:
    """The profile of an order to fit, which has one and no other policy."""
    return order.profiles[order.policies[0]]


def noting(jobs: Iterable[Job], sizes: dict[int, int]) -> Iterator[Job]:
    """The jobs, with the size of each written down as it goes out."""
    for job in jobs:
        sizes[job.number] = job.unread.size
        yield job


def shortened(notes: Sequence[str]) -> list[str]:
    rest = len(notes) - MOST_NOTES
    return [*notes[:MOST_NOTES], *([f"and {rest} more like these"] if rest > 0 else [])]


def _count(scale: Scale, messages: Sequence[Message]) -> int:
    return scale.total([read_message(message) for message in messages])
