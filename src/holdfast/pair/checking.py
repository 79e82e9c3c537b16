"""Whether a handover may be handed over: looked at by whoever makes it, and again before the other reads it.

Rule: what is wrong is named, all of it, in sentences that the agent who made it can act upon.
"""

from collections.abc import Callable, Iterator

from holdfast.pair.handover import Handover, paths_in
from holdfast.pair.layout import Found, Layout
from holdfast.pair.progress import Unreadable, claims, read_evaluation
from holdfast.pair.roles import Role

Counting = Callable[[str], int]
"""Tokens of a text."""


def faults(handover: Handover, role: Role, layout: Layout, iteration: int) -> tuple[str, ...]:
    """Everything about it that does not hold on the disk, or that its maker's role demands."""
    return (
        *_missing(handover, role),
        *_paths(handover, layout),
        *_results(handover, role, layout, iteration),
    )


def size_fault(text: str, role: Role, count: Counting) -> str:
    """Why the text that the other would read is too long or too short; empty if it is neither."""
    tokens, least, most = count(text), role.handover.least_tokens, role.handover.most_tokens
    if tokens > most:
        return f"it takes {tokens} tokens, and {most} are allowed: write to files, and name them"
    if tokens < least:
        return f"it takes {tokens} tokens, and {least} are the least: say what was done, what is asked, which files"
    return ""


def _missing(handover: Handover, role: Role) -> Iterator[str]:
    for name in role.handover.requires:
        if not getattr(handover, name):
            yield f"`{name}` is missing"


def _paths(handover: Handover, layout: Layout) -> Iterator[str]:
    for path in paths_in(handover):
        found = layout.look(path)
        if isinstance(found, str):
            yield found
        elif found.is_folder and path in handover.design:
            yield f"`{path}` is a folder; the design is a list of files"


def _results(handover: Handover, role: Role, layout: Layout, iteration: int) -> Iterator[str]:
    if not role.measures:
        return
    try:
        yield from claims(handover, read_evaluation(layout, iteration))
    except Unreadable as error:
        yield str(error)


def sizes(handover: Handover, layout: Layout) -> dict[str, str]:
    """How large each named file is, for whoever decides what to load."""
    looked = ((path, layout.look(path)) for path in paths_in(handover))
    return {path: _size(found) for path, found in looked if isinstance(found, Found)}


def _size(found: Found) -> str:
    return f"{found.size} entries" if found.is_folder else f"{found.size} bytes"
