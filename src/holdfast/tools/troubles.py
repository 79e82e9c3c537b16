"""The operating system's errors in words a model can act on.

Rule: an OSError never leaves the guard; its number becomes one of our codes.
"""

import contextlib
import errno
from collections.abc import Iterator

from holdfast.tools.envelope import ErrorCode, ToolError

_CODES: dict[int, tuple[ErrorCode, str]] = {
    errno.ENOENT: ("NOT_FOUND", "does not exist"),
    errno.ENOTDIR: ("NOT_FOUND", "is no directory, or leads through something that is none"),
    errno.EISDIR: ("IS_DIRECTORY", "is a directory"),
    errno.ELOOP: ("ACCESS_DENIED", "is a link that leads nowhere, or became one just now"),
    errno.EACCES: ("PERMISSION_DENIED", "may not be accessed: the operating system refuses"),
    errno.EPERM: ("PERMISSION_DENIED", "may not be accessed: the operating system refuses"),
    errno.EROFS: ("PERMISSION_DENIED", "lies on a read-only file system"),
    errno.ENAMETOOLONG: ("INVALID_PARAM", "has a name that is too long"),
    errno.EINVAL: ("INVALID_PARAM", "is a name that the file system refuses"),
    errno.EILSEQ: ("INVALID_PARAM", "is a name that the file system refuses"),
}


@contextlib.contextmanager
def refusal(shown: str, *, asked: str) -> Iterator[None]:
    """Turns an OSError about a place into a ToolError that names it."""
    try:
        yield
    except OSError as error:
        code, words = _CODES.get(error.errno or 0, ("EXECUTION_ERROR", f"failed: {error.strerror or error}"))
        raise ToolError(code, f"`{shown}` {words}", hint=_hint(code, asked)) from None


def _hint(code: ErrorCode, asked: str) -> str:
    if code != "NOT_FOUND":
        return ""
    if asked.startswith("~"):
        return "`~` is not expanded; give a path from the workspace's root"
    if asked.startswith("@"):
        return "Leave out the `@`: a path is written plainly"
    return ""
