"""What a command may touch: access levels, from the least to the most.

Rule: a level is held by the operating system, not by what a command looks like.
"""

from typing import Literal, get_args

Access = Literal["read", "write", "network", "full"]
"""`read` changes nothing but temporary files, `write` also the workspace, `network` also reaches the network, and
`full` has no sandbox."""

SandboxChoice = Literal["auto", "bubblewrap", "landlock", "off"]
"""`auto` takes the best available, or none; a name is required to work."""
SandboxState = Literal["holds", "missing", "off"]
"""Whether a sandbox holds commands to their level, none works here, or a person chose to have none."""

LEVELS: tuple[Access, ...] = get_args(Access)
MEANINGS: dict[Access, str] = {
    "read": "reads files; changes nothing but temporary files",
    "write": "changes files in the workspace",
    "network": "changes files in the workspace and reaches the network",
    "full": "runs outside the sandbox with all rights of the user",
}


def is_above(access: Access, other: Access) -> bool:
    return LEVELS.index(access) > LEVELS.index(other)
