"""The check of a summary against the log it stands for: what is missing, what is invented, what may not be in it.

Rule: every required key counts. Only what a model wrote can be invented or copied from a tool, since the rule half
quotes and counts.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.compaction.claims import Claim, Span, claims_in
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.fact import HandoverFacts, LogFacts
from holdfast.compaction.forms.content import FormField, SummaryContent, visible_texts
from holdfast.compaction.forms.form import Form
from holdfast.compaction.forms.nested_json import number_in
from holdfast.compaction.instructions import copied_instructions
from holdfast.compaction.requirements import (
    Missing,
    Requirement,
    find_split_secrets,
    has_secret,
    normalise,
    plain_text_of,
    redacted,
    requirements_of,
)
from holdfast.events import SummaryLine

Kind = (
    Missing
    | Literal[
        "missing-key",
        "invented-path",
        "invented-id",
        "invented-number",
        "invented-command",
        "contradicted",
        "secret",
        "instruction",
        "inflated",
    ]
)

_INVENTED: dict[str, Kind] = {
    "path": "invented-path",
    "id": "invented-id",
    "number": "invented-number",
    "command": "invented-command",
}
LONGEST_SHOWN = 80
MOST_SOURCES = 4
"""Entries that are named as sources of a line that a model wrote."""
_PARTS = re.compile(r"(\d{1,6})\s*(?:/|of|out of)\s*(\d{1,6})")


class SummaryFault(Struct, frozen=True):
    """Something wrong with a summary: with a line, or, where `line` is None, with a field or the whole.

    `span` is the part of the line that is wrong; an empty one means the whole line.
    """

    kind: Kind
    field: str
    line: SummaryLine | None
    what: str
    span: Span = (0, 0)


class CheckContext(Struct, frozen=True, kw_only=True):
    """What a summary is compared with, put together once for a check and the repairs after it."""

    form: Form
    evidence: Evidence
    rule: SummaryContent
    """The rule half, redacted."""
    needs: tuple[Requirement, ...]
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
        rule = SummaryContent({field: tuple(map(redacted, lines)) for field, lines in filled.fields.items()})
        lines = [line.text for line in (*filled.lines(), *form.fill(facts, archive=False).lines())]
        known = Evidence.of_texts([*lines, *(field.name for field in form.fields)])
        return cls(
            form=form,
            evidence=evidence,
            rule=rule,
            needs=requirements_of(facts, filled),
            known=known,
            quoted=frozenset(map(normalise, lines)),
            handed_over=_handed_over(filled, facts.handover),
            answers={},
        )


def find_faults(content: SummaryContent, context: CheckContext) -> Iterator[SummaryFault]:
    """Everything wrong with a summary but its size, which a repair looks at."""
    yield from _missing_keys(content, context)
    said = plain_text_of(content.lines())
    for need in context.needs:
        if not need.is_met(said):
            yield SummaryFault(need.kind, need.field, need.line, need.what)
    placed = [(field, line) for field, lines in content.fields.items() for line in lines]
    secret = [(field, line) for field, line in placed if has_secret(line)]
    for field, line in secret:
        yield SummaryFault("secret", field, line, "a secret stands in it")
    for field, line in placed:
        if line.by == "model" and _is_contradicted(line, context.handed_over.get(field, ())):
            what = f"it says “{line.text[:LONGEST_SHOWN]}”, and something else was handed over"
            yield SummaryFault("contradicted", field, line, what, (0, len(line.text)))
        elif (
            line.by == "model" and (field, line) not in secret and normalise(line.text) not in context.quoted
        ):
            yield from _inventions(line, field, context)
            yield from _instructions(line, field, context)
    # A secret that is spread over lines can be seen only where no line holds one of its own.
    for number in find_split_secrets([line for _, line in placed]) if not secret else ():
        field, line = placed[number]
        yield SummaryFault("secret", field, line, "part of a secret stands in it", (0, len(line.text)))


def _handed_over(rule: SummaryContent, handover: HandoverFacts) -> dict[str, tuple[str, ...]]:
    given = (handover.iteration, handover.output_dir, handover.report, handover.failed)
    known = {(fact.text, fact.sources) for fact in given if fact}
    return {
        field: tuple(redacted(line).text for line in lines if (line.text, line.sources) in known)
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
            yield SummaryFault(_INVENTED[claim.kind], field, line, f"`{claim.text}` is not in the log", span)


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
    for span in copied_instructions(line.text, evidence.told, evidence.own, evidence.returned):
        said = line.text[slice(*span)].strip()
        yield SummaryFault(
            "instruction", field, line, f"“{said}” is a tool's instruction, not the user's", span
        )
