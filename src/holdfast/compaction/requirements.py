"""What a summary must say and whether it does: requests, directives, changed files, tests, errors; and no secrets.

Rule: word for word, except for case, white space, quotation marks and emphasis; the rule half's own line,
redacted, always counts. A line's own secret is replaced; of a secret spread over several lines, the model's lines
go.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.facts.fact import FileFact, LogFacts, TestState
from holdfast.compaction.forms.content import SummaryContent, one_line
from holdfast.compaction.forms.rule_lines import (
    CHANGES,
    directive_line,
    error_line,
    file_line,
    first_line,
    latest_line,
    recap_line,
    test_line,
)
from holdfast.events import SummaryLine
from holdfast.redaction import find_secrets, redact


def has_secret(line: SummaryLine) -> bool:
    return bool(find_secrets(line.text))


def redacted(line: SummaryLine) -> SummaryLine:
    return replace(line, text=redact(line.text))


def find_split_secrets(lines: Sequence[SummaryLine]) -> list[int]:
    """Numbers of a model's lines that hold part of a secret together with others."""
    joined = "\n".join(line.text for line in lines)
    found: set[int] = set()
    for secret in find_secrets(joined):
        start = 0
        for number, line in enumerate(lines):
            end = start + len(line.text)
            if secret.start < end and secret.end > start and line.by == "model":
                found.add(number)
            start = end + 1
    return sorted(found)


Missing = Literal[
    "missing-goal",
    "missing-directive",
    "missing-error",
    "missing-test-state",
    "missing-modified-file",
    "missing-finding",
]

_MARKS = re.compile(r"[\"'`*“”„‟‘’‚‛«»‹›「」『』＂＇]+")
_GONE = re.compile(r"\b(?:deleted?|removed?|deletion)\b|删除|移除")
BREAK = " \n "
_OUTER = " .,;:!。；，：！、"
_COUNTED = re.compile(r"\d+ (?:tests? )?(?:passed|failed|passing|failing|failures?|errors?)\b")


class Requirement(Struct, frozen=True):
    """Something that a summary must say, with the rule half's line for it and that line's field.

    It is met by that line, which reads `own` when normalised, or by any of `ways`, each a set of texts that must
    all occur. A changed file is met by a line that names it, unless the line is wrong about whether it was deleted.
    """

    kind: Missing
    what: str
    line: SummaryLine
    ways: tuple[tuple[str, ...], ...]
    is_gone: bool = False
    field: str = ""
    own: str = ""

    def is_met(self, said: str) -> bool:
        """Whether normalised and joined lines say it."""
        if _quotes(said, self.own):
            return True
        if self.kind != "missing-modified-file":
            return any(all(_quotes(said, text) for text in way) for way in self.ways)
        paths = [path for way in self.ways for path in way if path in said]
        return any(self._tells(line, path) for path in paths for line in said.split(BREAK))

    def _tells(self, line: str, path: str) -> bool:
        """Whether a line names the file, and is right about whether it was deleted."""
        return _names(line, path) and bool(_GONE.search(line.replace(path, " "))) == self.is_gone


def normalise(text: str) -> str:
    """The text as it is compared."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", _MARKS.sub("", text)))
    return one_line(text).casefold().strip(_OUTER)


def plain_text_of(lines: Iterable[SummaryLine]) -> str:
    return BREAK.join(normalise(line.text) for line in lines)


def requirements_of(facts: LogFacts, rule: SummaryContent) -> tuple[Requirement, ...]:
    """What a summary of these facts must say, as far as the rule half says it in this form."""
    places = {line: field for field, lines in rule.fields.items() for line in lines}
    return tuple(
        replace(
            wanted, field=places[wanted.line], line=(line := redacted(wanted.line)), own=normalise(line.text)
        )
        for wanted in _wanted(facts)
        if wanted.line in places
    )


def _wanted(facts: LogFacts) -> Iterator[Requirement]:
    goal, latest, tests = facts.goal, facts.latest, facts.tests
    if goal is not None:
        yield Requirement("missing-goal", goal.text, first_line(goal), _verbatim(goal.text))
    if latest is not None:
        yield Requirement("missing-goal", latest.text, latest_line(latest), _verbatim(latest.text))
    for fact in facts.directives:
        yield Requirement("missing-directive", fact.text, directive_line(fact), _verbatim(fact.text))
    for fact in facts.errors:
        yield Requirement("missing-error", fact.text, error_line(fact), _verbatim(fact.text))
    for fact in facts.recap:
        yield Requirement("missing-finding", fact.text, recap_line(fact), _verbatim(fact.text))
    if tests is not None:
        yield Requirement("missing-test-state", tests.outcome, test_line(tests), _outcomes(tests))
    changed = [fact for fact in facts.files if fact.action in CHANGES]
    for file in changed:
        ways, is_gone = _spellings(file, changed), file.action == "deleted"
        yield Requirement("missing-modified-file", file.path, file_line(file), ways, is_gone)


def _verbatim(text: str) -> tuple[tuple[str, ...], ...]:
    """A text of which nothing is left to compare is met by the rule half's line only."""
    wanted = normalise(text)
    return ((wanted,),) if wanted else ()


def _outcomes(tests: TestState) -> tuple[tuple[str, ...], ...]:
    """The run's own words, or each of its counts."""
    counts = tuple(normalise(count) for count in _COUNTED.findall(tests.outcome))
    return (*_verbatim(tests.outcome), *((counts,) if counts else ()))


def _spellings(file: FileFact, changed: list[FileFact]) -> tuple[tuple[str, ...], ...]:
    """The path, or an end of it of two parts and more that no other changed file shares."""
    parts = file.path.split("/")
    ends = ["/".join(parts[at:]) for at in range(1, len(parts) - 1)]
    others = [other.path for other in changed if other.path != file.path]
    own = [end for end in ends if not any(path.endswith(end) for path in others)]
    return tuple((normalise(path),) for path in (file.path, *own) if normalise(path))


def _quotes(said: str, text: str) -> bool:
    """Whether a text occurs there, and not inside longer words."""
    return _stands(
        said, text, r"\w" if text[:1].isalnum() else r"(?!)", r"\w" if text[-1:].isalnum() else r"(?!)"
    )


def _names(said: str, path: str) -> bool:
    """Whether a path occurs there by itself, and not as part of another."""
    return _stands(said, path, r"[\w./@-]", r"[\w/-]|\.\w")


def _stands(said: str, text: str, before: str, after: str) -> bool:
    """Whether a text occurs there with nothing that matches `before` in front of it, or `after` behind it."""
    at = said.find(text)
    while at >= 0:
        end = at + len(text)
        if not re.match(before, said[at - 1 : at], re.ASCII) and not re.match(
            after, said[end : end + 2], re.ASCII
        ):
            return True
        at = said.find(text, at + 1)
    return False
