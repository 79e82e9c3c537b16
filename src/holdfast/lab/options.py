"""What to replay, how and against what: one value that every process of a replay gets.

Rule: plain values only; policies travel by name and are found again where they run.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.evidence.needs import DEFAULT_MEASURE, Measure
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.policy import NamedPolicy
from holdfast.lab.results import BASELINE
from holdfast.packing.profile import Profile
from holdfast.prices import PriceTable


class ReplayOptions(Struct, frozen=True):
    policies: tuple[str, ...]
    budgets: tuple[int, ...]
    tables: tuple[PriceTable, ...]
    """The first one ranks."""
    profiles: dict[str, Profile] = {}
    """Those of the user's configuration."""
    folder: str = ""
    """Where modules of users' policies are looked for first."""
    project_from: str = "source"
    at_least: int = 0
    """Tokens of messages that a recording must have; shorter ones are left out."""
    measures: tuple[Measure, ...] = (DEFAULT_MEASURE,)
    pictures: bool = False
    dump: str = ""
    """A folder for packs, where they are wanted."""

    def all_policies(self) -> list[NamedPolicy]:
        """The policies asked for. The baseline is always replayed: it comes first if it was not among them."""
        asked = find_policies(self.policies, self.profiles, folder=Path(self.folder) if self.folder else None)
        if any(policy.name == BASELINE for policy in asked):
            return asked
        return [*find_policies([BASELINE]), *asked]

    def varied(self) -> "ReplayOptions":
        """The same under every measure of the sensitivity test."""
        return replace(self, measures=(DEFAULT_MEASURE, *(measure for _, measure in VARIATIONS)))


VARIATIONS: Sequence[tuple[str, Measure]] = (
    ("common from 2 projects", replace(DEFAULT_MEASURE, common_projects=1)),
    ("common from 5 projects", replace(DEFAULT_MEASURE, common_projects=4)),
    ("shorter: lines 12, names 5", replace(DEFAULT_MEASURE, line_length=12, name_length=5)),
    ("longer: lines 24, names 8", replace(DEFAULT_MEASURE, line_length=24, name_length=8)),
    ("overlap 0.3", replace(DEFAULT_MEASURE, overlap=0.3)),
    ("overlap 0.7", replace(DEFAULT_MEASURE, overlap=0.7)),
)
"""How the definition of a need is varied to see whether the order of policies holds."""
