"""A fit as tables for a terminal, and what each feature means in words.

Rule: only cells and columns; how they are drawn is the command line's affair. Every feature has a meaning here,
and a test holds the two lists together. An amount enters the value of a line by its logarithm, so that its
weight reads as a factor for each doubling; the other features are yes or no.
"""

from collections.abc import Mapping, Sequence
from math import exp

from msgspec.structs import astuple

from holdfast.lab.fit.fit_results import Fit, RankingQuality, Trial, mean_quality
from holdfast.lab.report import figures
from holdfast.lab.report.report_table import Cells, ReportTable, number_columns
from holdfast.packing.lines.features import EDGE_ROWS, LONG_LINE, NEW, RECENT_STEPS

START = "always"
"""The constant: what a worth begins with."""


DOUBLING = "each doubling of"
"""How the meanings of amounts begin."""


def factor(meaning: str, weight: float) -> float:
    """What a worth is multiplied by where the feature holds, or where its amount doubles."""
    return 2**weight if meaning.startswith(DOUBLING) else exp(weight)


LINE_MEANINGS = {
    START: "what every line begins with",
    "user": "the user said it",
    "said": "the agent said it, outside of calls",
    "call": "it tells what a call was: its path, command or pattern",
    "argument": "the agent wrote it, in a text that went with a call",
    "result": "a tool returned it",
    "read": "a tool that reads files returned it",
    "search": "a search returned it",
    "shell": "a command returned it",
    "listing": "a listing of files returned it",
    "change": "its call edited or wrote a file",
    "other_tool": "a tool of no known kind returned it",
    "log_size": f"{DOUBLING} its tokens",
    "long": f"it has more than {LONG_LINE} tokens",
    "indent": f"{DOUBLING} the spaces before it",
    "definition": "it defines a function, a class, a type or a constant",
    "trouble": "it speaks of an error, a failure or a warning",
    "import": "it imports something",
    "comment": "it is a comment",
    "log_names": f"{DOUBLING} the names in it",
    "first_rows": f"it is among the first {EDGE_ROWS} rows of its text",
    "last_rows": f"it is among the last {EDGE_ROWS} rows of its text",
    "log_rows": f"{DOUBLING} the rows of its text",
    "added": "it begins with a plus, as in a diff",
    "removed": "it begins with a minus, as in a diff",
    "numbered": "a listing put a number before it",
    "lone": "it is one name and nothing else",
    "log_age": f"{DOUBLING} the steps since it was seen",
    "log_repeats": f"{DOUBLING} how often it was seen",
    "in_goal": "it has a name that the user brought up",
    "file_changed": "its file was changed at some time",
    "log_file_age": f"{DOUBLING} the steps since its file was touched",
    "file_changed_since": "its file was changed after it was seen",
}

NAME_MEANINGS = {
    START: "what every name begins with",
    "own": "the agent itself brought it up",
    "path": "it has a slash",
    "deep_path": "it has three slashes or more",
    "extension": "it ends as file names do",
    "number": "it is a number, a date or a hash",
    "address": "it is the address of a page",
    "camel": "it has a capital inside",
    "snake": "it has an underscore",
    "dotted": "it has a dot and no slash",
    "log_length": f"{DOUBLING} its characters",
    "log_count": f"{DOUBLING} how often it was seen",
    "log_messages": f"{DOUBLING} the steps and messages it was seen in",
    "log_age": f"{DOUBLING} the steps since it was last seen",
    "used": "the agent has used it in a call",
    "log_used": f"{DOUBLING} how often it was used in calls",
    "used_lately": f"it was used in a call of the last {RECENT_STEPS} steps",
    "in_user": "the user has said it",
    "log_said": f"{DOUBLING} how often the agent said it outside of calls",
    "in_trouble": "it was in a line about an error, a failure or a warning",
    "in_definition": "it was in a line that defines something",
    "file_touched": "it is the path of a file that was read or changed, or the end of one",
    "file_changed": "it is the path of a file that was changed, or the end of one",
    "log_steps": f"{DOUBLING} the steps so far",
    "new": f"it was first seen in the last {NEW} steps",
    "last_in_read": "it was last seen in a file that was read",
    "last_in_search": "it was last seen in the result of a search",
    "last_in_shell": "it was last seen in the output of a command",
    "last_in_call": "it was last seen in a call",
    "log_brought_up": f"{DOUBLING} how many names the text brought up in which it was first seen",
    "source_used": "later calls used every name that this text brought up",
    "log_source_used": f"{DOUBLING} how many of them later calls used",
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


def _weights(kind: str, weights: Mapping[str, float], meanings: Mapping[str, str]) -> ReportTable:
    rates = {feature: factor(meanings[feature], weight) for feature, weight in weights.items()}

    def effect(feature: str) -> tuple[bool, float, str]:
        return feature != START, -max(rates[feature], 1 / rates[feature]), feature

    rows: list[Cells] = []
    for feature in sorted(weights, key=effect):
        weight, rate = weights[feature], rates[feature]
        sign = figures.MINUS if weight < 0 else "+"
        times = f"{rate:.2f}" if rate >= 0.1 else f"{rate:.2g}"
        rows.append([feature, f"{sign}{abs(weight):.2f}", times, meanings[feature]])
    title = f"what makes {kind} worth keeping, largest effect first"
    return ReportTable(title, (*number_columns("feature", "weight", "×"), ("where", "wrapped")), rows)


def _quality(kind: str, rows: Sequence[RankingQuality], held_out: str) -> ReportTable:
    columns = number_columns(held_out, "examples", "used", "curve", "hand", "tenth", "hand")
    cells: list[Cells] = []
    for row in (*rows, mean_quality(rows, MEAN)):
        found = map(figures.decimal, (row.curve, row.hand_curve, row.best, row.hand_best))
        cells.append([figures.plain(row.held_out), row.examples, row.used, *found])
    return ReportTable(f"{kind}: quality on each {held_out}, fitted on the others", columns, cells)


def _trial(trial: Trial, held_out: str) -> list[ReportTable]:
    columns = number_columns("project", "hard", "hand", "all", "hand", "dollars", "hand")
    fitted = "" if held_out == "nothing" else f", fitted on the other {held_out}s"
    tables: dict[int, ReportTable] = {}
    for row in trial.rows:
        title = f"replay at {figures.budget(row.budget)}{fitted}"
        pairs = zip(astuple(row.learned), astuple(row.hand), strict=True)
        cells: Cells = [figures.plain(row.project) or MEAN]
        cells += [figures.decimal(value) for pair in pairs for value in pair]
        tables.setdefault(row.budget, ReportTable(title, columns, [])).rows.append(cells)
    compared = number_columns("budget", "hard", "95%", "all", "95%", "dollars", "95%")
    differences: list[Cells] = []
    for found in trial.differences:
        cells = [figures.budget(found.budget)]
        for interval in (found.hard, found.all, found.dollars):
            cells += [figures.signed(figures.mean(interval)), figures.signed_bounds(interval)]
        differences.append(cells)
    last = ReportTable("learned minus hand-written, paired by recording", compared, differences)
    return [*tables.values(), last]
