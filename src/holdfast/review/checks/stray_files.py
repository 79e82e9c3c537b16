"""Files that should not be in a repository, or not with this mode.

Rule: by name and mode; the content of a binary file is not read.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import FileChange
from holdfast.review.file_types import is_test_file
from holdfast.review.finding import Finding

STRAY = ReviewRule(
    "stray-file",
    "A file that a tool left behind is added",
    "Compiled files, editor backups and rejected patches belong in `.gitignore`.",
    "low",
    "leftover",
)
ENVIRONMENT = ReviewRule(
    "environment-file",
    "A file of environment variables is added",
    "Such files contain what must not be shared. Add an `.env.example` without values.",
    "medium",
    "security",
)
EXECUTABLE = ReviewRule(
    "executable-mode",
    "A file that is not a program is made executable",
    "It has no `#!` line, so a shell would run it as shell commands.",
    "low",
    "other",
)
RULES = (STRAY, ENVIRONMENT, EXECUTABLE)

_STRAY = re.compile(
    r"""(?x) (?:^|/) (?: \.DS_Store | Thumbs\.db | desktop\.ini
      | [^/]+\.(?:pyc|pyo|class|o|obj|orig|rej|swp|swo|bak) | [^/]+~ | npm-debug\.log | core\.\d+ ) $
    | (?:^|/) (?: __pycache__ | \.pytest_cache | \.mypy_cache | node_modules | \.ipynb_checkpoints ) /
    """
)
_ENVIRONMENT = re.compile(r"(?:^|/)\.env(?:\.(?:local|production|prod|development|dev|staging))?$")


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.diff.files:
        if file.change in ("added", "copied") and not file.is_submodule:
            if _STRAY.search(file.path) and not is_test_file(file.path):
                claim = f"`{file.path}` looks like a file that a tool left behind."
                yield change.finding(STRAY, file.path, (), claim)
            elif _ENVIRONMENT.search(file.path) and not is_test_file(file.path):
                yield change.finding(ENVIRONMENT, file.path, (), f"`{file.path}` is added to the repository.")
        if _is_wrongly_executable(change, file):
            claim = f"`{file.path}` is made executable, but is not a program."
            yield change.finding(EXECUTABLE, file.path, (), claim)


def _is_wrongly_executable(change: CheckInput, file: FileChange) -> bool:
    if file.new_mode != "100755" or file.old_mode == "100755" or file.is_binary or is_test_file(file.path):
        return False
    text = change.new(file.path)
    return text is not None and bool(text.strip()) and not text.startswith("#!")
