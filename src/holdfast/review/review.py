"""A review: the units of a change, the findings so far, and how closely each unit is reviewed.

Rule: what follows from the diff is computed once; findings and decisions only grow. Rules and models report
findings through the same verification.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.review.checks import run_checks
from holdfast.review.checks.secrets import preload_scanner
from holdfast.review.diff import Diff, Versions
from holdfast.review.findings import ReviewFindings, Sides
from holdfast.review.git_changes import read_diff, read_diff_text, read_messages, review_root
from holdfast.review.grammars import QUERIES, missing_grammars
from holdfast.review.intent import ChangeIntent
from holdfast.review.linter_findings import LinterRun
from holdfast.review.outline import Outliner
from holdfast.review.report import ReviewReport, SkippedUnit
from holdfast.review.unit import LevelDecision, ReviewLevel, Unit, decide_level
from holdfast.review.units import build_units, count_uses


class Review(Struct):
    """`root` is the folder that paths are relative to. `notes` tell the user about limits of this review."""

    root: Path
    diff: Diff
    versions: Versions
    units: tuple[Unit, ...]
    sides: Sides
    findings: ReviewFindings
    decisions: dict[str, LevelDecision]
    intent: ChangeIntent = ChangeIntent()
    notes: tuple[str, ...] = ()
    linters: tuple[LinterRun, ...] = ()

    def unit(self, id_: str) -> Unit | None:
        return next((unit for unit in self.units if unit.id == id_), None)

    def decision(self, unit: Unit) -> LevelDecision:
        """How closely a unit is reviewed: what was decided, else what the rules suggest."""
        return self.decisions.get(unit.id) or decide_level(unit.suggestion, None, unit.risk)

    def level(self, unit: Unit) -> ReviewLevel:
        return self.decision(unit).level

    def ask_level(self, unit: Unit, level: ReviewLevel) -> LevelDecision:
        """Decide the level of a unit from what a model asks for and what the rules suggest."""
        self.decisions[unit.id] = decided = decide_level(unit.suggestion, level, unit.risk)
        return decided

    def report(self, *, model: str = "", summary: str = "") -> ReviewReport:
        """The report so far. Skipped units are listed as not reviewed."""
        skipped = [
            SkippedUnit(unit.path, decision.reason or unit.suggestion.reason, unit.id)
            for unit in self.units
            if (decision := self.decision(unit)).level == "skip"
        ]
        return ReviewReport(
            title=self.diff.title,
            units=self.units,
            findings=self.findings,
            unseen=tuple(skipped),
            linters=self.linters,
            decisions=dict(self.decisions),
            model=model,
            summary=summary,
        )


def start_review(
    root: Path,
    spec: str,
    *,
    text: str | None = None,
    title: str = "",
    about: str = "",
    counts_uses: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Review:
    """Read a change, split it into units and run the checks. If the diff is given as `text`, `spec` is its title;
    `title` replaces it. `about` is what its author says of it beside the commit messages. `tell` receives the
    progress."""
    tell("reading the diff")
    with Outliner() as outliner:
        outliner.start()  # it starts while git reads
        top = review_root(root)
        diff, versions = read_diff(root, spec) if text is None else read_diff_text(text, spec, top)
        diff = replace(diff, title=title or diff.title)
        intent = ChangeIntent(read_messages(root, spec) if text is None else (), about)
        loading = preload_scanner(diff)
        tell(f"splitting {len(diff.files)} files into units")
        uses = partial(count_uses, top) if counts_uses else None
        units = build_units(diff, versions, count_uses=uses, outliner=outliner)
    if loading is not None:
        loading.join()
    tell(f"checking {len(units)} units")
    sides = Sides(units, versions)
    return Review(
        root=top,
        diff=diff,
        versions=versions,
        units=units,
        sides=sides,
        findings=run_checks(diff, sides, intent),
        decisions={},
        intent=intent,
        notes=_notes(units),
    )


def _notes(units: Sequence[Unit]) -> tuple[str, ...]:
    """Looking for the grammars takes as long as reading a small diff: only done if they found nothing."""
    has_symbols = any(unit.symbol is not None and unit.symbol.kind != "section" for unit in units)
    is_code = any(unit.hunks and unit.language in QUERIES for unit in units)
    missing = missing_grammars() if is_code and not has_symbols else ""
    return (missing,) if missing else ()
