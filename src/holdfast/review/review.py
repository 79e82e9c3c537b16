"""A review: a change cut into units, what was found in it so far, and how closely each unit is looked at.

Rule: what follows from the diff is read once; findings and decisions only gather. Whoever looks, rules or a model,
reports here and passes the same door.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.review.checks import run_checks
from holdfast.review.checks.secrets import load_ahead
from holdfast.review.code.grammars import QUERIES, missing_grammars
from holdfast.review.code.outliner import Outliner
from holdfast.review.diff import Diff, Versions
from holdfast.review.findings import Findings
from holdfast.review.levels import decide
from holdfast.review.places import Sides
from holdfast.review.reading.git import read_diff, read_diff_text
from holdfast.review.reading.repository import locate
from holdfast.review.reading.uses import uses_below
from holdfast.review.reports import Report, Unseen
from holdfast.review.unit import Decision, Level, Unit
from holdfast.review.units import units_of


class Review(Struct):
    """`root` is the folder that all paths are below. `notes` are what a person should know of how it was read."""

    root: Path
    diff: Diff
    versions: Versions
    units: tuple[Unit, ...]
    sides: Sides
    findings: Findings
    decisions: dict[str, Decision]
    notes: tuple[str, ...] = ()

    def unit(self, id_: str) -> Unit | None:
        return next((unit for unit in self.units if unit.id == id_), None)

    def level(self, unit: Unit) -> Level:
        """How closely a unit is looked at: what was decided, else what the rules suggest."""
        return (self.decisions.get(unit.id) or decide(unit.suggestion, None, unit.risk)).level

    def wish(self, unit: Unit, level: Level) -> Decision:
        """A model's word on a unit, fused with that of the rules."""
        self.decisions[unit.id] = decided = decide(unit.suggestion, level, unit.risk)
        return decided

    def report(self, *, model: str = "", summary: str = "") -> Report:
        """What is to be told of it. Units that were to be skipped are named as not looked at."""
        skipped = [
            Unseen(unit.path, self._why_skipped(unit), unit.id)
            for unit in self.units
            if self.level(unit) == "skip"
        ]
        return Report(
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


def begin_review(
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
        top = top_of(root)
        diff, versions = read_diff(root, spec) if text is None else read_diff_text(text, spec, top)
        loading = load_ahead(diff)
        tell(f"cutting {len(diff.files)} files into units")
        uses = uses_below(top) if counts_uses else None
        units = units_of(diff, versions, uses=uses, outliner=outliner)
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


def top_of(root: Path) -> Path:
    """Paths of a diff begin at the repository's top; of a diff out of a file without one, where we are."""
    try:
        return locate(root).top or root.resolve()
    except InputError:
        return root.resolve()
