from holdfast.errors import ContextOverflow as ContextOverflow
from holdfast.errors import HoldfastError as HoldfastError
from holdfast.list_packing import pack as pack
from holdfast.models.scripted import ScriptedModel as ScriptedModel
from holdfast.packing.profile import Profile as Profile
from holdfast.sender import Packed as Packed
from holdfast.session import Session as Session
from holdfast.version import __version__ as __version__

__all__ = [
    "ContextOverflow",
    "HoldfastError",
    "Packed",
    "Profile",
    "ScriptedModel",
    "Session",
    "__version__",
    "pack",
]
