"""Lines that are unsafe anywhere: certificates not verified, errors ignored, text run as code.

Rule: only what the syntax itself shows; nothing in tests and examples.
"""

import ast
import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange
from holdfast.review.file_types import (
    LanguageFamily,
    is_program_file,
    is_test_file,
    language_family,
)
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
RULES = (UNVERIFIED, SWALLOWED, RUN_TEXT)

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


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.files("docs", "generated", "tests"):
        if file.change == "deleted" or is_test_file(file.path) or is_program_file(file.path):
            continue
        added = [line for line in file.lines("+") if line.text.strip() not in change.removed_texts]
        yield from (
            _in_python(change, file, added)
            if language_family(file.path) == "python"
            else _in_text(change, file, added)
        )


def _in_text(change: CheckInput, file: FileChange, added: list[DiffLine]) -> Iterator[Finding]:
    kind = language_family(file.path)
    unverified = _UNVERIFIED.get(kind)
    for line in added:
        if _COMMENT.match(line.text) or len(line.text) > 1_000:  # minified code is skipped
            continue
        if unverified is not None and unverified.search(line.text):
            yield change.finding(UNVERIFIED, file.path, [line], "Certificates are not verified here.")
        if kind == "js" and _RUN_TEXT.search(line.text):
            yield change.finding(
                RUN_TEXT, file.path, [line], "Text that is not a literal is run as code here."
            )
        if kind in ("js", "java") and _SWALLOWED.search(line.text):
            yield change.finding(SWALLOWED, file.path, [line], "Errors are caught and ignored here.")


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
            yield change.finding(SWALLOWED, file.path, [line], "All errors are caught and ignored here.")
        elif _is_unverified(node):
            yield change.finding(UNVERIFIED, file.path, [line], "Certificates are not verified here.")
        elif isinstance(node, ast.Call) and _runs_text(node):
            yield change.finding(
                RUN_TEXT, file.path, [line], "Text that is not a literal is run as code here."
            )


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    is_all = caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))
    return is_all and len(handler.body) == 1 and isinstance(handler.body[0], ast.Pass)


def _is_unverified(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "_create_unverified_context"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "CERT_NONE"
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in _CALLS
    ):
        return False
    return any(
        word.arg in ("verify", "verify_ssl")
        and isinstance(word.value, ast.Constant)
        and word.value.value is False
        for word in node.keywords
    )


def _runs_text(call: ast.Call) -> bool:
    if not call.args or isinstance(call.args[0], ast.Constant):
        return False
    if isinstance(call.func, ast.Name):
        # `exec(compile(…))` is how programs run scripts.
        return call.func.id in ("eval", "exec") and not isinstance(call.args[0], ast.Call)
    if not isinstance(call.func, ast.Attribute) or isinstance(call.args[0], ast.List | ast.Tuple):
        return False
    return any(
        word.arg == "shell" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in call.keywords
    )
