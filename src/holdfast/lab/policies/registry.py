"""Policies by name: built-in ones, profiles, and users' own as `module:attribute`.

Rule: an unknown name is answered with one sentence and the nearest name, never with a traceback.
"""

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from holdfast.errors import InputError, suggest
from holdfast.lab.policies.cheats import CHEATS
from holdfast.lab.policies.oracle import ORACLES, oracle_policies
from holdfast.lab.policies.profile_policy import PROFILES, profile_policy
from holdfast.lab.policies.simple import SIMPLE
from holdfast.lab.policy import NamedPolicy
from holdfast.packing.profile import BUILT_IN, Profile

BUILT_IN_POLICIES: dict[str, NamedPolicy] = {
    policy.name: policy for policy in (*SIMPLE, *PROFILES, *CHEATS, *ORACLES)
}
DEFAULT_NAMES = ("everything", "newest", "mask", "clear", "cap", "code", "rich", "lean")
DESCRIPTIONS: dict[str, str] = {name: policy.about for name, policy in BUILT_IN_POLICIES.items()}
"""One line for each built-in policy, for help and completion."""

HOW = "a policy is a `NamedPolicy`, several of them, or a callable from a `Task` to an object with `pack`"
"""What `module:attribute` may lead to."""


def find_policies(
    names: Sequence[str],
    profiles: Mapping[str, Profile] | None = None,
    *,
    folder: Path | None = None,
) -> list[NamedPolicy]:
    """The policies of these names, in their order.

    `profiles` are those of the user's configuration, and go before built-in profiles of the same name; the name of
    another policy they may not take. Modules are looked for in `folder`, the current one if None, before anywhere
    else.
    """
    own = profiles or {}
    for name in own:
        if name in BUILT_IN_POLICIES and name not in BUILT_IN:
            raise InputError(
                f"the profile `{name}` has the name of a built-in policy", hint="rename the profile"
            )
    oracles = {policy.name: policy for policy in oracle_policies(own.values())}
    known = {**BUILT_IN_POLICIES, **oracles, **{name: profile_policy(own[name]) for name in own}}
    policies: dict[str, NamedPolicy] = {}
    for name in names:
        if name not in known and ":" not in name:
            hint = suggest(name, known, more="your own is named `module:attribute`")
            raise InputError(f"there is no policy `{name}`", hint=hint)
        for policy in _imported(name, folder or Path.cwd()) if ":" in name else [known[name]]:
            if policy.name in policies:
                raise InputError(
                    f"two policies are named `{policy.name}`",
                    hint="rows are told apart by name: rename one of them",
                )
            policies[policy.name] = policy
    return list(policies.values())


def _imported(name: str, folder: Path) -> list[NamedPolicy]:
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise InputError(f"`{name}` does not name a policy", hint="write it as `module:attribute`")
    if "/" in module_name or module_name.startswith(".") or module_name.endswith(".py"):
        raise InputError(
            f"`{module_name}` is not a module", hint="name the module and not its file: `module:attribute`"
        )
    if str(folder) not in sys.path:
        # Permanently, not for this import alone: a policy may import more while it runs, in another process too.
        sys.path.insert(0, str(folder))
    found: object = _module(module_name, folder)
    for part in attribute.split("."):
        if not hasattr(found, part):
            hint = get_close_matches(part, [n for n in dir(found) if not n.startswith("_")], n=1)
            raise InputError(
                f"`{module_name}` has no `{attribute}`", hint=f"did you mean `{hint[0]}`?" if hint else HOW
            )
        found = getattr(found, part)
    return _policies(name, found)


def _module(name: str, folder: Path) -> object:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        # The file is the user's: whatever it raises is reported in a sentence.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            raise InputError(
                f"there is no module `{name}`",
                hint=f"modules are looked for in {folder} and where Python looks",
            ) from None
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(
            f"the module `{name}` cannot be imported: {said}",
            hint="import it in Python to see where it fails",
        ) from error


def _policies(name: str, found: object) -> list[NamedPolicy]:
    # Only what is built in may be exempt from the budget, or see the future: a user's policy is compared as equal.
    if isinstance(found, NamedPolicy):
        return [replace(found, budgeted=True, sees_future=False)]
    if isinstance(found, Sequence) and found and all(isinstance(item, NamedPolicy) for item in found):
        return [replace(item, budgeted=True, sees_future=False) for item in found]
    if hasattr(found, "pack") and not callable(found):
        raise InputError(
            f"`{name}` is a policy that has already been created",
            hint="name its class, or a function that makes one: every recording needs a new one",
        )
    if not callable(found):
        raise InputError(f"`{name}` is not a policy but a value of type `{type(found).__name__}`", hint=HOW)
    # What a user's policy says of itself; nothing where its docstring is only inherited.
    documented = found if hasattr(found, "__name__") else type(found)
    return [NamedPolicy(name, found, (documented.__doc__ or "").strip().split("\n")[0])]
