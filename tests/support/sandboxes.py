"""A sandbox of the system, or a test that is skipped with the reason why there is none."""

import pytest

from holdfast.errors import InputError
from holdfast.tools.shell.sandbox import Sandbox, find_sandbox


def sandbox_or_skip(kind: str) -> Sandbox:
    """The sandbox of this name, if it works here and holds commands to their level."""
    try:
        found = find_sandbox(kind)  # type: ignore[arg-type]
    except InputError as error:
        pytest.skip(error.message)
    return found if found.state == "holds" else pytest.skip("it does not hold commands to a level")
