"""A fit as tables for a terminal.

Rule: only cells and columns; how they are drawn is the command line's affair.
"""

from collections.abc import Mapping, Sequence

from holdfast.fitting.meanings import LINE_MEANINGS, NAME_MEANINGS, START, Meaning, factor
from holdfast.fitting.results import Fit, Quality, Trial, TrialRow, mean_quality
from holdfast.replay.report import figures
from holdfast.replay.report.terminal import Column, Table

MEAN = "mean"


def fit_tables(fit: Fit) -> list[Table]:
    """The weights, then their quality, then the trial if there was one. No table is empty."""
    tables = [
        _weights("lines", fit.weights.lines, LINE_MEANINGS),
        _weights("names", fit.weights.names, NAME_MEANINGS),
    ]
    if fit.held_out != "nothing":
        tables += [_quality("lines", fit.lines, fit.held_out), _quality("names", fit.names, fit.held_out)]
    return tables + (_trial(fit.trial, fit.held_out) if fit.trial else [])


def _columns(first: str, *numbers: str, last: str = "") -> tuple[Column, ...]:
    tail: tuple[Column, ...] = ((last, "wrapped"),) if last else ()
    return ((first, "wrapped"), *((title, "number") for title in numbers), *tail)


def _weights(kind: str, weights: Mapping[str, float], meanings: Mapping[str, Meaning]) -> Table:
    rates = {feature: factor(meanings[feature], weight) for feature, weight in weights.items()}

    def effect(feature: str) -> tuple[bool, float, str]:
        return feature != START, -max(rates[feature], 1 / rates[feature]), feature

    rows: list[list[str | int]] = [
        [
            feature,
            _signed(weights[feature]),
            _times(rates[feature]),
            meanings[feature].text,
        ]
        for feature in sorted(weights, key=effect)
    ]
    title = f"what makes {kind} worth keeping, largest effect first"
    return Table(title, _columns("feature", "weight", "×", last="where"), rows)


def _quality(kind: str, rows: Sequence[Quality], held_out: str) -> Table:
    columns = _columns(held_out, "examples", "used", "curve", "hand", "tenth", "hand")
    judged = [*rows, mean_quality(list(rows), MEAN)]
    title = f"{kind}: quality on each {held_out}, fitted on the others"
    return Table(title, columns, [_quality_row(row) for row in judged])


def _quality_row(row: Quality) -> list[str | int]:
    return [
        figures.plain(row.held_out),
        row.examples,
        row.used,
        *map(figures.recall, (row.curve, row.hand_curve, row.best, row.hand_best)),
    ]


def _trial(trial: Trial, held_out: str) -> list[Table]:
    columns = _columns("project", "hard", "hand", "all", "hand", "dollars", "hand")
    tables: list[Table] = []
    for budget in dict.fromkeys(row.budget for row in trial.rows):
        rows = [_trial_row(row) for row in trial.rows if row.budget == budget]
        fitted = "" if held_out == "nothing" else f", fitted on the other {held_out}s"
        tables.append(Table(f"replay at {figures.budget(budget)}{fitted}", columns, rows))
    compared = _columns("budget", "hard", "95 %", "all", "95 %", "dollars", "95 %")
    differences: list[list[str | int]] = []
    for found in trial.differences:
        cells: list[str | int] = [figures.budget(found.budget)]
        for interval in (found.hard, found.all, found.dollars):
            cells += [figures.signed(figures.mean(interval)), figures.signed_bounds(interval)]
        differences.append(cells)
    return [*tables, Table("learned minus hand-written, paired by recording", compared, differences)]


def _trial_row(row: TrialRow) -> list[str | int]:
    pairs = zip(
        (row.learned.hard, row.learned.all, row.learned.dollars),
        (row.hand.hard, row.hand.all, row.hand.dollars),
        strict=True,
    )
    return [
        figures.plain(row.project) or MEAN,
        *(figures.recall(value) for pair in pairs for value in pair),
    ]


def _signed(weight: float) -> str:
    return f"{figures.MINUS if weight < 0 else '+'}{abs(weight):.2f}"


def _times(rate: float) -> str:
    return f"{rate:.2f}" if rate >= 0.1 else f"{rate:.2g}"
