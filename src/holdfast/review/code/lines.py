"""What the lines of a change are: imports, comments, calls that only log, or nothing but space.

Rule: a change is *only* something if every line that changed is, on both sides, empty lines aside. What cannot be
told is not said.
"""

import re
from collections.abc import Iterable, Sequence

from holdfast.review.code.cutting import Outlines
from holdfast.review.code.outline import Outline
from holdfast.review.diff import DiffLine, Hunk
from holdfast.review.unit import Tag

_LOGGING = re.compile(
    r"(?:(?:self|this|cls|s|c)\.)?_?(?:log(?:ger|ging)?|LOG(?:GER)?|slog|klog|glog|zap|tracing|Rails\.logger)"
    r"(?:\.\w+\([^()]*\))?(?:\.|::)\w+\s*!?\(|console\.(?:log|debug|info|warn|error|trace)\(|"
    r"(?:log|debug|info|warn|error|trace|eprintln|println|dbg)!\(|fmt\.Print|System\.(?:out|err)\.print|NSLog\(|"
    r"(?:print|puts|printf|syslog)\s*\(?"
)
_DIRECTIVE = re.compile(
    r"#\s*(?:noqa|nosec|type:|pragma|pylint|mypy|ruff|fmt:|!/)|//\s*(?:go:|nolint|eslint|@ts-|prettier|\+build)|"
    r"/[*/]\s*(?:eslint|istanbul|NOLINT|@ts-)|rubocop:|coding[:=]|shellcheck",
    re.IGNORECASE,
)
"""Comments that tools obey."""
_COMMENT_LINE = {"#": "python ruby shell yaml toml make dockerfile terraform perl cmake", "--": "sql lua"}
_COMMENT_LINE["//"] = (
    "typescript tsx javascript go rust java c cpp csharp kotlin swift scala php protobuf groovy"
)
_COMMENT_LINE[";"] = "ini"
_COMMENTS = {language: sign for sign, languages in _COMMENT_LINE.items() for language in languages.split()}
_INDENTED = {"python", "yaml", "make", "markdown", "rst", ""}
"""Where space at the beginning of a line means something, or may."""


def only_tags(hunks: Sequence[Hunk], outlines: Outlines, language: str) -> list[Tag]:
    """Those of the tags that end in `_only` which hold."""
    changed = [line for hunk in hunks for line in hunk.lines if line.kind != " "]
    if not changed:
        return []
    if _is_space(hunks, language):
        return ["whitespace_only"]
    said = [line for line in changed if line.text.strip()]
    if all(_is_in(line, outlines, "imports") for line in said):
        return ["imports_only"]
    if all(_is_comment(line, outlines, language) for line in said):
        return ["comments_only"]
    if _is_logging(said, outlines):
        return ["logging_only"]
    return []


def code_lines(hunks: Iterable[Hunk], outlines: Outlines, language: str) -> list[str]:
    """The lines that changed, without those that are comments."""
    return [
        line.text
        for hunk in hunks
        for line in hunk.lines
        if line.kind != " " and not _is_comment(line, outlines, language)
    ]


def _side(line: DiffLine, outlines: Outlines) -> tuple[Outline | None, int]:
    return (outlines.new, line.new) if line.kind == "+" else (outlines.old, line.old)


def _is_in(line: DiffLine, outlines: Outlines, what: str) -> bool:
    outline, number = _side(line, outlines)
    return outline is not None and number in getattr(outline, what)


def _is_comment(line: DiffLine, outlines: Outlines, language: str) -> bool:
    if _DIRECTIVE.search(line.text):
        return False
    outline, number = _side(line, outlines)
    if outline is not None:
        return number in outline.comments
    sign = _COMMENTS.get(language)
    return sign is not None and line.text.lstrip().startswith(sign)


def _is_logging(said: Sequence[DiffLine], outlines: Outlines) -> bool:
    logged: dict[str, set[int]] = {}
    for kind, outline in (("+", outlines.new), ("-", outlines.old)):
        calls = outline.calls if outline else ()
        logged[kind] = {
            number
            for call in calls
            if _LOGGING.match(call.head)
            for number in range(call.span.first, call.span.last + 1)
        }
    return all((line.new or line.old) in logged[line.kind] for line in said)


def _is_space(hunks: Sequence[Hunk], language: str) -> bool:
    """Whether both sides say the same without space; at line ends alone where space means something."""
    old, new = ([line.text for h in hunks for line in h.lines if line.kind == kind] for kind in "-+")
    if language in _INDENTED:
        # Empty lines are told from others, because Markdown and strings of several lines hold them.
        return [text.rstrip() for text in old] == [text.rstrip() for text in new]
    return "".join("".join(text.split()) for text in old) == "".join("".join(text.split()) for text in new)
