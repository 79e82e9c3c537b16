"""The check of a summary against the log it stands for: what is missing, what is invented, what may not be in it.

Rule: every required key, not any of them; and only what a model wrote can be invented or taken over, since the rule
half quotes and counts.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.compaction.claim import Claim, Span, claims_in
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import FormField, FormLine, SummaryContent, visible_texts
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
_PARTS = re.compile(r"(\d{1,6})\s*(?:/|of|out of)\s*(\d{1,6})")


class SummaryFault(Struct, frozen=True):
    """Something wrong with a summary: in a line, or where `line` is None in a field or the whole.

    `span` is where in the line it stands; the whole line where it is empty.
    """

    kind: Kind
    field: str
    line: FormLine | None
    what: str
    span: Span = (0, 0)


class CheckContext(Struct, frozen=True):
    """What a summary is held against, put together once for a check and the repairs after it."""

    form: Form
    evidence: Evidence
    rule: SummaryContent
    """The rule half, redacted."""
    needs: tuple[Requirement, ...]
    known: Evidence
    """What the rule half and the form's own words say: true, whether or not the log spells it so."""
    counts: frozenset[int]
    quoted: frozenset[str]
    """The rule half's lines, which a model may have copied."""
    answers: dict[tuple[str, str, bool], bool]
    """Whether a claim is known, for those asked about so far: a repair asks again and again."""

    @classmethod
    def of(cls, form: Form, facts: LogFacts, evidence: Evidence, *, archive: bool) -> "CheckContext":
        filled = form.fill(facts, archive=archive)
        rule = SummaryContent({field: tuple(map(redacted, lines)) for field, lines in filled.fields.items()})
        lines = [line.text for line in (*filled.lines(), *form.fill(facts, archive=False).lines())]
        known = Evidence.of_texts([*lines, *(field.name for field in form.fields)])
        quoted = frozenset(map(normalise, lines))
        return cls(form, evidence, rule, requirements_of(facts, filled), known, _counts(facts), quoted, {})


def check_summary(
    content: SummaryContent,
    form: Form,
    facts: LogFacts,
    evidence: Evidence,
    *,
    replaced_tokens: int,
    summary_tokens: int,
    archive: bool = False,
) -> tuple[SummaryFault, ...]:
    """Everything wrong with a summary. `replaced_tokens` is the size of what it stands for, 0 where unknown."""
    ground = CheckContext.of(form, facts, evidence, archive=archive)
    found = [*find_faults(content, ground)]
    if 0 < replaced_tokens <= summary_tokens:
        what = f"its {summary_tokens} tokens are no fewer than the {replaced_tokens} that it stands for"
        found.append(SummaryFault("inflated", "", None, what))
    return tuple(found)


def find_faults(content: SummaryContent, ground: CheckContext) -> Iterator[SummaryFault]:
    """Everything but the size."""
    yield from _missing_keys(content, ground)
    said = plain_text_of(content.lines())
    for need in ground.needs:
        if not need.is_met(said):
            yield SummaryFault(need.kind, need.field, need.line, need.what)
    placed = [(field, line) for field, lines in content.fields.items() for line in lines]
    secret = [(field, line) for field, line in placed if has_secret(line)]
    for field, line in secret:
        yield SummaryFault("secret", field, line, "a secret stands in it")
    for field, line in placed:
        if line.by == "model" and _is_contradicted(line, ground.rule.fields.get(field, ())):
            what = f"it says “{line.text[:LONGEST_SHOWN]}”, and something else was handed over"
            yield SummaryFault("contradicted", field, line, what, (0, len(line.text)))
        elif line.by == "model" and (field, line) not in secret and normalise(line.text) not in ground.quoted:
            yield from _inventions(line, field, ground)
            yield from _instructions(line, field, ground)
    # Only between lines that hold none of their own can one be seen that is spread over them.
    for number in find_split_secrets([line for _, line in placed]) if not secret else ():
        field, line = placed[number]
        yield SummaryFault("secret", field, line, "part of a secret stands in it", (0, len(line.text)))


def _is_contradicted(line: FormLine, rule: Sequence[FormLine]) -> bool:
    """Whether a value is another than the one that was told in so many words."""
    settled = [one.text.strip().rstrip("/") for one in rule if one.is_settled]
    return bool(settled) and line.text.strip().rstrip("/") not in settled


def find_sources(line: FormLine, evidence: Evidence, most: int = 4) -> tuple[str, ...]:
    """Entries that first say what a line names: the sources of what a model wrote."""
    named = [evidence.finds(claim) for claim in claims_in(line.text) if claim.kind != "number"]
    return tuple(dict.fromkeys(entry for entry in named if entry))[:most]


def _missing_keys(content: SummaryContent, ground: CheckContext) -> Iterator[SummaryFault]:
    """Keys that are not there, and those that say nothing where the rule half has something to say."""
    for field in ground.form.fields:
        if not has_text(content, field) and has_text(ground.rule, field):
            yield SummaryFault(
                "missing-key", field.name, None, f"`{field.name}` says nothing, though the log does"
            )
        elif field.is_required and field.name not in content.fields:
            yield SummaryFault("missing-key", field.name, None, f"`{field.name}` is missing")


def has_text(content: SummaryContent, field: FormField) -> bool:
    return bool(visible_texts(content.fields.get(field.name, ())))


def _inventions(line: FormLine, field: str, ground: CheckContext) -> Iterator[SummaryFault]:
    for claim in claims_in(line.text):
        if not _is_known(claim, line, ground):
            span = (claim.start, claim.end)
            yield SummaryFault(_INVENTED[claim.kind], field, line, f"`{claim.text}` is not in the log", span)


def _is_known(claim: Claim, line: FormLine, ground: CheckContext) -> bool:
    asked = (claim.kind, claim.text, claim.is_share)
    if asked not in ground.answers:
        found = ground.evidence.finds(claim) is not None or ground.known.finds(claim) is not None
        ground.answers[asked] = found or _is_count(claim, ground.counts)
    return ground.answers[asked] or (claim.is_share and _is_share(claim.text, line.text))


def _is_count(claim: Claim, counts: frozenset[int]) -> bool:
    number = claim.text.replace(",", "")
    return claim.kind == "number" and number.isdecimal() and len(number) < 10 and int(number) in counts


def _is_share(percent: str, text: str) -> bool:
    """Whether a percentage is that of two numbers beside it, which are checked by themselves."""
    share = number_in(percent)
    pairs = [(int(part), int(whole)) for part, whole in _PARTS.findall(text)]
    return share is not None and any(whole and abs(100 * part / whole - share) < 1 for part, whole in pairs)


def _instructions(line: FormLine, field: str, ground: CheckContext) -> Iterator[SummaryFault]:
    evidence = ground.evidence
    for span in copied_instructions(line.text, evidence.told, evidence.own, evidence.returned):
        said = line.text[slice(*span)].strip()
        yield SummaryFault(
            "instruction", field, line, f"“{said}” is a tool's instruction, not the user's", span
        )


def _counts(facts: LogFacts) -> frozenset[int]:
    lists = (
        facts.directives,
        facts.files,
        facts.commands,
        facts.errors,
        facts.attempts,
        facts.decisions,
        facts.todos,
    )
    actions = [
        sum(file.action == action for file in facts.files)
        for action in ("read", "created", "modified", "deleted")
    ]
    failed = sum(command.is_failed for command in facts.commands)
    changed = len(facts.files) - actions[0]
    return frozenset((*map(len, lists), *actions, failed, len(facts.commands) - failed, changed))
