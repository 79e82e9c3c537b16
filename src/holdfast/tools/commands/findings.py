"""What was found in a command, and what a person's rules make of it.

Rule: the worst finding decides. A person's allow lifts a finding about the command itself, about a file of the
workspace that it writes, or about a word that the pattern names; what else a command does needs a pattern that
names it whole.
"""

import posixpath
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.tools.commands.fields import ANY, BELOW, EVEN, FETCHED, HOME, MANY, SMOOTH, SOLID, WILD
from holdfast.tools.commands.flow import Folders, Outcome, State
from holdfast.tools.commands.patterns import Pattern
from holdfast.tools.commands.places import Ground, places_of
from holdfast.tools.commands.rules import SEVERITY, Rules, Verdict

LONGEST_PART = 200
_SHOWN = str.maketrans(
    {WILD: "*", EVEN: "*", ANY: "…", MANY: "…", FETCHED: "", BELOW: "…", SMOOTH: "…", SOLID: "", HOME: "~"}
)


class Finding(Struct, frozen=True):
    verdict: Verdict
    reason: str
    part: str
    word: str = ""
    """The argument at fault; empty where the program itself is."""
    is_own_work: bool = False
    """A file of the workspace is written, which is what a command is allowed for."""
    is_fixed: bool = False
    """A person's own rule, which no other one lifts."""
    is_hidden: bool = False
    """Something runs that is not seen, and might be what a rule denies: only a pattern for the whole lifts it."""


class Inspection(Struct):
    """One judging under way: the rules, and everything found so far."""

    rules: Rules
    ground: Ground
    run_text: "Callable[[Inspection, str, State, str], Outcome]"
    """Judges a text that is run as a script."""
    run_fields: "Callable[[Inspection, Sequence[str], State, str], Outcome]"
    """Judges the fields of a command."""
    findings: list[Finding] = field(default_factory=list)
    steps: int = 0
    """Commands looked at so far."""

    def add(
        self, verdict: Verdict, reason: str, part: str, word: str = "", *, is_own_work: bool = False
    ) -> None:
        if verdict != "allow":
            self.findings.append(Finding(verdict, reason, part, word, is_own_work))

    def hide(self, reason: str, part: str) -> None:
        """Something runs that cannot be seen beforehand."""
        self.findings.append(Finding("ask", reason, part, is_hidden=True))

    def touch(self, kind: str, path: str, folders: Folders, part: str) -> None:
        """A file that is read, written or deleted, from any of the folders."""
        verdicts = self.rules.places[kind]
        places = {place for folder in folders or (None,) for place in places_of(path, folder, self.ground)}
        worst = max(sorted(places), key=lambda place: SEVERITY[verdicts[place]])
        why = self.rules.why
        reason = f"it {why[kind]} `{shown(path)}`, {why[worst]}"
        is_own_work = kind in ("write", "write_all") and places == {"inside"}
        self.add(verdicts[worst], reason, part, path or '""', is_own_work=is_own_work)

    def is_sure(self, field: str, folders: Folders) -> bool:
        """Whether names of files that a field stands for are what its marks say."""
        paths = [posixpath.join(folder, field) for folder in folders or ()]
        return bool(paths) and all(self.ground.follow(path) is not None for path in paths)

    def touch_below(self, paths: Sequence[str], folders: Folders, part: str) -> None:
        """Everything below is read, and links there are followed."""
        for path in paths:
            self.touch("read", f"{path.rstrip('/')}/{BELOW}", folders, part)

    def apply(self, start: int, words: Sequence[str], part: str, others: Sequence[Sequence[str]]) -> None:
        """A person's rules on the findings from `start` on, which are those of a command. `others` are further
        forms of its words, which deny and ask rules look at too."""
        own = [finding for finding in self.findings[start:] if not self._is_lifted(finding, words)]
        forms = [words, *others]
        hits = [pattern for pattern in self.rules.deny if any(map(pattern.matches, forms))]
        asked = [pattern for pattern in self.rules.ask if any(map(pattern.matches, forms))]
        own += [Finding("deny", f"the rule `{hit.text}` denies it", part, is_fixed=True) for hit in hits]
        own += [Finding("ask", f"the rule `{hit.text}` asks about it", part, is_fixed=True) for hit in asked]
        self.findings[start:] = own

    def _is_lifted(self, finding: Finding, words: Sequence[str]) -> bool:
        if finding.is_fixed:
            return False
        for pattern in self.rules.allow:
            if not pattern.matches(words):
                continue
            if pattern.is_whole or (_names(pattern, finding) and not finding.is_hidden):
                return True
        return False

    def nest(self, start: int, program: str) -> None:
        """Findings of an inner command, as those of the command that runs it: they are about a word of it."""
        self.findings[start:] = [
            finding if finding.word else replace(finding, word=program) for finding in self.findings[start:]
        ]


class Reader(Protocol):
    """Reads the arguments of one program where its options do not say it all."""

    def __call__(self, inspection: Inspection, words: Sequence[str], state: State, part: str) -> Outcome: ...


def _names(pattern: Pattern, finding: Finding) -> bool:
    if finding.verdict != "ask":
        return False
    return pattern.is_everything or not finding.word or finding.is_own_work or finding.word in pattern.words


def shown(text: str) -> str:
    text = text.translate(_SHOWN)
    return text if len(text) <= LONGEST_PART else text[: LONGEST_PART - 1] + "…"
