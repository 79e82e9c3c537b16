"""Code: signatures and what stands above them count, closing brackets and rows of data do not.

Rule: a member hangs on the class it stands in, by its indent; nothing else is anchored, since a line of code is
read where it stands.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from holdfast.packing.structure.sight import Sight
from holdfast.packing.structure.signatures import Role, roles_of
from holdfast.packing.structure.value import DULL, HINT, NOWHERE, SLIGHT, TELLING, Findings

_PROSE = re.compile(r"\n(?:```|#{2,4} \S)")
"""What stands in a report about code, and hardly ever in code."""
_LITERAL = frozenset("\"'`0123456789-+[{(")
LONG_DATA = 12
"""Rows of literals in a run from which the run is a table of data; its first and last rows show what it holds."""
SHOWN = 3
RUN = 3
"""Imports in a row from which the row is a list."""
FEWEST, LEAST_CODE = 3, 0.08
"""How many lines, and which share of them, begin as code does in a text that is code, though nothing says so."""


def mark_code(sight: Sight, findings: Findings, *, is_known: bool) -> bool:
    """Whether the text is code; if it is, its lines are marked. `is_known` where the call or the numbers say so."""
    if not is_known and (_PROSE.search(sight.text) or not _is_code(sight.sample)):
        return False
    roles = roles_of(sight.lines)
    _mark_roles(sight.lines, roles, findings)
    _mark_data(sight.lines, findings)
    return True


def _is_code(lines: Sequence[str]) -> bool:
    roles = [role for _, role in roles_of(lines)]
    is_telling = any(role in ("holder", "named", "member") for role in roles)
    filled = sum(map(bool, map(str.strip, lines)))
    return is_telling and len(roles) >= max(filled * LEAST_CODE, FEWEST)


def _mark_roles(lines: Sequence[str], roles: list[tuple[int, Role]], findings: Findings) -> None:
    holders: list[tuple[int, int]] = []
    imports: list[int] = []
    for at, (line, role) in enumerate(roles):
        if role == "closer":
            findings.adjust(line, DULL)
        elif role == "import":
            imports.append(line)
        elif role == "above":
            below = roles[at + 1] if at + 1 < len(roles) else (NOWHERE, role)
            if below[0] == line + 1 and below[1] not in ("closer", "import"):
                findings.adjust(line, HINT)
        else:
            indent = len(lines[line]) - len(lines[line].lstrip())
            while holders and holders[-1][1] >= indent:
                holders.pop()
            if holders:
                findings.anchors.setdefault(line, holders[-1][0])
            if role == "holder":
                holders.append((line, indent))
            # A line's own worth knows definitions by their words; members have none.
            findings.adjust(line, TELLING if role == "member" else HINT)
    for run in _runs(imports):
        if len(run) >= RUN:
            for line in run:
                findings.adjust(line, SLIGHT)


def _mark_data(lines: Sequence[str], findings: Findings) -> None:
    """Long runs of literals: what is in the middle of them is the least of the file."""
    ended = [number for number, line in enumerate(lines) if line[-1:] == ","]
    if len(ended) < LONG_DATA:
        return
    for run in _runs(number for number in ended if lines[number].lstrip()[:1] in _LITERAL):
        if len(run) >= LONG_DATA:
            for line in run[SHOWN:-SHOWN]:
                findings.adjust(line, DULL)


def _runs(numbers: Iterable[int]) -> Iterator[range]:
    """Numbers in order, as the ranges that they make."""
    first = end = NOWHERE
    for number in numbers:
        if number != end:
            if end > first:
                yield range(first, end)
            first = number
        end = number + 1
    if end > first:
        yield range(first, end)
