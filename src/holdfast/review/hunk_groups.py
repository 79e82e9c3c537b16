"""Hunks cut where they go from one function to another, and near hunks of one function put together.

Rule: nothing is lost and nothing is turned round. The pieces of a hunk, one after the other, are the hunk.

A run of added lines (or of removed ones) is cut at the definitions in it: a definition of at most `WHOLE` lines
stays whole, a longer class is cut at its methods. A run with both is not cut, because its removed lines all stand
before its added ones; it lies in the smallest symbol around it. A file that was added or deleted is one piece up to
`WHOLE_FILE` lines. Hunks of one function are one unit if at most `NEAR` lines that stayed lie between them.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.review.diff import DiffLine, FileChange, Hunk, slice_hunk
from holdfast.review.outline import Outline, innermost_symbol
from holdfast.review.unit import Span, Symbol

WHOLE = 80
WHOLE_FILE = 120
NEAR = 40


class OutlinePair(Struct, frozen=True):
    """Of both versions of a file; None where there is none to be had."""

    old: Outline | None
    new: Outline | None


class HunkGroup(Struct, frozen=True):
    """Hunks of one file that are looked at together, and what they lie in."""

    symbol: Symbol | None
    hunks: tuple[Hunk, ...]


class _Run(Struct, frozen=True):
    """Lines of a hunk, by their place in it."""

    first: int
    end: int
    symbol: Symbol | None


def group_hunks(file: FileChange, outlines: OutlinePair) -> list[HunkGroup]:
    """In the order of the diff."""
    cuts: list[HunkGroup] = []
    for hunk in file.hunks:
        for cut in _pieces(file, hunk, outlines):
            if cuts and _are_near(cuts[-1], cut):
                cuts[-1] = HunkGroup(cut.symbol, (*cuts[-1].hunks, *cut.hunks))
            else:
                cuts.append(cut)
    return cuts


def _are_near(one: HunkGroup, other: HunkGroup) -> bool:
    if one.symbol is None or one.symbol != other.symbol or one.symbol.kind not in ("function", "method"):
        return False
    above, below = one.hunks[-1], other.hunks[0]
    return below.old_start - (above.old_start + above.old_count) <= NEAR


def _pieces(file: FileChange, hunk: Hunk, outlines: OutlinePair) -> Iterator[HunkGroup]:
    if outlines.new is None and outlines.old is None:
        yield HunkGroup(_section(hunk), (hunk,))
        return
    is_whole = file.change in ("added", "deleted") and len(hunk.lines) <= WHOLE_FILE
    runs = (
        [] if is_whole else _joined([run for block in _blocks(hunk) for run in _runs(hunk, block, outlines)])
    )
    if len(runs) < 2:
        yield HunkGroup(runs[0].symbol if runs else None, (hunk,))
        return
    # What stayed between two pieces goes with the later one, and what is at the end with the last.
    starts = [0, *(run.end for run in runs[:-1])]
    ends = [*starts[1:], len(hunk.lines)]
    for run, first, end in zip(runs, starts, ends, strict=True):
        yield HunkGroup(run.symbol, (slice_hunk(hunk, first, end),))


def _section(hunk: Hunk) -> Symbol | None:
    """What git says the hunk lies in."""
    if not hunk.heading:
        return None
    is_gone = not hunk.new_count
    first, count = (hunk.old_start, hunk.old_count) if is_gone else (hunk.new_start, hunk.new_count)
    return Symbol(hunk.heading[:120], "section", Span(first, first + max(count, 1) - 1))


def _blocks(hunk: Hunk) -> Iterator[tuple[int, int]]:
    """Runs of lines that changed."""
    first: int | None = None
    for i, line in enumerate(hunk.lines):
        if line.kind != " " and first is None:
            first = i
        elif line.kind == " " and first is not None:
            yield first, i
            first = None
    if first is not None:
        yield first, len(hunk.lines)


def _runs(hunk: Hunk, block: tuple[int, int], outlines: OutlinePair) -> Iterator[_Run]:
    first, end = block
    lines = hunk.lines[first:end]
    kinds = {line.kind for line in lines}
    if len(kinds) == 2:
        yield _Run(first, end, _around(lines, outlines))
        return
    is_new = kinds == {"+"}
    outline = outlines.new if is_new else outlines.old
    places = _places(lines, outline.symbols, is_new=is_new) if outline else [None] * len(lines)
    if not is_new and outlines.new:
        places = [_as_it_is_now(place, outlines.new.symbols) for place in places]
    at = 0
    for i in range(1, len(lines) + 1):
        if i == len(lines) or places[i] != places[at]:
            yield _Run(first + at, first + i, places[at])
            at = i


def _around(lines: Sequence[DiffLine], outlines: OutlinePair) -> Symbol | None:
    """The smallest symbol around what was added, or else around what was removed."""
    new = [line.new for line in lines if line.new]
    found = innermost_symbol(outlines.new.symbols, new[0], new[-1]) if outlines.new else None
    if found is None and outlines.old:
        old = [line.old for line in lines if line.old]
        found = innermost_symbol(outlines.old.symbols, old[0], old[-1])
        return _as_it_is_now(found, outlines.new.symbols) if outlines.new else found
    return found


def _places(lines: Sequence[DiffLine], symbols: Sequence[Symbol], *, is_new: bool) -> list[Symbol | None]:
    """The symbol each line counts to. Outer symbols come first, and inner ones take their lines, unless the outer
    one is here as a whole and short. Empty lines go with what stands before them, or
    else with what comes."""
    start = lines[0].new if is_new else lines[0].old
    last = start + len(lines) - 1
    places: list[Symbol | None] = [None] * len(lines)
    kept: list[Symbol] = []
    for symbol in symbols:
        first, end = max(symbol.span.first, start), min(symbol.span.last, last)
        if first > end or (kept and symbol.span.last <= kept[-1].span.last):
            continue
        places[first - start : end - start + 1] = [symbol] * (end - first + 1)
        if start <= symbol.span.first and symbol.span.last <= last and _length(symbol) <= WHOLE:
            kept.append(symbol)
    said = next((i for i, line in enumerate(lines) if line.text.strip()), 0)
    places[:said] = [places[said]] * said
    for i in range(said + 1, len(lines)):
        if not lines[i].text.strip():
            places[i] = places[i - 1]
    return places


def _length(symbol: Symbol) -> int:
    return symbol.span.last - symbol.span.first + 1


def _as_it_is_now(symbol: Symbol | None, symbols: Sequence[Symbol]) -> Symbol | None:
    """The symbol of the same name in the newer text, or the older one where it is gone."""
    if symbol is None:
        return None
    return next((s for s in symbols if s.name == symbol.name and s.kind == symbol.kind), symbol)


def _joined(runs: Sequence[_Run]) -> list[_Run]:
    """Neighbours in the same symbol as one."""
    joined: list[_Run] = []
    for run in runs:
        if joined and joined[-1].symbol == run.symbol:
            joined[-1] = _Run(joined[-1].first, run.end, run.symbol)
        else:
            joined.append(run)
    return joined
