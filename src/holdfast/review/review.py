"""A review: a change cut into units, what was found in it so far, and how closely each unit is looked at.

Rule: what follows from the diff is read once; findings and decisions only gather. Whoever looks, rules or a model,
reports here and passes the same door.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.review.checks import run_checks
from holdfast.review.checks.secrets import preload_scanner
from holdfast.review.diff import Diff, Versions
from holdfast.review.findings import ReviewFindings
from holdfast.review.git_changes import read_diff, read_diff_text
from holdfast.review.grammars import QUERIES, missing_grammars
from holdfast.review.outliner import Outliner
from holdfast.review.reports import ReviewReport, SkippedUnit
from holdfast.review.repository import locate_repository
from holdfast.review.sides import Sides
from holdfast.review.unit import Level, LevelDecision, Unit, decide_level
from holdfast.review.units import build_units, uses_below


class Review(Struct):
    """`root` is the folder that all paths are below. `notes` are what a person should know of how it was read."""

    root: Path
    diff: Diff
    versions: Versions
    units: tuple[Unit, ...]
    sides: Sides
    findings: ReviewFindings
    decisions: dict[str, LevelDecision]
    notes: tuple[str, ...] = ()

    def unit(self, id_: str) -> Unit | None:
        return next((unit for unit in self.units if unit.id == id_), None)

    def level(self, unit: Unit) -> Level:
        """How closely a unit is looked at: what was decided, else what the rules suggest."""
        return (self.decisions.get(unit.id) or decide_level(unit.suggestion, None, unit.risk)).level

    def wish(self, unit: Unit, level: Level) -> LevelDecision:
        """A model's word on a unit, fused with that of the rules."""
        self.decisions[unit.id] = decided = decide_level(unit.suggestion, level, unit.risk)
        return decided

    def report(self, *, model: str = "", summary: str = "") -> ReviewReport:
        """What is to be told of it. Units that were to be skipped are named as not looked at."""
        skipped = [
            SkippedUnit(unit.path, self._why_skipped(unit), unit.id)
            for unit in self.units
            if self.level(unit) == "skip"
        ]
        return ReviewReport(
            title=self.diff.title,
            units=self.units,
            findings=self.findings,
            unseen=tuple(skipped),
            decisions=dict(self.decisions),
            model=model,
            summary=summary,
        )

    def _why_skipped(self, unit: Unit) -> str:
        decided = self.decisions.get(unit.id)
        return (decided.reason if decided else "") or unit.suggestion.reason


def start_review(
    root: Path,
    spec: str,
    *,
    text: str | None = None,
    counts_uses: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Review:
    """Read a change, cut it into units, and let the rules look at it. `text` is a diff that `spec` is the title of;
    `tell` hears what is being done."""
    tell("reading the diff")
    with Outliner() as outliner:
        # It starts while git reads.
        outliner.start()
        top = review_root(root)
        diff, versions = read_diff(root, spec) if text is None else read_diff_text(text, spec, top)
        loading = preload_scanner(diff)
        tell(f"cutting {len(diff.files)} files into units")
        uses = uses_below(top) if counts_uses else None
        units = build_units(diff, versions, uses=uses, outliner=outliner)
    if loading is not None:
        loading.join()
    tell(f"checking {len(units)} units")
    return Review(
        root=top,
        diff=diff,
        versions=versions,
        units=units,
        sides=Sides(units, versions),
        findings=run_checks(diff, units, versions),
        decisions={},
        notes=_notes(units),
    )


def _notes(units: Sequence[Unit]) -> tuple[str, ...]:
    """To look for the grammars takes as long as to read a small diff: only where they have found nothing."""
    has_found = any(unit.symbol is not None and unit.symbol.kind != "section" for unit in units)
    is_code = any(unit.hunks and unit.language in QUERIES for unit in units)
    missing = missing_grammars() if is_code and not has_found else ""
    return (missing,) if missing else ()


def review_root(root: Path) -> Path:
    """Paths of a diff begin at the repository's top; of a diff out of a file without one, where we are."""
    try:
        return locate_repository(root).top or root.resolve()
    except InputError:
        return root.resolve()
