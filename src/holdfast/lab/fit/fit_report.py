"""A fit as tables for a terminal, and what each feature means in words.

Rule: only cells and columns; how they are drawn is the command line's affair. Every feature has a meaning here,
and a test holds the two lists together. An amount enters the value of a line by its logarithm, so that its
weight reads as a factor for each doubling; the other features are yes or no.
"""

from collections.abc import Mapping, Sequence
from math import exp, log

from msgspec import Struct

from holdfast.lab.fit.fit_results import Fit, RankingQuality, Trial, TrialRow, mean_quality
from holdfast.lab.report import figures
from holdfast.lab.report.text import ReportTable, TableColumn
from holdfast.packing.lines.features import EDGE, LATELY, LONG_LINE, NEW

START = "always"
"""The constant: what a worth begins with."""


class FeatureMeaning(Struct, frozen=True):
    text: str
    is_amount: bool = False


def amount(of: str) -> FeatureMeaning:
    return FeatureMeaning(f"each doubling of {of}", is_amount=True)


def factor(meaning: FeatureMeaning, weight: float) -> float:
    """What a worth is multiplied by where the feature holds, or where its amount doubles."""
    return exp(weight * log(2)) if meaning.is_amount else exp(weight)


LINE_MEANINGS = {
    START: FeatureMeaning("what every line begins with"),
    "user": FeatureMeaning("the user said it"),
    "said": FeatureMeaning("the agent said it, outside of calls"),
    "call": FeatureMeaning("it tells what a call was: its path, command or pattern"),
    "argument": FeatureMeaning("the agent wrote it, in a text that went with a call"),
    "result": FeatureMeaning("a tool returned it"),
    "read": FeatureMeaning("a tool that reads files returned it"),
    "search": FeatureMeaning("a search returned it"),
    "shell": FeatureMeaning("a command returned it"),
    "listing": FeatureMeaning("a listing of files returned it"),
    "change": FeatureMeaning("its call edited or wrote a file"),
    "other_tool": FeatureMeaning("a tool of no known kind returned it"),
    "log_size": amount("its tokens"),
    "long": FeatureMeaning(f"it has more than {LONG_LINE} tokens"),
    "indent": amount("the spaces before it"),
    "definition": FeatureMeaning("it defines a function, a class, a type or a constant"),
    "trouble": FeatureMeaning("it speaks of an error, a failure or a warning"),
    "import": FeatureMeaning("it imports something"),
    "comment": FeatureMeaning("it is a comment"),
    "log_names": amount("the names in it"),
    "first_rows": FeatureMeaning(f"it is among the first {EDGE} rows of its text"),
    "last_rows": FeatureMeaning(f"it is among the last {EDGE} rows of its text"),
    "log_rows": amount("the rows of its text"),
    "added": FeatureMeaning("it begins with a plus, as in a diff"),
    "removed": FeatureMeaning("it begins with a minus, as in a diff"),
    "numbered": FeatureMeaning("a listing put a number before it"),
    "lone": FeatureMeaning("it is one name and nothing else"),
    "log_age": amount("the steps since it was seen"),
    "log_repeats": amount("how often it was seen"),
    "in_goal": FeatureMeaning("it has a name that the user brought up"),
    "file_changed": FeatureMeaning("its file was changed at some time"),
    "log_file_age": amount("the steps since its file was touched"),
    "file_changed_since": FeatureMeaning("its file was changed after it was seen"),
}

NAME_MEANINGS = {
    START: FeatureMeaning("what every name begins with"),
    "own": FeatureMeaning("the agent itself brought it up"),
    "path": FeatureMeaning("it has a slash"),
    "deep_path": FeatureMeaning("it has three slashes or more"),
    "extension": FeatureMeaning("it ends as file names do"),
    "number": FeatureMeaning("it is a number, a date or a hash"),
    "address": FeatureMeaning("it is the address of a page"),
    "camel": FeatureMeaning("it has a capital inside"),
    "snake": FeatureMeaning("it has an underscore"),
    "dotted": FeatureMeaning("it has a dot and no slash"),
    "log_length": amount("its characters"),
    "log_count": amount("how often it was seen"),
    "log_messages": amount("the steps and messages it was seen in"),
    "log_age": amount("the steps since it was last seen"),
    "used": FeatureMeaning("the agent has used it in a call"),
    "log_used": amount("how often it was used in calls"),
    "used_lately": FeatureMeaning(f"it was used in a call of the last {LATELY} steps"),
    "in_user": FeatureMeaning("the user has said it"),
    "log_said": amount("how often the agent said it outside of calls"),
    "in_trouble": FeatureMeaning("it stood in a line about an error, a failure or a warning"),
    "in_definition": FeatureMeaning("it stood in a line that defines something"),
    "file_touched": FeatureMeaning("it is the path of a file that was read or changed, or the end of one"),
    "file_changed": FeatureMeaning("it is the path of a file that was changed, or the end of one"),
    "log_steps": amount("the steps so far"),
    "new": FeatureMeaning(f"it was first seen in the last {NEW} steps"),
}


MEAN = "mean"


def fit_tables(fit: Fit) -> list[ReportTable]:
    """The weights, then their quality, then the trial if there was one. No table is empty."""
    tables = [
        _weights("lines", fit.weights.lines, LINE_MEANINGS),
        _weights("names", fit.weights.names, NAME_MEANINGS),
    ]
    if fit.held_out != "nothing":
        tables += [_quality("lines", fit.lines, fit.held_out), _quality("names", fit.names, fit.held_out)]
    return tables + (_trial(fit.trial, fit.held_out) if fit.trial else [])


def _columns(first: str, *numbers: str, last: str = "") -> tuple[TableColumn, ...]:
    tail: tuple[TableColumn, ...] = ((last, "wrapped"),) if last else ()
    return ((first, "wrapped"), *((title, "number") for title in numbers), *tail)


def _weights(kind: str, weights: Mapping[str, float], meanings: Mapping[str, FeatureMeaning]) -> ReportTable:
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
    return ReportTable(title, _columns("feature", "weight", "×", last="where"), rows)


def _quality(kind: str, rows: Sequence[RankingQuality], held_out: str) -> ReportTable:
    columns = _columns(held_out, "examples", "used", "curve", "hand", "tenth", "hand")
    judged = [*rows, mean_quality(list(rows), MEAN)]
    title = f"{kind}: quality on each {held_out}, fitted on the others"
    return ReportTable(title, columns, [_quality_row(row) for row in judged])


def _quality_row(row: RankingQuality) -> list[str | int]:
    return [
        figures.plain(row.held_out),
        row.examples,
        row.used,
        *map(figures.decimal, (row.curve, row.hand_curve, row.best, row.hand_best)),
    ]


def _trial(trial: Trial, held_out: str) -> list[ReportTable]:
    columns = _columns("project", "hard", "hand", "all", "hand", "dollars", "hand")
    tables: list[ReportTable] = []
    for budget in dict.fromkeys(row.budget for row in trial.rows):
        rows = [_trial_row(row) for row in trial.rows if row.budget == budget]
        fitted = "" if held_out == "nothing" else f", fitted on the other {held_out}s"
        tables.append(ReportTable(f"replay at {figures.budget(budget)}{fitted}", columns, rows))
    compared = _columns("budget", "hard", "95 %", "all", "95 %", "dollars", "95 %")
    differences: list[list[str | int]] = []
    for found in trial.differences:
        cells: list[str | int] = [figures.budget(found.budget)]
        for interval in (found.hard, found.all, found.dollars):
            cells += [figures.signed(figures.mean(interval)), figures.signed_bounds(interval)]
        differences.append(cells)
    return [*tables, ReportTable("learned minus hand-written, paired by recording", compared, differences)]


def _trial_row(row: TrialRow) -> list[str | int]:
    pairs = zip(
        (row.learned.hard, row.learned.all, row.learned.dollars),
        (row.hand.hard, row.hand.all, row.hand.dollars),
        strict=True,
    )
    return [
        figures.plain(row.project) or MEAN,
        *(figures.decimal(value) for pair in pairs for value in pair),
    ]


def _signed(weight: float) -> str:
    return f"{figures.MINUS if weight < 0 else '+'}{abs(weight):.2f}"


def _times(rate: float) -> str:
    return f"{rate:.2f}" if rate >= 0.1 else f"{rate:.2g}"
