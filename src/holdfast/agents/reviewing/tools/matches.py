"""Lines of the project that match, those of changed files first.

Rule: totals are true however few lines are given back, and files that the change leaves alone always get a share.
"""

import asyncio
from collections.abc import Collection

from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.listing import search
from holdfast.tools.listing.choosing import Choosing, choose_files
from holdfast.tools.listing.finding import Found, expect_pattern, expect_text, searched
from holdfast.tools.listing.lines import read_lines
from holdfast.tools.listing.ripgrep import Finished, Searcher, run_program
from holdfast.tools.workspace import Workspace

SECONDS = 30.0


class Wanted(Struct, frozen=True):
    """`names` is a glob over file names, empty for all; `most` is the most lines that are given back."""

    matching: search.Matching
    most: int
    path: str = "."
    names: str = ""


class Hit(Struct, frozen=True):
    file: str
    line: int
    text: str


class Hits(Struct, frozen=True):
    """`named` is where was looked; `cut` says why the totals are at least."""

    named: str
    total_lines: int
    total_files: int
    hits: tuple[Hit, ...]
    cut: str = ""

    @property
    def is_whole(self) -> bool:
        return len(self.hits) == self.total_lines and not self.cut


class Looking(Struct, frozen=True):
    """Who looks, where, and which files come first."""

    workspace: Workspace
    searcher: Searcher
    changed: Collection[str] = ()


async def count_lines(looking: Looking, wanted: Wanted) -> tuple[dict[str, int], str]:
    """How many lines match in which files, as tools name them; and why there may be more."""
    with searched(looking.workspace, wanted.path) as found:
        counts, cut = await _counts(looking, wanted, found)
        return {found.shown(path): number for path, number in counts.items()}, cut


async def find_hits(looking: Looking, wanted: Wanted) -> Hits:
    with searched(looking.workspace, wanted.path) as found:
        if found.target != "./":
            expect_text(looking.workspace, wanted.path)
        counts, cut = await _counts(looking, wanted, found)
        ours = {path: n for path, n in counts.items() if found.shown(path) in looking.changed}
        others = {path: n for path, n in counts.items() if path not in ours}
        share = min(sum(others.values()), wanted.most // 3)
        hits = await _lines(looking, wanted, found, ours, wanted.most - share)
        hits += await _lines(looking, wanted, found, others, wanted.most - len(hits))
        return Hits(found.named, sum(counts.values()), len(counts), tuple(hits), cut)


async def _counts(looking: Looking, wanted: Wanted, found: Found) -> tuple[dict[str, int], str]:
    expect_pattern(wanted.matching.pattern)
    walking = search.Walking(found.target, names=wanted.names)
    finished = await run_program(looking.searcher.counts(wanted.matching, walking), found.handle, SECONDS)
    _expect_answer(finished)
    counts = await asyncio.to_thread(search.read_counts, finished.output)
    if finished.cut and not counts:
        raise ToolError("TIMEOUT", finished.cut, hint="Search a smaller folder")
    return counts, finished.cut


def _expect_answer(finished: Finished) -> None:
    if finished.code < 2 or finished.cut or finished.output:
        return
    if trouble := search.pattern_trouble(finished.errors):
        raise ToolError("INVALID_PARAM", f"this is no valid regular expression: {trouble}")


async def _lines(
    looking: Looking, wanted: Wanted, found: Found, counts: dict[str, int], most: int
) -> list[Hit]:
    """The lines of these files, at most so many, in the order in which the files matter."""
    if not counts or most < 1:
        return []
    asked = Choosing(wanted.matching, "relevance", most)
    chosen = await asyncio.to_thread(choose_files, counts, found.descriptor, asked)
    picking = search.Picking(chosen.shown, chosen.cap)
    picked = await run_program(looking.searcher.positions(wanted.matching, picking), found.handle, SECONDS)
    return await asyncio.to_thread(_read, looking.workspace, found, picking, picked)


def _read(workspace: Workspace, found: Found, picking: search.Picking, picked: Finished) -> list[Hit]:
    by_file: dict[str, list[search.Position]] = {name: [] for name in picking.files}
    for position in search.read_positions(picked.output):
        by_file.get(position.path, []).append(position)
    return [
        Hit(line["file"], line["line"], line["text"])
        for positions in by_file.values()
        if positions
        for line in read_lines(workspace, found.place.path, positions) or ()
    ]
