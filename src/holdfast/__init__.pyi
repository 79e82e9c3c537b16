from holdfast.agents.agent import Agent as Agent
from holdfast.agents.limits import RunLimits as RunLimits
from holdfast.agents.loop import run as run
from holdfast.agents.loop import run_sync as run_sync
from holdfast.agents.notices import FoldMade as FoldMade
from holdfast.agents.notices import Notice as Notice
from holdfast.agents.notices import Replied as Replied
from holdfast.agents.outcomes import Ask as Ask
from holdfast.agents.outcomes import Done as Done
from holdfast.agents.outcomes import Stop as Stop
from holdfast.errors import ContextOverflow as ContextOverflow
from holdfast.errors import HoldfastError as HoldfastError
from holdfast.list_packing import pack as pack
from holdfast.messages import Image as Image
from holdfast.messages import ToolCall as ToolCall
from holdfast.models.model import TextDelta as TextDelta
from holdfast.models.scripted import ScriptedModel as ScriptedModel
from holdfast.packing.profile import Profile as Profile
from holdfast.sender import Packed as Packed
from holdfast.session import Session as Session
from holdfast.tools.call import CallFinished as CallFinished
from holdfast.tools.call import CallStarted as CallStarted
from holdfast.tools.function_tool import tool as tool
from holdfast.version import __version__ as __version__

__all__ = [
    "Agent",
    "Ask",
    "CallFinished",
    "CallStarted",
    "ContextOverflow",
    "Done",
    "FoldMade",
    "HoldfastError",
    "Image",
    "Notice",
    "Packed",
    "Profile",
    "Replied",
    "RunLimits",
    "ScriptedModel",
    "Session",
    "Stop",
    "TextDelta",
    "ToolCall",
    "__version__",
    "pack",
    "run",
    "run_sync",
    "tool",
]
