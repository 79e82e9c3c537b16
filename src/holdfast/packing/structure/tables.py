"""Rows that stand out: a value that its column hardly ever holds, or a number far from the others.

Rule: few stand out, or none do. A column in which much differs has no usual value.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from holdfast.packing.structure.findings import (
    DULL,
    HINT,
    LONGEST,
    NOWHERE,
    SLIGHT,
    TELLING,
    BareText,
    LineFindings,
)

USUAL = 0.8
"""The share of a column from which a value is what the column holds."""
FEWEST = 5
"""Rows below which nothing is usual."""
MOST = 0.2
"""The share of rows that may stand out."""
FAR = 12.0
"""How many times the usual distance from the middle makes a number stand out."""
_UNITS = {"": 1.0, "%": 1.0, "s": 1.0, "B": 1.0, "b": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_LONGEST_NUMBER = 24


def outlier_rows(rows: Sequence[Sequence[str]]) -> set[int]:
    """Numbers of the rows that stand out in some column. Most rows say how many columns there are."""
    if len(rows) < FEWEST:
        return set()
    width = Counter(map(len, rows)).most_common(1)[0][0]
    out: set[int] = set()
    for at in range(width):
        column = [row[at] if at < len(row) else "" for row in rows]
        odd = _odd(column)
        if len(odd) <= len(rows) * MOST:
            out |= odd
    return out if len(out) <= len(rows) * MOST else set()


def _odd(column: Sequence[str]) -> set[int]:
    usual, times = Counter(column).most_common(1)[0]
    if times >= len(column) * USUAL:
        return {at for at, value in enumerate(column) if value != usual}
    numbers = [_number(value) for value in column]
    known = [n for n in numbers if n is not None]
    if len(known) < len(column) * USUAL:
        return set()
    middle = median(known)
    spread = median(abs(n - middle) for n in known)
    if not spread:
        return set()
    return {at for at, n in enumerate(numbers) if n is not None and abs(n - middle) > FAR * spread}


def _number(text: str) -> float | None:
    """The number that a cell is, its unit reckoned in; None if it is none."""
    bare = text.strip().replace(",", "") if len(text) <= _LONGEST_NUMBER else ""
    end = len(bare)
    while end and not bare[end - 1].isdigit():
        end -= 1
    unit = bare[end:].removesuffix("iB").removesuffix("B")[:1]
    try:
        return float(bare[:end]) * _UNITS.get(unit, 1.0)
    except ValueError:
        return None


# Tables: rows hang on the header row, rows that stand out count more.
#
# Rule: a table is a header with rows of its shape below it; columns that merely happen to line up are none.

_RULE = re.compile(r"[ \t]*+[|+:\-=─━┼┬┴├┤┌┐└┘╞╡╪│┃ ]*+\s*")
_RULES = tuple((sign, re.compile(rf"{sign}[^\n]*+")) for sign in ("---", "===", "───", "━━━"))
"""What a line of dashes holds, with a pattern that begins with it."""
_BAR = re.compile(r"[|│┃]")
_LONG_ROW = re.compile(
    r"\n[ \t]*+[bcdlps-][rwxsStT-]{9}[.+@]?+ ++\d++ ++\S++ ++(?:\S++ ++)?([\d.,]++[KMGT]?) ++(?=\S)"
)
_DIRECTORY = re.compile(r"[^\s:][^:\n]{0,300}:$")
_GAP = re.compile(r"\s{2,}|\t")
FEWEST_ROWS = 2
FEWEST_RECORDS = 3
_SAMPLE = 30


def mark_tables(sight: BareText, findings: LineFindings) -> None:
    text = sight.text
    _mark_ruled(sight, findings)
    if "rw-" in text or "r-x" in text:
        _mark_long_listing(sight, findings)
    _mark_capitals(sight, findings)
    _mark_records(sight, findings)


def _mark(
    findings: LineFindings,
    header: int,
    rows: Sequence[int],
    cells: Iterable[Sequence[str]],
    usual: float = 0.0,
) -> None:
    """A table's header and rows."""
    if header != NOWHERE:
        findings.claim("table", header, HINT)
    odd = outlier_rows([*cells])
    for at, row in enumerate(rows):
        findings.claim("table", row, TELLING if at in odd else usual, header)


def _mark_ruled(sight: BareText, findings: LineFindings) -> None:
    """Tables with a line of dashes below the header, bars between the cells or not."""
    lines = sight.lines
    done = NOWHERE
    for rule in _rules(sight):
        if rule <= done or findings.taken[rule]:
            continue
        has_bars = bool(_BAR.search(lines[rule][:LONGEST])) or "+-" in lines[rule][:LONGEST]
        header = _header_of(lines, rule, has_bars)
        if header == NOWHERE:
            continue
        width = len(_cells(lines[header], has_bars))
        if width < 2:
            continue
        rows = [*_rows_below(lines, max(rule, header) + 1, width, has_bars)]
        if len(rows) < FEWEST_ROWS - has_bars:
            continue
        done = rows[-1] if rows else rule
        _mark(findings, header, rows, (_cells(lines[n], has_bars) for n in rows))
        for line in range(rule, done + 1):
            if _is_rule(lines[line]):
                findings.claim("table", line, SLIGHT, header if header < line else NOWHERE)


def _rules(sight: BareText) -> list[int]:
    """The lines of dashes, in order."""
    found = {line for sign, pattern in _RULES if sign in sight.text for line, _ in sight.hits(pattern)}
    return sorted(line for line in found if _is_rule(sight.lines[line]))


def _header_of(lines: Sequence[str], rule: int, has_bars: bool) -> int:
    """The row above the rule, or below it where the rule opens a box."""
    if rule and _is_row(lines[rule - 1], has_bars):
        return rule - 1
    below = rule + 1
    return below if has_bars and below < len(lines) and _is_row(lines[below], has_bars) else NOWHERE


def _is_row(line: str, has_bars: bool) -> bool:
    head = line[:LONGEST]
    if not head.strip() or _is_rule(line):
        return False
    return bool(_BAR.search(head)) if has_bars else bool(_GAP.search(head.strip()))


def _is_rule(line: str) -> bool:
    return len(line) <= 4 * LONGEST and bool(line.strip()) and _RULE.fullmatch(line) is not None


def _rows_below(lines: Sequence[str], first: int, width: int, has_bars: bool) -> Iterator[int]:
    """The rows from a line on; rules between them are passed over. Without bars, gaps make most of the cells."""
    for number in range(first, len(lines)):
        line = lines[number]
        if _is_rule(line):
            continue
        if not _is_row(line, has_bars) or (not has_bars and len(_cells(line, False)) < max(width - 2, 2)):
            return
        yield number


def _cells(line: str, has_bars: bool) -> list[str]:
    head = line[: 4 * LONGEST].strip()
    if has_bars:
        return [cell.strip() for cell in _BAR.split(head.strip("|│┃"))]
    return _GAP.split(head)


def _mark_long_listing(sight: BareText, findings: LineFindings) -> None:
    """`ls -l`: no header, but a folder's name may stand above."""
    rows = [(line, found[1]) for line, found in sight.hits(_LONG_ROW) if not findings.taken[line]]
    if len(rows) < FEWEST_ROWS:
        return
    lines = sight.lines
    sizes = outlier_rows([[lines[line].lstrip()[0], size] for line, size in rows])
    header, expected = NOWHERE, NOWHERE
    for at, (line, _) in enumerate(rows):
        if line != expected:
            header = _folder_above(lines, line)
        expected = line + 1
        is_self = lines[line].rstrip().endswith((" .", " .."))
        findings.claim("table", line, DULL if is_self else HINT if at in sizes else 0.0, header)


def _folder_above(lines: Sequence[str], line: int) -> int:
    for above in range(line - 1, max(line - 3, -1), -1):
        if len(lines[above]) <= LONGEST and _DIRECTORY.match(lines[above].rstrip()):
            return above
    return NOWHERE


def _mark_capitals(sight: BareText, findings: LineFindings) -> None:
    """Tables of `docker ps`, `kubectl get`, `ps`: a row of names in capitals, then rows with as many cells."""
    lines = sight.lines
    done = NOWHERE
    heads = [n for n, line in enumerate(lines) if line.isupper() and ("  " in line or "\t" in line)]
    if lines[0].startswith("Filesystem "):
        heads.insert(0, 0)
    for head in heads:
        # Single blanks part the columns of `ps` and `df`, two or more those of all the others.
        width = len(lines[head][:LONGEST].split())
        if head <= done or findings.taken[head] or width < 2 or not lines[head][0].isalpha():
            continue
        rows: list[int] = []
        for number in range(head + 1, len(lines)):
            line = lines[number]
            if not line.strip() or findings.taken[number] or len(line[:LONGEST].split()) < max(width - 3, 2):
                break
            if not _GAP.search(line[:LONGEST].strip()) and width < 6:
                break
            rows.append(number)
        if len(rows) < FEWEST_ROWS - (width > 2):
            continue
        done = rows[-1]
        _mark(findings, head, rows, (_GAP.split(lines[n][: 4 * LONGEST].strip()) for n in rows))


def _mark_records(sight: BareText, findings: LineFindings) -> None:
    """Comma- or tab-separated rows below a row of names, from the first line on."""
    lines = sight.lines
    head = lines[0][: 4 * LONGEST]
    mark = "\t" if "\t" in head.strip() else ","
    width = head.count(mark)
    if not width or findings.taken[0] or not _is_names(head.split(mark)):
        return
    rows: list[int] = []
    for number in range(1, len(lines)):
        line = lines[number]
        count = line.count(mark)
        if count != width and not (count > width and '"' in line):
            break
        rows.append(number)
    if len(rows) >= FEWEST_RECORDS and len(rows) >= (sight.filled - 1) * 0.8:
        _mark(findings, 0, rows, (lines[n][: 4 * LONGEST].split(mark) for n in rows))


def _is_names(cells: Sequence[str]) -> bool:
    """Whether the cells can be the names of columns: each short, not a number, none twice."""
    bare = [cell.strip().strip('"') for cell in cells]
    return len({*bare}) == len(bare) and all(
        0 < len(cell) <= 40 and cell[0].isalpha() and cell.replace("_", "").replace(" ", "").isalnum()
        for cell in bare
    )
