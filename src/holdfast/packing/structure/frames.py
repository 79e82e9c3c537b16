"""Whose code a stack frame is in.

Rule: what is not known as a library, a runtime or a test runner is the project's. Plain substrings: a deep stack
has hundreds of frames.
"""

from collections.abc import Sequence
from typing import Literal

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
