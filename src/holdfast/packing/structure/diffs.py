"""Diffs: a changed line depends on its hunk, a hunk on its file.

Rule: a hunk is as long as its header says, and ends early at a line that no diff holds.
"""

import re

from holdfast.packing.structure.findings import (
    DULL,
    HINT,
    LONGEST,
    NOISE,
    NOWHERE,
    SLIGHT,
    BareText,
    LineFindings,
)

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_FIRST_HUNK = re.compile(r"\n([ \t]{0,8}+)@@ -\d{1,9}(?:,\d{1,9})?+ \+\d{1,9}(?:,\d{1,9})?+ @@")
_FILE = ("diff --git ", "diff -", "Index: ", "*** Update File: ", "*** Add File: ", "*** Delete File: ")
_ABOUT = (
    *("index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index "),
    *(
        "dissimilarity index ",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
        "Binary files ",
        "=====",
    ),
)
_GENERATED = re.compile(
    r"(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|go\.sum|Cargo\.lock|poetry\.lock|uv\.lock"
    r"|Gemfile\.lock|composer\.lock|\.min\.(?:js|css)|\.map|\.snap|_pb2\.py|\.pb\.go)\b"
)
WORTH = {"+": HINT, "-": SLIGHT, " ": 0.0, "": 0.0, "\\": NOISE}
"""What a line of a hunk adds by its first character: what is there now is what a later edit meets. Headers add
nothing: they come along with the lines that depend on them."""


def mark_diffs(bare_text: BareText, findings: LineFindings) -> None:
    if "@@ -" in bare_text.text:
        indented = _FIRST_HUNK.search(bare_text.text)
        if indented:
            _Walk(bare_text.lines, len(indented[1]), findings).take_all()
    if "*** Begin Patch" in bare_text.text:
        _mark_patch(bare_text.lines, findings)


class _Walk:
    """One way through the lines of a diff. `header` is the line that names the file, fresh as long as no hunk of it
    was seen; `hunk` is the hunk's first line."""

    def __init__(self, lines: list[str], indent: int, findings: LineFindings) -> None:
        self.rows = [line[indent:] for line in lines] if indent else lines
        self.findings = findings
        self.header = self.hunk = NOWHERE
        self.is_fresh = False
        self.old = self.new = 0
        self.worth = WORTH

    def take_all(self) -> None:
        claim = self.findings.claim
        for number, row in enumerate(self.rows):
            if self.hunk != NOWHERE and self._is_inside(row):
                claim("diff", number, self.worth[row[:1]], self.hunk)
            elif row.startswith("@@ -") and (found := _HUNK.match(row)):
                self._open_hunk(number, found)
            else:
                self._take_outside(number, row)

    def _is_inside(self, row: str) -> bool:
        """Whether a row belongs to the hunk, which is then that much shorter."""
        first = row[:1]
        if first == "+":
            self.new -= 1
        elif first == "-":
            self.old -= 1
        elif first in ("", " "):
            self.old -= 1
            self.new -= 1
        elif first != "\\":
            self.hunk = NOWHERE
            return False
        if self.old < 0 or self.new < 0:
            # Past the hunk's end; the line is looked at again as one outside.
            self.hunk = NOWHERE
            return False
        return True

    def _open_hunk(self, number: int, found: re.Match[str]) -> None:
        self.old, self.new = int(found[1] or 1), int(found[2] or 1)
        if self.header == NOWHERE:
            self._name_file(self._above(number))
        self.hunk, self.is_fresh = number, False
        self.findings.claim("diff", number, 0.0, self.header)

    def _above(self, number: int) -> int:
        """The line above a hunk without a file, if there is one close by: tools name files in ways of their own."""
        for above in range(number - 1, max(number - 3, -1), -1):
            if self.rows[above].strip():
                return NOWHERE if self.findings.taken[above] else above
        return NOWHERE

    def _name_file(self, number: int) -> None:
        self.header, self.is_fresh = number, True
        if number != NOWHERE:
            generated = _GENERATED.search(self.rows[number][:LONGEST])
            self.worth = dict.fromkeys(WORTH, NOISE) if generated else WORTH
            self.findings.claim("diff", number)

    def _take_outside(self, number: int, row: str) -> None:
        claim = self.findings.claim
        if row.startswith(_FILE):
            self._name_file(number)
        elif row.startswith("--- ") and self._is_pair(number):
            if not self.is_fresh:
                # The new name is the file's, unless the file is gone.
                self._name_file(number if self.rows[number + 1].startswith("+++ /dev/null") else number + 1)
            claim("diff", number, DULL, self.header if self.header < number else NOWHERE)
            claim("diff", number + 1, SLIGHT, self.header)
        elif row.startswith(_ABOUT) and self.header != NOWHERE:
            claim("diff", number, DULL, self.header)
        elif row and not self.findings.taken[number]:
            self.header, self.is_fresh = NOWHERE, False

    def _is_pair(self, number: int) -> bool:
        return number + 1 < len(self.rows) and self.rows[number + 1].startswith("+++ ")


def _mark_patch(lines: list[str], findings: LineFindings) -> None:
    """A patch as agents write it: files and hunks are named, hunks have no numbers."""
    header = hunk = NOWHERE
    is_inside = False
    for number, line in enumerate(lines):
        if line.startswith("*** "):
            is_inside = not line.startswith("*** End Patch")
            if line.startswith(_FILE):
                header = hunk = number
                findings.claim("diff", number)
        elif is_inside and line.startswith("@@"):
            hunk = number
            findings.claim("diff", number, 0.0, header)
        elif is_inside and hunk != NOWHERE and line[:1] in WORTH:
            findings.claim("diff", number, WORTH[line[:1]], hunk)
