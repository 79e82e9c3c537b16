"""A finding: one claim about one place in a change, with the lines that prove it.

Rule: a value. Before it is kept, its evidence is looked up in the file and its patch is tried.
"""

import re
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

Severity = Literal["info", "low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "critical")
Category = Literal[
    "bug",
    "security",
    "performance",
    "concurrency",
    "api",
    "tests",
    "dependencies",
    "leftover",
    "style",
    "docs",
    "other",
]
Side = Literal["new", "old"]

_SAID = re.compile(r"\w+|[<>=!+*%&|^~]+|(?<!\w)-(?=\d)")
"""Words and operators: `<` where `<=` should be is not the opposite."""


class Finding(Struct, frozen=True, kw_only=True):
    """`line` is the first line it is about, on `side` (`old` only for deleted lines); `evidence` are lines of that
    side as the file has them. `patch` is a unified diff against the new side, or empty. `rule` names the check that
    found it (`ruff:F401` for a linter's), or is empty if a model did; `explained` is what the author says about it.
    `id` is derived from the content (`f-` and twelve hexadecimal digits)."""

    id: str
    unit: str
    path: str
    line: int
    last_line: int
    side: Side = "new"
    severity: Severity
    category: Category
    claim: str
    evidence: tuple[str, ...] = ()
    suggestion: str = ""
    patch: str = ""
    rule: str = ""
    explained: str = ""
    also: tuple[str, ...] = ()
    """Rules of linters that found the same."""


def finding_id(finding: Finding, nth: int = 0) -> str:
    """An id made of what the finding says and shows, not of line numbers, so that it stays when lines are added
    above. `nth` distinguishes places that show the same lines: how many of them come before it in the file."""
    said = finding.claim.lower()
    if ":" in finding.rule:
        # Linters name other lines, which move.
        said = re.sub(r"\bline \d+", "line", said)
    claim = " ".join(_SAID.findall(said))
    evidence = "\n".join(line.strip() for line in finding.evidence)
    parts = (finding.path, finding.side, finding.category, finding.rule, claim, evidence, str(nth))
    return "f-" + blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
