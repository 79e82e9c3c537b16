"""The repair of a summary: what is missing is added from the rule half, what does not belong is removed.

Rule: afterwards the check finds nothing but, where even the floor is too large, its size. The floor is what the
user said, open errors, changed files and the state of the tests, with a line for every other key; it is never cut.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.check import (
    CheckContext,
    Requirement,
    SummaryFault,
    find_faults,
    find_sources,
    normalize,
)
from holdfast.compaction.claims import pruned
from holdfast.compaction.forms.content import SummaryContent, visible_texts
from holdfast.events import SummaryLine
from holdfast.redaction import redact

CountTokens = Callable[[str], int]
"""Tokens of a text."""
SummaryChangeKind = Literal["added", "removed", "shortened", "redacted"]

GENTLE_ROUNDS, MOST_ROUNDS = 6, 20
"""Rounds in which only a sentence is taken out of a wrong line; after them the whole line goes."""


class SummaryChange(Struct, frozen=True):
    """What was done to a line of a field, and why. `left` is the text of one that was shortened or redacted."""

    what: SummaryChangeKind
    field: str
    line: SummaryLine
    why: str
    left: str = ""


class Repaired(Struct, frozen=True):
    """A repaired summary, the changes that were made, and the faults that could not be repaired."""

    content: SummaryContent
    changes: tuple[SummaryChange, ...] = ()
    left: tuple[SummaryFault, ...] = ()

    @property
    def added(self) -> tuple[SummaryLine, ...]:
        return tuple(change.line for change in self.changes if change.what == "added")

    @property
    def removed(self) -> tuple[tuple[SummaryLine, str], ...]:
        """Lines that are gone, whole or in part, each with the reason."""
        return tuple(
            (change.line, change.why) for change in self.changes if change.what in ("removed", "shortened")
        )


def repair_summary(
    content: SummaryContent, context: CheckContext, *, below: int = 0, count: CountTokens | None = None
) -> Repaired:
    """The repaired content. With a `count` of a text's tokens it also shrinks until it takes fewer than `below`."""
    draft = _Draft(context, {name: [*dict.fromkeys(lines)] for name, lines in content.fields.items()})
    for number in range(MOST_ROUNDS):
        faults = draft.faults()
        if not faults:
            break
        draft.repair(faults, is_gentle=number < GENTLE_ROUNDS)
    left = draft.faults()
    if count is not None and below:
        left += draft.shrink(below, count)
    return Repaired(draft.sourced(), tuple(draft.changes), left)


class _Draft(Struct):
    """A summary while it is repaired."""

    context: CheckContext
    fields: dict[str, list[SummaryLine]]
    changes: list[SummaryChange] = []

    def content(self) -> SummaryContent:
        """The fields that the form has, in its order."""
        names = [field.name for field in self.context.form.fields if field.name in self.fields]
        return SummaryContent({name: tuple(self.fields[name]) for name in names})

    def sourced(self) -> SummaryContent:
        """The content, with the entries that the lines of a model came from."""
        evidence = self.context.evidence
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

    def faults(self) -> tuple[SummaryFault, ...]:
        return (*find_faults(self.content(), self.context),)

    def repair(self, faults: Sequence[SummaryFault], *, is_gentle: bool) -> None:
        """Add what is missing, and take out of each line at once all that is wrong with it."""
        wrong: dict[tuple[str, SummaryLine], list[SummaryFault]] = {}
        for fault in faults:
            if fault.kind == "missing-key":
                self._add(fault.field, self.context.rule.fields.get(fault.field, ()), fault.what)
            elif fault.line is not None and fault.kind.startswith("missing-"):
                self._add(fault.field, (fault.line,), _because(fault))
            elif fault.line is not None:
                wrong.setdefault((fault.field, fault.line), []).append(fault)
        for (field, line), found in wrong.items():
            if line in self.fields.get(field, ()):
                self._correct(field, line, found, is_gentle)

    def shrink(self, most: int, count: CountTokens) -> tuple[SummaryFault, ...]:
        """Drop what matters least until it takes fewer than `most` tokens; a fault if that is impossible."""
        if self._size(count) < most:
            return ()
        for only_rule in (False, True):
            self._secure_requirements(only_rule)
            for field, line in self._spare(only_rule):
                self._remove(field, line, "the summary was too long")
                if self._size(count) < most:
                    return ()
        size = self._size(count)
        return (
            SummaryFault(
                "inflated", "", None, f"even its shortest form takes {size} tokens, and it replaces {most}"
            ),
        )

    def _size(self, count: CountTokens) -> int:
        return count(self.context.form.render(self.content(), archive=self.context.archive))

    def _secure_requirements(self, only_rule: bool) -> None:
        """See that every requirement is met by a line of its own, or of the rule half; the others may go."""
        for need in self.context.requirements:
            if not any(
                self._meets(line, only_rule, (need,)) for lines in self.fields.values() for line in lines
            ):
                self._add(need.field, (need.line,), "so that longer lines may go")

    def _spare(self, only_rule: bool) -> list[tuple[str, SummaryLine]]:
        """Lines that may go, in the order in which they go: the lightest field first."""
        requirements = self.context.requirements
        spare: list[tuple[str, SummaryLine]] = []
        last: list[tuple[str, SummaryLine]] = []
        for field in sorted(self.context.form.fields, key=lambda field: field.weight):
            lines = self.fields.get(field.name, [])
            loose = [line for line in _expendable(lines) if not self._meets(line, only_rule, requirements)]
            other = self._fallback_line(field.name) if len(loose) == len(lines) else None
            spare += [(field.name, line) for line in (loose[:-1] if other else loose)]
            last += [(field.name, line) for line in loose[-1:] if other and len(other.text) < len(line.text)]
        return [*spare, *last]

    def _meets(self, line: SummaryLine, only_rule: bool, requirements: Iterable[Requirement]) -> bool:
        """Whether a line meets one of the requirements, and so may be the only one that does."""
        if only_rule and line.by == "model":
            return False
        said = normalize(line.text)
        return any(need.is_met(said) for need in requirements)

    def _fallback_line(self, name: str) -> SummaryLine | None:
        """The line of the rule half that stays when all else of a field has gone."""
        return next((line for line in self.context.rule.fields.get(name, ()) if visible_texts((line,))), None)

    def _add(self, field: str, lines: Iterable[SummaryLine], why: str) -> None:
        there = self.fields.setdefault(field, [])
        for line in lines:
            if line not in there:
                there.append(line)
                self.changes.append(SummaryChange("added", field, line, why))

    def _remove(self, field: str, line: SummaryLine, why: str) -> None:
        self.fields[field].remove(line)
        self.changes.append(SummaryChange("removed", field, line, why))
        other = self._fallback_line(field)
        if not visible_texts(self.fields[field]) and other is not None:
            self._add(field, (other,), "the field would be empty")

    def _correct(self, field: str, line: SummaryLine, faults: list[SummaryFault], is_gentle: bool) -> None:
        """Redact a line, or take the sentences out that do not belong."""
        why = "; ".join(dict.fromkeys(fault.what for fault in faults))
        is_secret = any(fault.kind == "secret" and fault.span == (0, 0) for fault in faults)
        whole = [(0, len(line.text))]
        text = redact(line.text)
        if not is_secret:
            text = pruned(line.text, [fault.span for fault in faults] if is_gentle else whole)
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


def _expendable(lines: Sequence[SummaryLine]) -> list[SummaryLine]:
    """In the order in which they go: the rule half's, which are in the order of the log, from the oldest; then a
    model's from the last that it wrote."""
    rule = [line for line in lines if line.by == "rule"]
    return [*rule, *(line for line in reversed(lines) if line.by != "rule")]


def _because(fault: SummaryFault) -> str:
    return f"{fault.kind.removeprefix('missing-').replace('-', ' ')} was missing"
