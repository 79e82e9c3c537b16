"""Groups of hunks that are reviewed together: hunks split between functions, near hunks of one function joined.

Rule: nothing is lost and nothing is reordered. The pieces of a hunk, one after the other, are the hunk.

A run of added lines (or of removed ones) is split at the definitions in it: a definition of at most `WHOLE` lines
stays whole, a longer class is split at its methods. A run with both is not split, because all its removed lines
come before its added ones; it belongs to the smallest symbol around it. A file that was added or deleted is one
piece up to `WHOLE_FILE` lines. Hunks of one function are joined if at most `NEAR` unchanged lines are between
them.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from holdfast.review.diff import DiffLine, FileChange, Hunk, slice_hunk
from holdfast.review.outline import Outline, innermost_symbol
from holdfast.review.unit import Span, Symbol

WHOLE = 80
WHOLE_FILE = 120
NEAR = 40


class OutlinedFile(Struct, frozen=True):
    """A changed file with the outlines of both versions, if there are any. `head` is how the file begins."""

    change: FileChange
    language: str
    head: str
    old: Outline | None
    new: Outline | None


class HunkGroup(Struct, frozen=True):
    """Hunks of one file that are reviewed together, and the symbol they are in."""

    symbol: Symbol | None
    hunks: tuple[Hunk, ...]

    @property
    def lines(self) -> list[DiffLine]:
        return [line for hunk in self.hunks for line in hunk.lines]


def group_hunks(file: OutlinedFile) -> list[HunkGroup]:
    """In the order of the diff."""
    groups: list[HunkGroup] = []
    for hunk in file.change.hunks:
        for piece in _pieces(file, hunk):
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


def _pieces(file: OutlinedFile, hunk: Hunk) -> Iterator[HunkGroup]:
    if file.new is None and file.old is None:
        yield HunkGroup(_section(hunk), (hunk,))
        return
    is_whole = file.change.change in ("added", "deleted") and len(hunk.lines) <= WHOLE_FILE
    runs = [] if is_whole else _runs(hunk, file)
    if len(runs) < 2:
        yield HunkGroup(runs[0][1] if runs else None, (hunk,))
        return
    # Unchanged lines between two pieces go with the later one, and those at the end with the last.
    cuts = [0, *(end for end, _ in runs[:-1]), len(hunk.lines)]
    for (_, symbol), first, end in zip(runs, cuts, cuts[1:], strict=False):
        yield HunkGroup(symbol, (slice_hunk(hunk, first, end),))


def _section(hunk: Hunk) -> Symbol | None:
    """The symbol that git's heading of the hunk names."""
    if not hunk.heading:
        return None
    is_old = not hunk.new_count
    first, count = (hunk.old_start, hunk.old_count) if is_old else (hunk.new_start, hunk.new_count)
    return Symbol(hunk.heading[:120], "section", Span(first, first + max(count, 1) - 1))


def _runs(hunk: Hunk, file: OutlinedFile) -> list[tuple[int, Symbol | None]]:
    """Runs of changed lines in one symbol, by the index after their last line; unchanged lines may be between."""
    runs: list[tuple[int, Symbol | None]] = []
    at = 0
    for is_changed, block in groupby(hunk.lines, key=lambda line: line.kind != " "):
        lines = list(block)
        for end, symbol in enumerate(_symbols(lines, file) if is_changed else (), start=at + 1):
            if runs and runs[-1][1] == symbol:
                runs.pop()
            runs.append((end, symbol))
        at += len(lines)
    return runs


def _symbols(lines: Sequence[DiffLine], file: OutlinedFile) -> list[Symbol | None]:
    """The symbol of each line of a block of changed lines."""
    kinds = {line.kind for line in lines}
    if len(kinds) == 2:
        return [_around(lines, file)] * len(lines)
    is_new = kinds == {"+"}
    outline = file.new if is_new else file.old
    symbols = _line_symbols(lines, outline.symbols if outline else (), is_new=is_new)
    return symbols if is_new else [_in_new_version(symbol, file) for symbol in symbols]


def _around(lines: Sequence[DiffLine], file: OutlinedFile) -> Symbol | None:
    """The smallest symbol around the added lines, else around the removed ones."""
    new = [line.new for line in lines if line.new]
    found = innermost_symbol(file.new.symbols, new[0], new[-1]) if file.new else None
    if found is None and file.old:
        old = [line.old for line in lines if line.old]
        return _in_new_version(innermost_symbol(file.old.symbols, old[0], old[-1]), file)
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


def _in_new_version(symbol: Symbol | None, file: OutlinedFile) -> Symbol | None:
    """The symbol of the same name in the new version, or the old one if it was removed."""
    if symbol is None or file.new is None:
        return symbol
    return next((s for s in file.new.symbols if s.name == symbol.name and s.kind == symbol.kind), symbol)
