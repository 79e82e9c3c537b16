"""What a check looks at: the diff, its units and both versions of the files, and how a finding is made of it.

Rule: nothing is found that is not in the diff, and no line is shown with a secret in it.
"""

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from holdfast.redaction import redact
from holdfast.review.diff import Diff, DiffLine, FileChange, Versions
from holdfast.review.file_types import language_family
from holdfast.review.finding import Category, Finding, Severity, Side
from holdfast.review.sides import find_unit
from holdfast.review.unit import Tag, Unit


class ReviewRule(Struct, frozen=True):
    """One thing that is looked for. `name` is what a finding carries; `title` and `help` are for people."""

    name: str
    title: str
    help: str
    severity: Severity
    category: Category


class FindingPlace(Struct, frozen=True):
    """Where a finding stands, and which lines it shows."""

    path: str
    lines: tuple[DiffLine, ...]
    side: Side = "new"


class CheckInput:
    """A diff as the checks see it. Files are read and parsed once, when the first check asks."""

    def __init__(self, diff: Diff, units: Sequence[Unit], versions: Versions) -> None:
        self.diff = diff
        self.units = tuple(units)
        self.versions = versions
        self._texts: dict[tuple[str, Side], str | None] = {}
        self._trees: dict[tuple[str, Side], ast.Module | None] = {}

    @cached_property
    def _by_path(self) -> dict[str, list[Unit]]:
        by_path: dict[str, list[Unit]] = {}
        for unit in self.units:
            by_path.setdefault(unit.path, []).append(unit)
        return by_path

    @cached_property
    def removed_texts(self) -> frozenset[str]:
        """Lines that went, anywhere in the diff, without their indent: what comes back is moved, not new."""
        return frozenset(line.text.strip() for file in self.diff.files for line in changed_lines(file, "-"))

    @cached_property
    def added_texts(self) -> frozenset[str]:
        return frozenset(line.text.strip() for file in self.diff.files for line in changed_lines(file, "+"))

    def files(self, *without: Tag) -> Iterator[FileChange]:
        """Files that have text, but those all of whose units bear one of these tags."""
        for file in self.diff.files:
            if not (file.is_binary or file.is_submodule or self.has_tag(file.path, *without)):
                yield file

    def has_tag(self, path: str, *tags: Tag) -> bool:
        units = self._by_path.get(path, ())
        return bool(units) and all(any(tag in unit.tags for tag in tags) for unit in units)

    def new(self, path: str) -> str | None:
        return self._text(path, "new")

    def old(self, path: str) -> str | None:
        return self._text(path, "old")

    def _text(self, path: str, side: Side) -> str | None:
        key = (path, side)
        if key not in self._texts:
            self._texts[key] = self.versions.new(path) if side == "new" else self.versions.old(path)
        return self._texts[key]

    def tree(self, path: str, side: Side = "new") -> ast.Module | None:
        """The syntax of a Python file; None where it is not had or does not parse."""
        key = (path, side)
        if key not in self._trees:
            self._trees[key] = _parsed(self._text(path, side))
        return self._trees[key]

    def in_code(self, path: str, lines: list[DiffLine]) -> list[DiffLine]:
        """Of added lines, those that are code. Of a Python file that parses: on which a statement or a decorator
        begins, so that what a string shows is not taken for code. Of others: all."""
        tree = self.tree(path) if lines and language_family(path) == "python" else None
        if tree is None:
            return lines
        begins: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                begins.add(node.lineno)
                begins.update(mark.lineno for mark in getattr(node, "decorator_list", ()))
        return [line for line in lines if line.new in begins]

    def unit_at(self, path: str, side: Side, line: int) -> str:
        """The unit that holds the line, else the one nearest to it in that file; empty where there is none."""
        return find_unit(self._by_path.get(path, ()), side, line)

    def finding(
        self,
        rule: ReviewRule,
        place: FindingPlace,
        claim: str,
        suggestion: str = "",
        severity: Severity | None = None,
    ) -> Finding:
        numbers = [line.new if place.side == "new" else line.old for line in place.lines] or [0]
        shown = tuple(redact("\n".join(line.text for line in place.lines)).split("\n")) if place.lines else ()
        return Finding(
            id="",  # given when it is verified
            unit=self.unit_at(place.path, place.side, numbers[0]),
            path=place.path,
            line=numbers[0],
            last_line=numbers[-1],
            side=place.side,
            severity=severity or rule.severity,
            category=rule.category,
            claim=claim,
            evidence=shown,
            suggestion=suggestion,
            rule=rule.name,
        )


def changed_lines(file: FileChange, kind: str) -> Iterator[DiffLine]:
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.kind == kind:
                yield line


def _parsed(text: str | None) -> ast.Module | None:
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in the reviewed file is not ours to warn of
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # not this version's Python, or hostile
        return None
