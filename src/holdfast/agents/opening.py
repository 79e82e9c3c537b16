"""What an agent is opened with: the talk's, and with other limits that of its sub-agents.

Rule: a plain value; whoever opens it opens nothing else.
"""

from pathlib import Path

from msgspec import Struct

from holdfast.agents.asking import Asking
from holdfast.agents.limits import Limits
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.task_settings import TaskSettings
from holdfast.models.protocol import Model
from holdfast.packing.profile import Profile
from holdfast.store import Store
from holdfast.tools.around.ask_user import Respondent
from holdfast.tools.around.unattended import DecideYourself
from holdfast.tools.permissions import Approver, Mode, Permissions, Unattended
from holdfast.tools.protocol import Tool
from holdfast.tools.shell.sandbox import Sandbox


class Opening(Struct, frozen=True, kw_only=True):
    """What a desk is opened with. `snapshots` is the folder for what files were before they were changed; without
    one they are kept in memory, and an undo ends with the process."""

    root: Path
    store: Store
    log: str = ""
    model: Model
    asking: Asking = Asking()
    summarizer: Model | None = None
    profile: Profile
    limits: Limits = Limits()
    permissions: Permissions
    approver: Approver = Unattended()
    mode: Mode | None = None
    respondent: Respondent = DecideYourself()
    more_tools: tuple[Tool, ...] = ()
    """Tools from elsewhere, such as those of MCP servers."""
    tasks: TaskSettings = TaskSettings()
    sandbox: Sandbox | None = None
    snapshots: Path | None = None
    skills: Path | None = None
    is_beside: bool = True
    watch: Watch = unwatched
