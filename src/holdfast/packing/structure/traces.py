"""Stack traces of Python, Node, Java, Go and Rust: the error, and the way to it through the project.

Rule: a frame depends on its error, a frame's source on the frame. Frames of the project count and those of
libraries do not; the innermost of the project's counts most. Whatever is not known as a library, a runtime or a
test runner belongs to the project.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from holdfast.packing.structure.findings import (
    DULL,
    KEY,
    LONGEST,
    NOISE,
    NOWHERE,
    SLIGHT,
    TELLING,
    BareText,
    LineFindings,
)

Language = Literal["python", "at", "go", "rust"]
"""The way a frame is written; Node and Java share theirs."""

_PLACES: dict[Language, tuple[str, ...]] = {
    "python": ("site-packages", "dist-packages", "/lib/python", "<frozen ", "<string>", "\\Lib\\"),
    "at": (
        *("node_modules", "node:", "(internal/", "(native)", "(<anonymous>)", "java.base/", "jdk.internal"),
        *("Native Method", "/usr/lib", "Unknown Source"),
    ),
    "go": (
        *("/pkg/mod/", "/usr/local/go/src/", "/libexec/src/", "/vendor/", "/src/runtime/", "/src/testing/"),
        *("/src/net/http/",),
    ),
    "rust": (
        *("/rustc/", "/.cargo/registry/", "/rustlib/", "rust_begin_unwind", "__rust_", "__libc_start"),
        *(": _start",),
    ),
}
_RUNTIMES = (
    *("java", "javax", "jdk", "sun", "com.sun", "jakarta", "kotlin", "scala", "groovy", "org.junit"),
    *("org.testng", "org.gradle", "worker.org.gradle", "org.mockito", "org.hamcrest", "org.springframework"),
    *("org.hibernate", "org.apache.maven", "org.apache.catalina", "org.apache.tomcat", "org.apache.coyote"),
    *("io.netty", "com.intellij"),
)
_OPENINGS: dict[Language, tuple[str, ...]] = {
    "python": (),
    "at": tuple(f"at {name}." for name in _RUNTIMES),
    "go": (
        *("runtime.", "testing.", "reflect.", "sync.", "net/http.", "panic("),
        *("created by testing.", "created by net/http."),
    ),
    "rust": (),
}
_CRATES = (" core::", " std::", " alloc::", "<core::", "<std::", "<alloc::", " test::")


def is_library(frame: Sequence[str], language: Language) -> bool:
    """Whether the lines of a frame point outside the project."""
    if frame[0].lstrip().startswith(_OPENINGS[language]):
        return True
    whole = " ".join(frame)
    if any(place in whole for place in _PLACES[language]):
        return True
    if language == "go":
        return "/src/" in whole and any(
            part in whole for part in ("/go/1.", "/golang", "/usr/lib/go", "/go1.")
        )
    return language == "rust" and any(crate in frame[0] for crate in _CRATES)


Frame = tuple[int, ...]
"""The lines of a frame, the one that the others depend on first."""

_PYTHON = re.compile(r'\n([ \t|+]*+)(?:E {3,8}+)?File "[^"\n]{1,400}+", line \d++')
_MORE = re.compile(r"\s*+\.\.\. \d+ (?:more|common frames)|\s*+\[Previous line repeated")
_AT = re.compile(
    r"\n[ \t]++at (?=[^\n]{1,400}?(?::\d|\(Native Method|\(Unknown Source|<anonymous>|\(native\)|:line \d))[^\n]++"
)
_GO_HEAD = re.compile(r"\n(?:panic: |fatal error: |goroutine \d++ \[|\[signal )")
_GO_FILE = re.compile(r"\n\t[^\s:]{1,400}+(?:(?<=\.go)|(?<=\.s)):\d++(?: \+0x[0-9a-f]++)?+[ \t]*+(?=\n|\Z)")
_RUST_FRAME = re.compile(r"\n {0,6}+\d++: +(?:0x[0-9a-f]++ - )?+[\w<_][^\n]*+")
_ERROR = re.compile(
    r"(?:\w(?:Error|Exception|Throwable|Exit|Interrupt|Warning)\b|Caused by:|(?i:\berror:)|\b(?:Error|Exception)\b"
    r"|●)"
)
_SOURCE_LINES = 4
"""Lines below a Python frame that may show its source: the line itself, marks below it, or a short statement."""
_FAR = 8
"""Lines above a trace in which its error is looked for."""


def mark_traces(bare_text: BareText, findings: LineFindings) -> None:
    text = bare_text.text
    if '", line ' in text:
        _mark_python(bare_text, findings)
    if "goroutine " in text:
        _mark_go(bare_text, findings)
    if "panicked at" in text:
        _mark_rust(bare_text, findings)
    if "  at " in text or "\tat " in text:
        _mark_at(bare_text, findings)


def _mark_stack(
    findings: LineFindings, lines: Sequence[str], frames: Sequence[Frame], error: int, language: Language
) -> None:
    """The frames of one stack, in the order in which they stand, below or above their error."""
    own = [frame for frame in frames if not is_library([lines[n][:LONGEST] for n in frame], language)]
    inmost = own[-1 if language == "python" else 0] if own else ()
    ours = set(own)
    for frame in frames:
        bonus = KEY if frame == inmost else TELLING if frame in ours else DULL
        findings.claim("trace", frame[0], bonus, error)
        for source in frame[1:]:
            findings.claim("trace", source, bonus / 2 if frame in ours else DULL, frame[0])


def _mark_python(bare_text: BareText, findings: LineFindings) -> None:
    lines = bare_text.lines
    stack: list[Frame] = []
    expected = NOWHERE
    heads = {line: len(found[1]) for line, found in bare_text.hits(_PYTHON) if not findings.taken[line]}
    for head, indent in heads.items():
        if stack and head != expected:
            _close_python(lines, stack, expected, heads, findings)
            stack = []
        end = head + 1
        while end < min(head + 1 + _SOURCE_LINES, len(lines)) and end not in heads:
            if not lines[end].strip() or _indent(lines[end]) <= indent:
                break
            end += 1
        stack.append((head, *range(head + 1, end)))
        while end < len(lines) and _MORE.match(lines[end]):
            findings.claim("trace", end, DULL)
            end += 1
        expected = end
    if stack:
        _close_python(lines, stack, expected, heads, findings)


def _close_python(
    lines: list[str], stack: list[Frame], end: int, heads: dict[int, int], findings: LineFindings
) -> None:
    """A stack of frames with the error in the line below it, if that is there, and the opening line above it."""
    first = stack[0][0]
    opening = first - 1 if first and "Traceback (most recent" in lines[first - 1] else NOWHERE
    is_error = end < len(lines) and lines[end].strip() and _indent(lines[end]) < heads[first]
    if opening == NOWHERE and not (is_error and _ERROR.search(lines[end][:LONGEST])):
        return
    error = end if is_error and not findings.taken[end] else opening
    if error == end:
        findings.claim("trace", end, KEY)
    if opening != NOWHERE:
        findings.claim("trace", opening, SLIGHT, error if error == end else NOWHERE)
    _mark_stack(findings, lines, stack, error, "python")


def _mark_at(bare_text: BareText, findings: LineFindings) -> None:
    """Frames that begin with `at`: Node, Java and all who write like them."""
    lines = bare_text.lines
    run: list[int] = []
    for line, _ in bare_text.hits(_AT):
        if run and not all(_MORE.match(lines[n]) for n in range(run[-1] + 1, line)):
            _close_at(lines, run, findings)
            run = []
        if not findings.taken[line]:
            run.append(line)
    if run:
        _close_at(lines, run, findings)


def _close_at(lines: list[str], run: list[int], findings: LineFindings) -> None:
    error = _error_above(lines, run[0], findings)
    if error != NOWHERE:
        findings.claim("trace", error, KEY)
    _mark_stack(findings, lines, [(n,) for n in run], error, "at")
    for line in range(run[0], min(run[-1] + 2, len(lines))):
        if _MORE.match(lines[line]):
            findings.claim("trace", line, NOISE, run[0])


def _error_above(lines: list[str], first: int, findings: LineFindings) -> int:
    """The line above a stack that says what went wrong: one that names an error, else the filled one next to it."""
    near = NOWHERE
    for line in range(first - 1, max(first - 1 - _FAR, -1), -1):
        if findings.taken[line]:
            break
        if near == NOWHERE and lines[line].strip():
            near = line
        if _ERROR.search(lines[line][:LONGEST]):
            return line
    return near


def _mark_go(bare_text: BareText, findings: LineFindings) -> None:
    """A panic, then for each goroutine its calls, two lines each: the function and where it stands."""
    lines = bare_text.lines
    heads = {line for line, _ in bare_text.hits(_GO_HEAD)}
    panic = goroutine = NOWHERE
    stack: list[Frame] = []
    for line in sorted(heads | {line for line, _ in bare_text.hits(_GO_FILE)}):
        if line not in heads:
            if goroutine != NOWHERE and not {line - 1, line} & heads and lines[line - 1].strip():
                stack.append((line - 1, line))
            continue
        _mark_stack(findings, lines, stack, goroutine, "go")
        stack = []
        if lines[line].startswith("goroutine "):
            goroutine = line
            findings.claim("trace", line, SLIGHT, panic)
        else:
            panic = line if panic == NOWHERE or goroutine != NOWHERE else panic
            goroutine = NOWHERE
            findings.claim("trace", line, KEY, NOWHERE if line == panic else panic)
    _mark_stack(findings, lines, stack, goroutine, "go")


def _mark_rust(bare_text: BareText, findings: LineFindings) -> None:
    """A panic with its message, then a backtrace of numbered frames with places below them."""
    lines = bare_text.lines
    panic = NOWHERE
    stack: list[Frame] = []
    heads = (
        {line for line, _ in bare_text.hits(_RUST_FRAME)}
        if "stack backtrace:" in bare_text.text
        else set[int]()
    )
    for number, line in enumerate(lines):
        if "panicked at" in line[:LONGEST]:
            _mark_stack(findings, lines, stack, panic, "rust")
            panic, stack = number, []
            _mark_panic(lines, panic, findings)
        elif number in heads and panic != NOWHERE:
            places = _places_below(lines, number)
            stack.append((number, *places))
        elif line.startswith("note: ") and "BACKTRACE" in line[:LONGEST]:
            findings.claim("trace", number, NOISE)
    _mark_stack(findings, lines, stack, panic, "rust")


def _mark_panic(lines: list[str], panic: int, findings: LineFindings) -> None:
    findings.claim("trace", panic, KEY)
    below = panic + 1
    if lines[panic].rstrip().endswith(":") and below < len(lines) and lines[below].strip():
        findings.claim("trace", below, KEY, panic)


def _places_below(lines: list[str], number: int) -> Iterable[int]:
    below = number + 1
    is_place = below < len(lines) and lines[below].lstrip().startswith("at ")
    return (below,) if is_place else ()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t|+"))
