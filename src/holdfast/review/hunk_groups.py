"""Groups of hunks that are reviewed together: hunks split between functions, near hunks of one function joined.

Rule: nothing is lost and nothing is reordered. The pieces of a hunk, one after the other, are the hunk.

A run of added lines (or of removed ones) is split at the definitions in it: a definition of at most `WHOLE` lines
stays whole, a longer class is split at its methods. A run with both is not split, because all its removed lines
come before its added ones; it belongs to the smallest symbol around it. A file that was added or deleted is one
piece up to `WHOLE_FILE` lines. Hunks of one function are joined if at most `NEAR` unchanged lines are between
them.
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
    """The outlines of both versions of a file; None if there is none."""

    old: Outline | None
    new: Outline | None


class HunkGroup(Struct, frozen=True):
    """Hunks of one file that are reviewed together, and the symbol they are in."""

    symbol: Symbol | None
    hunks: tuple[Hunk, ...]

    @property
    def lines(self) -> list[DiffLine]:
        return [line for hunk in self.hunks for line in hunk.lines]


class _Run(Struct, frozen=True):
    """A range of a hunk's lines, by index."""

    first: int
    end: int
    symbol: Symbol | None


def group_hunks(file: FileChange, outlines: OutlinePair) -> list[HunkGroup]:
    """In the order of the diff."""
    groups: list[HunkGroup] = []
    for hunk in file.hunks:
        for piece in _pieces(file, hunk, outlines):
            if groups and _are_near(groups[-1], piece):
                groups[-1] = HunkGroup(piece.symbol, (*groups[-1].hunks, *piece.hunks))
            else:
                groups.append(piece)
    return groups


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
    runs = [] if is_whole else _join([run for block in _blocks(hunk) for run in _runs(hunk, block, outlines)])
    if len(runs) < 2:
        yield HunkGroup(runs[0].symbol if runs else None, (hunk,))
        return
    # Unchanged lines between two pieces go with the later one, and those at the end with the last.
    starts = [0, *(run.end for run in runs[:-1])]
    ends = [*starts[1:], len(hunk.lines)]
    for run, first, end in zip(runs, starts, ends, strict=True):
        yield HunkGroup(run.symbol, (slice_hunk(hunk, first, end),))


def _section(hunk: Hunk) -> Symbol | None:
    """The symbol that git's heading of the hunk names."""
    if not hunk.heading:
        return None
    is_old = not hunk.new_count
    first, count = (hunk.old_start, hunk.old_count) if is_old else (hunk.new_start, hunk.new_count)
    return Symbol(hunk.heading[:120], "section", Span(first, first + max(count, 1) - 1))


def _blocks(hunk: Hunk) -> Iterator[tuple[int, int]]:
    """Ranges of changed lines."""
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
    symbols = _line_symbols(lines, outline.symbols, is_new=is_new) if outline else [None] * len(lines)
    if not is_new and outlines.new:
        symbols = [_in_new_version(symbol, outlines.new.symbols) for symbol in symbols]
    at = 0
    for i in range(1, len(lines) + 1):
        if i == len(lines) or symbols[i] != symbols[at]:
            yield _Run(first + at, first + i, symbols[at])
            at = i


def _around(lines: Sequence[DiffLine], outlines: OutlinePair) -> Symbol | None:
    """The smallest symbol around the added lines, else around the removed ones."""
    new = [line.new for line in lines if line.new]
    found = innermost_symbol(outlines.new.symbols, new[0], new[-1]) if outlines.new else None
    if found is None and outlines.old:
        old = [line.old for line in lines if line.old]
        found = innermost_symbol(outlines.old.symbols, old[0], old[-1])
        return _in_new_version(found, outlines.new.symbols) if outlines.new else found
    return found


def _line_symbols(
    lines: Sequence[DiffLine], symbols: Sequence[Symbol], *, is_new: bool
) -> list[Symbol | None]:
    """The symbol that each line belongs to. Outer symbols come first and inner ones take their lines, unless the
    outer one is short and complete here. Empty lines belong to what is before them, or else to what follows."""
    start = lines[0].new if is_new else lines[0].old
    last = start + len(lines) - 1
    owners: list[Symbol | None] = [None] * len(lines)
    kept: list[Symbol] = []
    for symbol in symbols:
        first, end = max(symbol.span.first, start), min(symbol.span.last, last)
        if first > end or (kept and symbol.span.last <= kept[-1].span.last):
            continue
        owners[first - start : end - start + 1] = [symbol] * (end - first + 1)
        if start <= symbol.span.first and symbol.span.last <= last and symbol.span.length <= WHOLE:
            kept.append(symbol)
    text_at = next((i for i, line in enumerate(lines) if line.text.strip()), 0)
    owners[:text_at] = [owners[text_at]] * text_at
    for i in range(text_at + 1, len(lines)):
        if not lines[i].text.strip():
            owners[i] = owners[i - 1]
    return owners


def _in_new_version(symbol: Symbol | None, symbols: Sequence[Symbol]) -> Symbol | None:
    """The symbol of the same name in the new version, or the old one if it was removed."""
    if symbol is None:
        return None
    return next((s for s in symbols if s.name == symbol.name and s.kind == symbol.kind), symbol)


def _join(runs: Sequence[_Run]) -> list[_Run]:
    """Join neighbours in the same symbol."""
    joined: list[_Run] = []
    for run in runs:
        if joined and joined[-1].symbol == run.symbol:
            joined[-1] = _Run(joined[-1].first, run.end, run.symbol)
        else:
            joined.append(run)
    return joined
