"""What the lines of a change are: imports, comments, calls that only log, or nothing but space.

Rule: a change is *only* something if every line that changed is, on both sides, empty lines aside. What cannot be
told is not said.
"""

import re
from collections.abc import Iterable, Sequence
from typing import get_args

from msgspec import Struct

from holdfast.review.diff import DiffLine, FileChange, Hunk
from holdfast.review.hunk_groups import HunkGroup, OutlinePair
from holdfast.review.outline import Outline
from holdfast.review.tag_patterns import path_tags, security_reasons
from holdfast.review.unit import Symbol, Tag

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


def only_tags(hunks: Sequence[Hunk], outlines: OutlinePair, language: str) -> list[Tag]:
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


def code_lines(hunks: Iterable[Hunk], outlines: OutlinePair, language: str) -> list[str]:
    """The lines that changed, without those that are comments."""
    return [
        line.text
        for hunk in hunks
        for line in hunk.lines
        if line.kind != " " and not _is_comment(line, outlines, language)
    ]


def _side(line: DiffLine, outlines: OutlinePair) -> tuple[Outline | None, int]:
    return (outlines.new, line.new) if line.kind == "+" else (outlines.old, line.old)


def _is_in(line: DiffLine, outlines: OutlinePair, what: str) -> bool:
    outline, number = _side(line, outlines)
    return outline is not None and number in getattr(outline, what)


def _is_comment(line: DiffLine, outlines: OutlinePair, language: str) -> bool:
    if _DIRECTIVE.search(line.text):
        return False
    outline, number = _side(line, outlines)
    if outline is not None:
        return number in outline.comments
    sign = _COMMENTS.get(language)
    return sign is not None and line.text.lstrip().startswith(sign)


def _is_logging(said: Sequence[DiffLine], outlines: OutlinePair) -> bool:
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


# All tags of a unit.
#
# Rule: a tag follows from the path, the lines that changed and the two outlines, and from nothing else; tags stand in
# one fixed order.

ORDER: tuple[Tag, ...] = get_args(Tag)

_ROUTES = re.compile(
    r"@\w+\.(?:route|get|post|put|patch|delete|websocket)\(|@(?:Get|Post|Put|Delete|Patch|Request)Mapping\b|"
    r"\b(?:app|router|mux|api|server|r|e)\.(?:get|post|put|patch|delete|all|use|Handle(?:Func)?|GET|POST|PUT|DELETE)"
    r"\(\s*[\"'`]/|\burlpatterns\b|\bre_path\(|\bpath\(\s*r?[\"'][^\"']*[\"']\s*,\s*\w+|\badd_(?:url_rule|route)\(|"
    r"@(?:Controller|RestController|Path)\b|<Route\b|\bhttp\.Handle(?:Func)?\("
)
_SCHEMA = re.compile(
    r"\b(?:ALTER|CREATE|DROP)\s+(?:TABLE|INDEX|UNIQUE|COLUMN|VIEW|DATABASE|SCHEMA|TYPE)\b|\bADD\s+COLUMN\b|"
    r"\bop\.(?:add_column|drop_column|alter_column|create_table|drop_table|create_index|execute)\(|"
    r"\bmigrations\.\w+\(|^\s*(?:create_table|drop_table|add_column|remove_column|change_column|add_index)\b",
    re.MULTILINE,
)
_HEADER = re.compile(
    r"code generated .{0,80}do not edit|@generated\b|\bauto-?generated\b|automatically generated (?:by|from|file)|"
    r"generated by .{0,60}do not (?:edit|modify)|do not edit (?:this file )?(?:manually|by hand|directly)",
    re.IGNORECASE,
)
HEADER_LINES = 8
LONG_LINE = 2000


class OutlinedFile(Struct, frozen=True):
    """What tags are told from. `head` is how the file begins."""

    file: FileChange
    cut: HunkGroup
    outlines: OutlinePair
    language: str
    head: str


def tag_unit(told: OutlinedFile) -> tuple[Tag, ...]:
    file = told.file
    tags: set[Tag] = set(path_tags(file.path))
    if file.old_path != file.path:
        tags |= path_tags(file.old_path) & {"security", "migration"}
    tags |= set(only_tags(told.cut.hunks, told.outlines, told.language))
    if "tests" not in tags and _is_test(told.cut.symbol):
        tags = (tags - {"security", "routing", "migration"}) | {"tests"}
    if _is_generated(told):
        tags.add("generated")
    tags |= _content_tags(told, tags)
    if is_whole_function(told.cut):
        tags.add("whole_function")
    tags |= _file_tags(file)
    return tuple(tag for tag in ORDER if tag in tags)


def is_whole_function(cut: HunkGroup) -> bool:
    """Whether a function is here from its first line to its last, all of it added or all of it removed."""
    symbol = cut.symbol
    if symbol is None or symbol.kind not in ("function", "method"):
        return False
    lines = [line for hunk in cut.hunks for line in hunk.lines]
    span = symbol.span
    added = sum(line.kind == "+" and span.first <= line.new <= span.last for line in lines)
    removed = sum(line.kind == "-" and span.first <= line.old <= span.last for line in lines)
    has_added = any(line.kind == "+" for line in lines)
    length = span.last - span.first + 1
    return added == length or (removed == length and not has_added)


def _is_test(symbol: Symbol | None) -> bool:
    """Rust keeps tests in the file they test."""
    return symbol is not None and symbol.name.startswith("tests.")


def _content_tags(told: OutlinedFile, tags: set[Tag]) -> set[Tag]:
    if tags & {"tests", "docs", "generated", "comments_only", "whitespace_only"}:
        return set()
    lines = code_lines(told.cut.hunks, told.outlines, told.language)
    text = "\n".join(line[:LONG_LINE] for line in lines)
    found: set[Tag] = set()
    if security_reasons(lines, told.language):
        found.add("security")
    if _ROUTES.search(text):
        found.add("routing")
    if _SCHEMA.search(text) and told.language not in ("", "text", "markdown"):
        found.add("migration")
    return found


def _is_generated(told: OutlinedFile) -> bool:
    if _HEADER.search("\n".join(told.head.split("\n", HEADER_LINES)[:HEADER_LINES])):
        return True
    added = [line.text for hunk in told.cut.hunks for line in hunk.lines if line.kind == "+"]
    return told.language in ("javascript", "css", "json") and _is_packed(added)


def _is_packed(lines: Sequence[str]) -> bool:
    """Whether lines were made by a program for a program."""
    return any(len(line) > LONG_LINE for line in lines)


def _file_tags(file: FileChange) -> set[Tag]:
    tags: set[Tag] = set()
    if file.is_binary:
        tags.add("binary")
    if file.is_submodule:
        tags.add("submodule")
    if file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        tags.add("mode")
    if file.change in ("renamed", "copied"):
        tags.add("moved")
    return tags
