"""A finding: one claim about one place of a change, with the lines that bear it out.

Rule: a value. Whether its evidence is in the file, and whether its patch applies, is checked before it is
kept.
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


class Finding(Struct, frozen=True, kw_only=True):
    """`line` is the first line it is about, on `side` (`old` only where the lines were deleted); `evidence`
    are lines of that side as they stand there. `patch` is a unified diff against the newer side, or empty.
    `rule` is the name of the check that found it, or empty where a model did. `id` is content-derived (`f-`
    and twelve hexadecimal digits)."""

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


def finding_id(finding: Finding, nth: int = 0) -> str:
    """The finding's name, out of what it says and the lines it shows, not of where these stand: it stays when
    lines above are added. `nth` tells places apart that show the same lines: how many come before it in the
    file."""
    said = " ".join(re.findall(r"\w+", finding.claim.lower()))
    shown = "\n".join(line.strip() for line in finding.evidence)
    parts = (finding.path, finding.side, finding.category, finding.rule, said, shown, str(nth))
    return "f-" + blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
