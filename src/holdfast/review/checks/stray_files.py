"""Files that should not be there, or not like this.

Rule: by name and mode; the content of a binary file is not read.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, FindingPlace, ReviewRule
from holdfast.review.diff import FileChange
from holdfast.review.file_types import is_test_file
from holdfast.review.finding import Finding

STRAY = ReviewRule(
    "stray-file",
    "A file is added that a tool has left",
    "Compiled files, editors' copies and rejected patches belong into `.gitignore`.",
    "low",
    "leftover",
)
ENVIRONMENT = ReviewRule(
    "environment-file",
    "A file of environment variables is added",
    "Such files hold what must not be shared. Add one without values, `.env.example`.",
    "medium",
    "security",
)
EXECUTABLE = ReviewRule(
    "executable-mode",
    "A file is made executable that is no program",
    "It begins with no `#!` line, so that a shell would run it as its own commands.",
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


def check(scene: CheckInput) -> Iterator[Finding]:
    for file in scene.diff.files:
        place = FindingPlace(file.path, ())
        if file.change in ("added", "copied") and not file.is_submodule:
            if _STRAY.search(file.path) and not is_test_file(file.path):
                yield scene.finding(STRAY, place, f"`{file.path}` looks like what a tool has left.")
            elif _ENVIRONMENT.search(file.path) and not is_test_file(file.path):
                yield scene.finding(ENVIRONMENT, place, f"`{file.path}` is added to the repository.")
        if _is_wrongly_executable(scene, file):
            yield scene.finding(EXECUTABLE, place, f"`{file.path}` is made executable and is no program.")


def _is_wrongly_executable(scene: CheckInput, file: FileChange) -> bool:
    if file.new_mode != "100755" or file.old_mode == "100755" or file.is_binary or is_test_file(file.path):
        return False
    text = scene.new(file.path)
    return text is not None and bool(text.strip()) and not text.startswith("#!")
