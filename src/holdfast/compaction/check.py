"""The check of a summary against the log it replaces: what is missing, what is invented, what may not be in it.

Rule: every required key counts. Only what a model wrote can be invented or copied from a tool, since the rule half
quotes and counts. Requests, directives, changed files, tests and errors must be said word for word, except for
case, white space, quotation marks and emphasis; the rule half's own line, redacted, always counts. A line's own
secret is replaced; of a secret spread over several lines, the model's lines go.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.claims import Claim, claims_in
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.fact import FileFact, HandoverFacts, LogFacts, TestState
from holdfast.compaction.forms.content import FormField, SummaryContent, one_line, visible_texts
from holdfast.compaction.forms.form import Form
from holdfast.compaction.forms.nested_json import number_in
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
from holdfast.compaction.instructions import copied_instructions
from holdfast.events import SummaryLine
from holdfast.redaction import find_secrets, redact
from holdfast.views.prose import TextSpan

LONGEST_SHOWN = 80
MOST_SOURCES = 4
"""Entries that are named as sources of a line that a model wrote."""
BREAK = " \n "
_MARKS = re.compile(r"[\"'`*“”„‟‘’‚‛«»‹›「」『』＂＇]+")
_GONE = re.compile(r"\b(?:deleted?|removed?|deletion)\b|删除|移除")
_OUTER = " .,;:!。；，：！、"
_COUNTED = re.compile(r"\d+ (?:tests? )?(?:passed|failed|passing|failing|failures?|errors?)\b")
_PARTS = re.compile(r"(\d{1,6})\s*(?:/|of|out of)\s*(\d{1,6})")


class SummaryFault(Struct, frozen=True):
    """Something wrong with a summary: with a line, or, where `line` is None, with a field or the whole.

    `kind` is `missing-` and what is missing, `invented-` and what is, `contradicted`, `secret`, `instruction` or
    `inflated`. `span` is the part of the line that is wrong; an empty one means the whole line.
    """

    kind: str
    field: str
    line: SummaryLine | None
    what: str
    span: TextSpan = (0, 0)


class Requirement(Struct, frozen=True):
    """Something that a summary must say, with the rule half's line for it and that line's field.

    It is met by that line, which reads `own` when normalized, or by any of `alternatives`, each a set of texts that
    must all occur. A changed file is met by a line that names it, unless the line is wrong about whether it was
    deleted.
    """

    kind: str
    what: str
    line: SummaryLine
    alternatives: tuple[tuple[str, ...], ...]
    is_deleted: bool = False
    field: str = ""
    own: str = ""

    def is_met(self, said: str) -> bool:
        """Whether normalized and joined lines say it."""
        if _quotes(said, self.own):
            return True
        if self.kind != "missing-modified-file":
            return any(all(_quotes(said, text) for text in way) for way in self.alternatives)
        paths = [path for way in self.alternatives for path in way if path in said]
        return any(self._describes(line, path) for path in paths for line in said.split(BREAK))

    def _describes(self, line: str, path: str) -> bool:
        """Whether a line names the file, and is right about whether it was deleted."""
        return _names(line, path) and bool(_GONE.search(line.replace(path, " "))) == self.is_deleted


class CheckContext(Struct, frozen=True, kw_only=True):
    """What a summary is compared with, put together once for a check and the repairs after it."""

    form: Form
    archive: bool
    evidence: Evidence
    rule: SummaryContent
    """The rule half, redacted."""
    requirements: tuple[Requirement, ...]
    known: Evidence
    """What the rule half and the form's own words say: true, even if the log spells it differently."""
    quoted: frozenset[str]
    """The rule half's lines, which a model may have copied."""
    handed_over: dict[str, tuple[str, ...]]
    """By field, what another agent handed over in so many words: no model knows better."""
    answers: dict[tuple[str, str, bool], bool]
    """Whether a claim is known, for those asked about so far: a repair asks many times."""

    @classmethod
    def of(cls, form: Form, facts: LogFacts, evidence: Evidence, *, archive: bool) -> "CheckContext":
        filled = form.fill(facts, archive=archive)
        rule = SummaryContent({field: tuple(map(_redacted, lines)) for field, lines in filled.fields.items()})
        lines = [line.text for line in (*filled.lines(), *form.fill(facts, archive=False).lines())]
        known = Evidence.of_texts([*lines, *(field.name for field in form.fields)])
        return cls(
            form=form,
            archive=archive,
            evidence=evidence,
            rule=rule,
            requirements=_requirements(replace(facts, is_archive=archive), filled),
            known=known,
            quoted=frozenset(map(normalize, lines)),
            handed_over=_handed_over(filled, facts.handover),
            answers={},
        )


def normalize(text: str) -> str:
    """The text as it is compared."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", _MARKS.sub("", text)))
    return one_line(text).casefold().strip(_OUTER)


def plain_text_of(lines: Iterable[SummaryLine]) -> str:
    return BREAK.join(normalize(line.text) for line in lines)


def _redacted(line: SummaryLine) -> SummaryLine:
    return replace(line, text=redact(line.text))


def find_faults(content: SummaryContent, context: CheckContext) -> Iterator[SummaryFault]:
    """Everything wrong with a summary but its size, which a repair looks at."""
    yield from _missing_keys(content, context)
    said = plain_text_of(content.lines())
    for need in context.requirements:
        if not need.is_met(said):
            yield SummaryFault(need.kind, need.field, need.line, need.what)
    placed = [(field, line) for field, lines in content.fields.items() for line in lines]
    secret = [(field, line) for field, line in placed if find_secrets(line.text)]
    for field, line in secret:
        yield SummaryFault("secret", field, line, "it contains a secret")
    for field, line in placed:
        if line.by == "model" and _is_contradicted(line, context.handed_over.get(field, ())):
            what = f"it says “{line.text[:LONGEST_SHOWN]}”, and something else was handed over"
            yield SummaryFault("contradicted", field, line, what, (0, len(line.text)))
        elif (
            line.by == "model" and (field, line) not in secret and normalize(line.text) not in context.quoted
        ):
            yield from _inventions(line, field, context)
            yield from _instructions(line, field, context)
    # A secret that is spread over lines can be seen only where no line holds one of its own.
    for number in _split_secrets([line for _, line in placed]) if not secret else ():
        field, line = placed[number]
        yield SummaryFault("secret", field, line, "it contains part of a secret", (0, len(line.text)))


def _split_secrets(lines: Sequence[SummaryLine]) -> list[int]:
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


def _handed_over(rule: SummaryContent, handover: HandoverFacts) -> dict[str, tuple[str, ...]]:
    given = (handover.iteration, handover.output_dir, handover.report, handover.failed)
    known = {(fact.text, fact.sources) for fact in given if fact}
    return {
        field: tuple(_redacted(line).text for line in lines if (line.text, line.sources) in known)
        for field, lines in rule.fields.items()
    }


def _is_contradicted(line: SummaryLine, handed_over: Sequence[str]) -> bool:
    """Whether a value differs from the one that was handed over."""
    values = [text.strip().rstrip("/") for text in handed_over]
    return bool(values) and line.text.strip().rstrip("/") not in values


def find_sources(line: SummaryLine, evidence: Evidence) -> tuple[str, ...]:
    """Entries that first say what a line names: the sources of what a model wrote."""
    named = [evidence.finds(claim) for claim in claims_in(line.text) if claim.kind != "number"]
    return tuple(dict.fromkeys(entry for entry in named if entry))[:MOST_SOURCES]


def _missing_keys(content: SummaryContent, context: CheckContext) -> Iterator[SummaryFault]:
    """Keys that are not there, and those that say nothing where the rule half has something to say."""
    for field in context.form.fields:
        if not has_text(content, field) and has_text(context.rule, field):
            yield SummaryFault(
                "missing-key", field.name, None, f"`{field.name}` says nothing, though the log does"
            )
        elif field.is_required and field.name not in content.fields:
            yield SummaryFault("missing-key", field.name, None, f"`{field.name}` is missing")


def has_text(content: SummaryContent, field: FormField) -> bool:
    return bool(visible_texts(content.fields.get(field.name, ())))


def _inventions(line: SummaryLine, field: str, context: CheckContext) -> Iterator[SummaryFault]:
    for claim in claims_in(line.text):
        if not _is_known(claim, line, context):
            span = (claim.start, claim.end)
            yield SummaryFault(
                f"invented-{claim.kind}", field, line, f"`{claim.text}` is not in the log", span
            )


def _is_known(claim: Claim, line: SummaryLine, context: CheckContext) -> bool:
    asked = (claim.kind, claim.text, claim.is_share)
    if asked not in context.answers:
        found = context.evidence.finds(claim) is not None or context.known.finds(claim) is not None
        context.answers[asked] = found
    return context.answers[asked] or (claim.is_share and _is_share(claim.text, line.text))


def _is_share(percent: str, text: str) -> bool:
    """Whether a percentage is that of two numbers beside it, which are checked by themselves."""
    share = number_in(percent)
    pairs = [(int(part), int(whole)) for part, whole in _PARTS.findall(text)]
    return share is not None and any(whole and abs(100 * part / whole - share) < 1 for part, whole in pairs)


def _instructions(line: SummaryLine, field: str, context: CheckContext) -> Iterator[SummaryFault]:
    evidence = context.evidence
    for span in copied_instructions(
        line.text, evidence.user_prose, evidence.agent_prose, evidence.tool_prose
    ):
        said = line.text[slice(*span)].strip()
        yield SummaryFault(
            "instruction", field, line, f"“{said}” is a tool's instruction, not the user's", span
        )


def _requirements(facts: LogFacts, rule: SummaryContent) -> tuple[Requirement, ...]:
    """What a summary of these facts must say, as far as the rule half says it in this form."""
    places = {line: field for field, lines in rule.fields.items() for line in lines}
    return tuple(
        replace(
            wanted, field=places[wanted.line], line=(line := _redacted(wanted.line)), own=normalize(line.text)
        )
        for wanted in _wanted(facts)
        if wanted.line in places
    )


def _wanted(facts: LogFacts) -> Iterator[Requirement]:
    goal, latest, tests = facts.goal, facts.latest, facts.tests
    if goal is not None:
        yield Requirement("missing-goal", goal.text, first_line(goal), _verbatim(goal.text))
    if latest is not None:
        line = latest_line(latest, archive=facts.is_archive)
        yield Requirement("missing-goal", latest.text, line, _verbatim(latest.text))
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
        alternatives, is_deleted = _spellings(file, changed), file.action == "deleted"
        yield Requirement("missing-modified-file", file.path, file_line(file), alternatives, is_deleted)


def _verbatim(text: str) -> tuple[tuple[str, ...], ...]:
    """A text of which nothing is left to compare is met by the rule half's line only."""
    wanted = normalize(text)
    return ((wanted,),) if wanted else ()


def _outcomes(tests: TestState) -> tuple[tuple[str, ...], ...]:
    """The run's own words, or each of its counts."""
    counts = tuple(normalize(count) for count in _COUNTED.findall(tests.outcome))
    return (*_verbatim(tests.outcome), *((counts,) if counts else ()))


def _spellings(file: FileFact, changed: list[FileFact]) -> tuple[tuple[str, ...], ...]:
    """The path, or an end of it of two parts and more that no other changed file shares."""
    parts = file.path.split("/")
    ends = ["/".join(parts[at:]) for at in range(1, len(parts) - 1)]
    others = [other.path for other in changed if other.path != file.path]
    own = [end for end in ends if not any(path.endswith(end) for path in others)]
    return tuple((normalize(path),) for path in (file.path, *own) if normalize(path))


def _quotes(said: str, text: str) -> bool:
    """Whether a text occurs there, and not inside longer words."""
    before = r"(?<!\w)" if text[:1].isalnum() else ""
    behind = r"(?!\w)" if text[-1:].isalnum() else ""
    return text in said and bool(re.search(f"{before}{re.escape(text)}{behind}", said, re.ASCII))


def _names(said: str, path: str) -> bool:
    """Whether a path occurs there by itself, and not as part of another."""
    alone = rf"(?<![\w./@-]){re.escape(path)}(?![\w/-]|\.\w)"
    return path in said and bool(re.search(alone, said, re.ASCII))
