"""What a person sees while a command works: a bar on a terminal, nothing anywhere else.

Rule: progress is drawn on stderr and is gone before anything else is said, be it an error.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import TypeVar

from holdfast.cli.output import is_colourful, printable

T = TypeVar("T")


@contextmanager
def working(what: str, *, shown: bool = True) -> Iterator[None]:
    """A bar without an end, for work whose size is not known. Short work is not `shown`: it would only flicker."""
    with tracked((), what, shown=shown):
        yield


@contextmanager
def tracked(
    items: Iterable[T], what: str, *, total: int | None = None, shown: bool = True
) -> Iterator[Iterable[T]]:
    """The items, with a bar that moves as they are taken."""

    def counting(advance: Callable[[int], None]) -> Iterator[T]:
        for item in items:
            yield item
            advance(1)

    with _bar(what, total or length_hint(items) or None, shown=shown, timed=False) as advance:
        yield counting(advance) if advance else items


@contextmanager
def advancing(what: str, *, total: int) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, for long work of a known size; what is yielded moves it on by so much."""
    with _bar(what, total, shown=True, timed=True) as advance:
        yield advance or (lambda _: None)


@contextmanager
def _bar(what: str, total: int | None, *, shown: bool, timed: bool) -> Iterator[Callable[[int], None] | None]:
    """What moves the bar on; None where nobody would see one."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    # Loaded late: most runs have no terminal, or end before a bar would show.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, color_system="auto" if is_colourful(True) else None)
    words = TextColumn("{task.description}", markup=False)
    percent = TextColumn("{task.percentage:>3.0f} %")
    measures = (percent, TimeRemainingColumn()) if timed else (MofNCompleteColumn(),)
    with Progress(words, BarColumn(), *measures, console=console, transient=True) as progress:
        task = progress.add_task(printable(what), total=total)
        yield lambda amount: progress.advance(task, amount)
