"""What a person sees while a command works: a bar on a terminal, nothing anywhere else.

Rule: progress is drawn on stderr and is gone before anything else is said, be it an error.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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
    if not shown or not sys.stderr.isatty():
        yield items
        return
    # Loaded late: most runs have no terminal, or end before a bar would show.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    console = Console(stderr=True, color_system="auto" if is_colourful(True) else None)
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(printable(what), total=total)
        yield progress.track(items, total=total, task_id=task)


@contextmanager
def advancing(what: str, *, total: int) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, for long work of a known size; what is yielded moves it on by so much."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    # Loaded late, as above.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True, color_system="auto" if is_colourful(True) else None)
    words = TextColumn("{task.description}", markup=False)
    columns = [words, BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(printable(what), total=total)
        yield lambda amount: progress.advance(task, amount)
