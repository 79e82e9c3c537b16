"""The repair of a summary: what is missing comes from the rule half, what does not belong goes, and both are told.

Rule: afterwards the check finds nothing but, where even the floor is too large, its size. The floor is what the
user said, open errors, changed files and the state of the tests, with a line for every other key; it is never cut.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.check import CheckContext, SummaryFault, find_faults, find_sources
from holdfast.compaction.claim import pruned
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import FormLine, SummaryContent, visible_texts
from holdfast.compaction.forms.form import Form, content_of
from holdfast.compaction.requirements import Requirement, normalise
from holdfast.redaction import redact

Count = Callable[[str], int]
"""Tokens of a text."""
What = Literal["added", "removed", "shortened", "redacted"]

GENTLE_ROUNDS, MOST_ROUNDS = 6, 20
"""Rounds in which a clause is taken out of a line that is wrong; after them the line goes whole."""


class SummaryChange(Struct, frozen=True):
    """What was done to a line of a field, and why. `left` is what one that was shortened or redacted now says."""

    what: What
    field: str
    line: FormLine
    why: str
    left: str = ""


class Repaired(Struct, frozen=True):
    """A summary that may stand, what was changed to make it so, and what nothing could be done about."""

    content: SummaryContent
    changes: tuple[SummaryChange, ...] = ()
    left: tuple[SummaryFault, ...] = ()

    @property
    def added(self) -> tuple[FormLine, ...]:
        return tuple(change.line for change in self.changes if change.what == "added")

    @property
    def removed(self) -> tuple[tuple[FormLine, str], ...]:
        """Lines that are gone, whole or in part, each with the reason."""
        return tuple(
            (change.line, change.why) for change in self.changes if change.what in ("removed", "shortened")
        )


class ExplainedLine(Struct, frozen=True):
    """A line as `--explain` shows it: where it stands, whose it is, from which entries, and what was done to it."""

    field: str
    text: str
    by: str
    sources: tuple[str, ...]
    change: What | None = None
    why: str = ""


def repair_summary(
    content: SummaryContent,
    findings: Sequence[SummaryFault],
    facts: LogFacts,
    form: Form,
    evidence: Evidence,
    *,
    archive: bool = False,
    replaced_tokens: int = 0,
    count: Count | None = None,
) -> Repaired:
    """The content, mended. Its size is looked at only with `replaced_tokens` and a `count` of a text's tokens."""
    ground = CheckContext.of(form, facts, evidence, archive=archive)
    draft = _Draft(ground, {name: [*dict.fromkeys(lines)] for name, lines in content.fields.items()})
    found: Sequence[SummaryFault] = [finding for finding in findings if finding.kind != "inflated"]
    for number in range(MOST_ROUNDS):
        found = found or draft.findings()
        if not found:
            break
        draft.mend(found, is_gentle=number < GENTLE_ROUNDS)
        found = ()
    left = (*draft.findings(),)
    if count is not None and replaced_tokens:
        left += draft.shrink(replaced_tokens, count)
    return Repaired(draft.sourced(), tuple(draft.changes), left)


def explain(repaired: Repaired) -> tuple[ExplainedLine, ...]:
    """Every line that stands and every one that went, field by field."""
    done = {(change.field, change.left or change.line.text): change for change in repaired.changes}
    rows: list[ExplainedLine] = []
    for field, lines in repaired.content.fields.items():
        for line in lines:
            change = done.get((field, line.text))
            stands = change if change is not None and change.what != "removed" else None
            what, why = (stands.what, stands.why) if stands else (None, "")
            rows.append(ExplainedLine(field, line.text, line.by, line.sources, what, why))
    gone = [change for change in repaired.changes if change.what == "removed"]
    rows += [ExplainedLine(c.field, c.line.text, c.line.by, c.line.sources, c.what, c.why) for c in gone]
    return tuple(rows)


class _Draft(Struct):
    """A summary while it is mended."""

    ground: CheckContext
    fields: dict[str, list[FormLine]]
    changes: list[SummaryChange] = []

    def content(self) -> SummaryContent:
        """The fields that the form has, in its order."""
        known = [field for field in self.ground.form.fields if field.name in self.fields]
        return content_of(known, {field.name: tuple(self.fields[field.name]) for field in known})

    def sourced(self) -> SummaryContent:
        """The content, with the entries that the lines of a model came from."""
        evidence = self.ground.evidence
        return SummaryContent(
            {
                field: tuple(
                    line
                    if line.by == "rule" or line.sources
                    else replace(line, sources=find_sources(line, evidence))
                    for line in lines
                )
                for field, lines in self.content().fields.items()
            }
        )

    def findings(self) -> tuple[SummaryFault, ...]:
        return (*find_faults(self.content(), self.ground),)

    def mend(self, findings: Sequence[SummaryFault], *, is_gentle: bool) -> None:
        """Add what is missing, and take out of each line at once all that is wrong with it."""
        wrong: dict[tuple[str, FormLine], list[SummaryFault]] = {}
        for finding in findings:
            if finding.kind == "missing-key":
                self._add(finding.field, self.ground.rule.fields.get(finding.field, ()), finding.what)
            elif finding.line is not None and finding.kind.startswith("missing-"):
                self._add(finding.field, (finding.line,), _because(finding))
            elif finding.line is not None:
                wrong.setdefault((finding.field, finding.line), []).append(finding)
        for (field, line), found in wrong.items():
            if line in self.fields.get(field, ()):
                self._correct(field, line, found, is_gentle)

    def shrink(self, most: int, count: Count) -> tuple[SummaryFault, ...]:
        """Drop what matters least until it is smaller than `most` tokens; what is wrong if that cannot be."""
        form = self.ground.form
        if count(form.render(self.content())) < most:
            return ()
        for only_rule in (False, True):
            self._settle(only_rule)
            for field, line in self._spare(only_rule):
                self._remove(field, line, "the summary was too long")
                if count(form.render(self.content())) < most:
                    return ()
        size = count(form.render(self.content()))
        return (
            SummaryFault("inflated", "", None, f"its floor takes {size} tokens, and it stands for {most}"),
        )

    def _settle(self, only_rule: bool) -> None:
        """Let every need be met by a line of its own, or of the rule half, so that the others may go."""
        for need in self.ground.needs:
            if not any(
                self._meets(line, only_rule, (need,)) for lines in self.fields.values() for line in lines
            ):
                self._add(need.field, (need.line,), "so that longer lines may go")

    def _spare(self, only_rule: bool) -> list[tuple[str, FormLine]]:
        """Lines that may go, those to go first in front, of the lightest field first."""
        needs = self.ground.needs
        spare: list[tuple[str, FormLine]] = []
        last: list[tuple[str, FormLine]] = []
        for field in sorted(self.ground.form.fields, key=lambda field: field.weight):
            lines = self.fields.get(field.name, [])
            loose = [line for line in _expendable(lines) if not self._meets(line, only_rule, needs)]
            other = self._stand_in(field.name) if len(loose) == len(lines) else None
            spare += [(field.name, line) for line in (loose[:-1] if other else loose)]
            last += [(field.name, line) for line in loose[-1:] if other and len(other.text) < len(line.text)]
        return [*spare, *last]

    def _meets(self, line: FormLine, only_rule: bool, needs: Iterable[Requirement]) -> bool:
        """Whether a line meets one of the needs, and so may be the only one that does."""
        if only_rule and line.by == "model":
            return False
        said = normalise(line.text)
        return any(need.is_met(said) for need in needs)

    def _stand_in(self, name: str) -> FormLine | None:
        """The line of the rule half that stays when all else of a field has gone."""
        return next((line for line in self.ground.rule.fields.get(name, ()) if visible_texts((line,))), None)

    def _add(self, field: str, lines: Iterable[FormLine], why: str) -> None:
        there = self.fields.setdefault(field, [])
        for line in lines:
            if line not in there:
                there.append(line)
                self.changes.append(SummaryChange("added", field, line, why))

    def _remove(self, field: str, line: FormLine, why: str) -> None:
        self.fields[field].remove(line)
        self.changes.append(SummaryChange("removed", field, line, why))
        other = self._stand_in(field)
        if not visible_texts(self.fields[field]) and other is not None:
            self._add(field, (other,), "the field would be empty")

    def _correct(self, field: str, line: FormLine, findings: list[SummaryFault], is_gentle: bool) -> None:
        """Redact a line, or take the clauses out that do not belong."""
        why = "; ".join(dict.fromkeys(finding.what for finding in findings))
        is_secret = any(finding.kind == "secret" and finding.span == (0, 0) for finding in findings)
        whole = [(0, len(line.text))]
        text = redact(line.text)
        if not is_secret:
            text = pruned(line.text, [finding.span for finding in findings] if is_gentle else whole)
        lines = self.fields[field]
        if text and text != line.text:
            lines[lines.index(line)] = replace(line, text=text)
            self.fields[field] = [*dict.fromkeys(lines)]
            self.changes.append(
                SummaryChange("redacted" if is_secret else "shortened", field, line, why, text)
            )
        else:
            lines.remove(line)
            self.changes.append(SummaryChange("removed", field, line, why))


def _expendable(lines: Sequence[FormLine]) -> list[FormLine]:
    """In the order in which they go: the rule half's, which are in the order of the log, from the oldest; then a
    model's from the last that it wrote."""
    rule = [line for line in lines if line.by == "rule"]
    return [*rule, *(line for line in reversed(lines) if line.by != "rule")]


def _because(finding: SummaryFault) -> str:
    return f"{finding.kind.removeprefix('missing-').replace('-', ' ')} was missing"
