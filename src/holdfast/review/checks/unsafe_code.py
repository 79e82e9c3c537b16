"""Lines that are unsafe anywhere: certificates not verified, errors ignored, text run as code, and characters that
make code look different from what it does.

Rule: only what the syntax itself shows; nothing in tests and examples. Of characters, only those that change the
visible order, or hide inside a word; scripts that need such characters are not reported.
"""

import ast
import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.file_types import LanguageFamily, is_program_file, is_test_file, language_family
from holdfast.review.finding import Finding

UNVERIFIED = ReviewRule(
    "certificate-check-off",
    "Certificate verification is turned off",
    "Anyone on the network path can then read and change everything.",
    "high",
    "security",
)
SWALLOWED = ReviewRule(
    "swallowed-error",
    "All errors are caught and ignored",
    "An ignored error shows up much later, elsewhere. Catch the expected errors by name.",
    "low",
    "bug",
)
RUN_TEXT = ReviewRule(
    "text-as-code",
    "Text is run as code",
    "If any part of it comes from outside, so does the code.",
    "medium",
    "security",
)
DIRECTION = ReviewRule(
    "hidden-direction",
    "A character that changes the text direction is added",
    "Code is then displayed in another order than the compiler reads it (CVE-2021-42574).",
    "high",
    "security",
)
INVISIBLE = ReviewRule(
    "invisible-character",
    "A zero-width character is added inside a word",
    "Two names that look the same are different. Remove it, or write it as an escape.",
    "medium",
    "security",
)
RULES = (UNVERIFIED, SWALLOWED, RUN_TEXT, DIRECTION, INVISIBLE)

_UNVERIFIED: dict[LanguageFamily, re.Pattern[str]] = {
    "js": re.compile(r"\brejectUnauthorized['\"]?\s*:\s*false\b|NODE_TLS_REJECT_UNAUTHORIZED\W+=\s*['\"]?0"),
    "go": re.compile(r"\bInsecureSkipVerify\s*:\s*true\b"),
    "rust": re.compile(r"\bdanger_accept_invalid_(?:certs|hostnames)\(true\)"),
    "ruby": re.compile(r"\bOpenSSL::SSL::VERIFY_NONE\b"),
    "php": re.compile(r"\bCURLOPT_SSL_VERIFYPEER\s*(?:,|=>)\s*(?:false|0)\b"),
    "shell": re.compile(
        r"^[^#]*\bcurl\s(?:[^|;#]*\s)?(?:-[a-zA-Z]*k|--insecure)\s|^[^#]*\bwget\b[^|;#]*--no-check-certificate"
    ),
}
_SWALLOWED = re.compile(r"\bcatch\s*(?:\(\s*\w*(?:\s*:\s*\w+)?\s*\))?\s*\{\s*\}")
_RUN_TEXT = re.compile(r"(?:^|[^\w.$'\"`])(?:eval|new Function)\(\s*(?!['\"`]|\s*\))")
_COMMENT = re.compile(r"\s*(?://|/?\*|#)")
_WORTH_PARSING = re.compile(r"\bexcept\b|CERT_NONE|unverified|\b(?:eval|exec)\(|\bverify|\bshell\b|\w\(\s*$")
_CALLS = frozenset("get post put patch delete head options request stream Session Client AsyncClient".split())
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile("[A-Za-z0-9_][\u200b\u2060\ufeff\u00ad][A-Za-z0-9_]")


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.files("docs", "generated"):
        family = language_family(file.path)
        if family not in ("", "markup", "data"):
            yield from _hidden(change, file)
        is_exempt = change.has_tag(file.path, "docs", "generated", "tests") or is_test_file(file.path)
        if file.change != "deleted" and not is_exempt and not is_program_file(file.path):
            find = _in_python if family == "python" else _in_text
            yield from find(change, file, change.new_lines(file))


def _hidden(change: CheckInput, file: FileChange) -> Iterator[Finding]:
    for line in file.lines("+"):
        if line.text.isascii():
            continue
        if found := _DIRECTION.search(line.text):
            claim = f"The line contains U+{ord(found.group()):04X}, which changes the text direction."
            yield change.finding(DIRECTION, file, [line], claim)
        elif found := _INVISIBLE.search(line.text):
            claim = f"A word in this line contains U+{ord(found.group()[1]):04X}, which is invisible."
            yield change.finding(INVISIBLE, file, [line], claim)


def _in_text(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    kind = language_family(file.path)
    unverified = _UNVERIFIED.get(kind)
    for line in added:
        if _COMMENT.match(line.text) or len(line.text) > 1_000:  # minified code is skipped
            continue
        if unverified is not None and unverified.search(line.text):
            yield change.finding(UNVERIFIED, file, [line], "Certificates are not verified here.")
        if kind == "js" and _RUN_TEXT.search(line.text):
            yield change.finding(RUN_TEXT, file, [line], "Text that is not a literal is run as code here.")
        if kind in ("js", "java") and _SWALLOWED.search(line.text):
            yield change.finding(SWALLOWED, file, [line], "Errors are caught and ignored here.")


def _in_python(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    lines = {line.new: line for line in added if _WORTH_PARSING.search(line.text)}
    tree = change.tree(file.path) if lines else None
    if tree is None:
        return
    for node in ast.walk(tree):
        number = getattr(node, "lineno", 0)
        if number not in lines:
            continue
        line = lines[number]
        if isinstance(node, ast.ExceptHandler) and _swallows(node):
            yield change.finding(SWALLOWED, file, [line], "All errors are caught and ignored here.")
        elif _is_unverified(node):
            yield change.finding(UNVERIFIED, file, [line], "Certificates are not verified here.")
        elif isinstance(node, ast.Call) and _runs_text(node):
            yield change.finding(RUN_TEXT, file, [line], "Text that is not a literal is run as code here.")


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    is_all = caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))
    return is_all and len(handler.body) == 1 and isinstance(handler.body[0], ast.Pass)


def _is_unverified(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "_create_unverified_context"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "CERT_NONE"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
        return _has_keyword(node, "verify", False) or _has_keyword(node, "verify_ssl", False)
    return False


def _runs_text(call: ast.Call) -> bool:
    if not call.args or isinstance(call.args[0], ast.Constant):
        return False
    if isinstance(call.func, ast.Name):
        # `exec(compile(…))` is how programs run scripts.
        return call.func.id in ("eval", "exec") and not isinstance(call.args[0], ast.Call)
    is_list = isinstance(call.args[0], ast.List | ast.Tuple)
    return isinstance(call.func, ast.Attribute) and not is_list and _has_keyword(call, "shell", True)


def _has_keyword(call: ast.Call, name: str, value: bool) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value is value
        for word in call.keywords
    )
