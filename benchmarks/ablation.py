"""What each mechanism of a fold brings: `code` with one of them switched off at a time.

    PYTHONPATH=benchmarks holdfast replay FILES --policy ablation:ALL --budget 16k,32k --against code

The names say what is missing. Nothing here is a policy of its own: each is a profile.
"""

from msgspec.structs import replace

from holdfast.lab.policies.profile_policy import profile_policy
from holdfast.lab.policy import NamedPolicy
from holdfast.packing.profile import CODE, Profile


def without(name: str, **changes: object) -> NamedPolicy:
    profile: Profile = replace(CODE, name=f"without {name}", **changes)
    return profile_policy(profile)


ALL = (
    profile_policy(CODE),
    without("learned weights", worth="hand"),
    without("kept lines", excerpt_ratio=0.0),
    without("first sight", first_sight_ratio=0.25),
    without("adding folds", append_folds=False),
    without("folds for profit", fold_for_profit=False),
    without("whole recent steps", recent_ratio=0.0),
)
