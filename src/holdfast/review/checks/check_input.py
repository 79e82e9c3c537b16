"""What a check gets: the diff, its units and both versions of the files; and how it makes a finding.

Rule: nothing is found that is not in the diff, and no line is shown with a secret in it.
"""

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from msgspec import Struct

from holdfast.redaction import redact
from holdfast.review.diff import Diff, DiffLine, FileChange, LineKind, Versions
from holdfast.review.file_types import language_family
from holdfast.review.finding import Category, Finding, Severity, Side
from holdfast.review.findings import find_unit
from holdfast.review.unit import Tag, Unit


class ReviewRule(Struct, frozen=True):
    """One thing that a check looks for. `name` is stored with a finding; `title` and `help` are for people."""

    name: str
    title: str
    help: str
    severity: Severity
    category: Category


class CheckInput:
    """The change as the checks see it. Files are read and parsed once, when a check first needs them."""

    def __init__(self, diff: Diff, units: Sequence[Unit], versions: Versions) -> None:
        self.diff = diff
        self.old, self.new = cache(versions.old), cache(versions.new)
        """The text of a path before and after the change; None if there is none."""
        self.tree = cache(self._parse)
        self.units: dict[str, list[Unit]] = {}
        """By path, in the order of the diff."""
        for unit in units:
            self.units.setdefault(unit.path, []).append(unit)

    @cached_property
    def removed_texts(self) -> frozenset[str]:
        """Removed lines anywhere in the diff, without indentation: what is added again was moved and is not new."""
        return self._texts("-")

    @cached_property
    def added_texts(self) -> frozenset[str]:
        return self._texts("+")

    def _texts(self, kind: LineKind) -> frozenset[str]:
        return frozenset(line.text.strip() for file in self.diff.files for line in file.lines(kind))

    def files(self, *without: Tag) -> Iterator[FileChange]:
        """Text files, except those whose units all have one of these tags."""
        for file in self.diff.files:
            if not (file.is_binary or file.is_submodule or self.has_tag(file.path, *without)):
                yield file

    def has_tag(self, path: str, *tags: Tag) -> bool:
        units = self.units.get(path, ())
        return bool(units) and all(any(tag in unit.tags for tag in tags) for unit in units)

    def new_lines(self, file: FileChange) -> list[DiffLine]:
        """Added lines, without those that were moved."""
        return [line for line in file.lines("+") if line.text.strip() not in self.removed_texts]

    def in_code(self, path: str, lines: list[DiffLine]) -> list[DiffLine]:
        """The added lines that are code. In a Python file that parses: those on which a statement or a decorator
        begins, so that the content of a string is not taken for code. In other files: all."""
        tree = self.tree(path) if lines and language_family(path) == "python" else None
        if tree is None:
            return lines
        begins: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                begins.add(node.lineno)
                begins.update(mark.lineno for mark in getattr(node, "decorator_list", ()))
        return [line for line in lines if line.new in begins]

    def finding(
        self,
        rule: ReviewRule,
        file: FileChange,
        lines: Sequence[DiffLine],
        claim: str,
        suggestion: str = "",
        *,
        severity: Severity | None = None,
        side: Side = "new",
    ) -> Finding:
        """A finding about these lines of a file, or about the file as a whole if there are none."""
        numbers = [line.new if side == "new" else line.old for line in lines] or [0]
        evidence = redact("\n".join(line.text for line in lines)).split("\n") if lines else ()
        return Finding(
            id="",  # set when it is verified
            unit=find_unit(self.units.get(file.path, ()), side, numbers[0]),
            path=file.path,
            line=numbers[0],
            last_line=numbers[-1],
            side=side,
            severity=severity or rule.severity,
            category=rule.category,
            claim=claim,
            evidence=tuple(evidence),
            suggestion=suggestion,
            rule=rule.name,
        )

    def _parse(self, path: str) -> ast.Module | None:
        """The syntax tree of a Python file after the change; None if it has none."""
        text = self.new(path)
        if text is None:
            return None
        try:
            with warnings.catch_warnings():
                # An odd escape in the reviewed file is not ours to warn about.
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # other Python version, or hostile
            return None
