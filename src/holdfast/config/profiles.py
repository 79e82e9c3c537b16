"""A profile from a configuration and an environment.

Rule: the environment beats the files and the files beat what is built in. Pure.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.config.settings import PREFIX, read_env
from holdfast.config.values import Config
from holdfast.errors import ConfigError, suggest
from holdfast.messages import Json
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.packing.unused_settings import unused_settings


class ResolvedProfile(Struct, frozen=True):
    """A profile, and warnings about how it came to be."""

    profile: Profile
    warnings: tuple[str, ...] = ()


def resolve_profile(
    config: Config,
    env: Mapping[str, str],
    name: str = "",
    *,
    model_window: int = 0,
    defaults: Mapping[str, Json] | None = None,
) -> ResolvedProfile:
    """A profile from a configuration and an environment, with warnings; `defaults` take the place of the values
    that are built in. Pure."""
    name = name or env.get("HOLDFAST_PROFILE", "") or config.default_profile or "code"
    base, changes, lineage = _collected(config, name)
    _check_used(config, name, base, changes)
    base = replace(base, **(defaults or {}))
    unit = changes.get("keep_unit", base.keep_unit)
    overrides, warnings = read_env(env, keep_unit=env.get("HOLDFAST_KEEP_UNIT") or unit)
    used, ignored = _used(name, base, changes, overrides)
    given = {**changes, **used}
    if "window" in given:  # a window that a person chose is not the model's to enlarge
        given.setdefault("follows_model", False)
    given = {**_following(base, given), **given}
    try:
        profile = Profile(**{**asdict(base), **given, "name": name})
    except ConfigError as error:
        files = [one.where for one in config.layers if any(one.profiles.get(kin) for kin in lineage)]
        sources = [*files, *["the environment"] * bool(overrides)]
        raise ConfigError(f"{' and '.join(sources)}: {error.message}", hint=error.hint) from error
    return ResolvedProfile(profile.for_model(model_window), (*warnings, *ignored))


def _check_used(config: Config, name: str, base: Profile, changes: Mapping[str, Json]) -> None:
    """What a profile's own table sets must change something."""
    unused = unused_settings({**asdict(base), **changes})
    for setting, value in config.profiles.get(name, {}).items():
        if setting in unused and value != getattr(base, setting):
            where = config.source("profiles", name, setting)
            raise ConfigError(
                f"{where}: profile `{name}`: `{setting}` would change nothing, because {unused[setting]}",
                hint=f"leave `{setting}` out",
            )


def _used(
    name: str, base: Profile, changes: Mapping[str, Json], overrides: Mapping[str, Json]
) -> tuple[dict[str, Json], list[str]]:
    """What the environment gives and this profile uses, and a warning for each of the others: the environment is
    for every profile."""
    unused = unused_settings({**asdict(base), **changes, **overrides})
    warnings = [
        f"`{PREFIX}{one.upper()}` is ignored by `{name}`: {unused[one]}" for one in overrides if one in unused
    ]
    return {one: value for one, value in overrides.items() if one not in unused}, warnings


def _following(base: Profile, given: Mapping[str, Json]) -> dict[str, Json]:
    """The low-water mark, lowered with the trigger where a person lowers only the trigger, below the mark. One that
    a person chose has no cap; else the cap grows with the window."""
    if any(given[one] or getattr(base, one) for one in ("fold_to_ratio", "fold_to_tokens") if one in given):
        return {"fold_to_cap": 0}
    share, tokens = given.get("trigger_ratio"), given.get("trigger_tokens")
    if not (share or tokens):
        return {"fold_to_cap": base.cap_for(given.get("window", 0))}
    marks = [share / base.trigger_ratio] if share and base.trigger_ratio else []
    marks += [tokens / base.trigger] if tokens and base.trigger else []
    lower = min(marks, default=1.0)
    cap = {} if tokens else {"fold_to_cap": base.cap_for(given.get("window", 0))}
    base = replace(base, fold_to_cap=given.get("fold_to_cap", base.fold_to_cap))
    if lower <= 0 or base.low_water < base.trigger * lower:
        return cap
    share = round(base.fold_to_ratio * lower, 4)
    return {**cap, "fold_to_ratio": share, "fold_to_tokens": int(base.fold_to_tokens * lower)}


def _collected(config: Config, name: str) -> tuple[Profile, dict[str, Json], list[str]]:
    """The built-in profile that a name is based on, all changes to it, and the profiles that they are from; the
    nearest wins."""
    changes: dict[str, Json] = {}
    seen: list[str] = []
    while name in config.profiles:
        if name in seen:
            chain = " → ".join(f"`{n}`" for n in (*seen, name))
            raise ConfigError(
                f"{config.source('bases', name)}: profiles extend each other in a circle: {chain}"
            )
        seen.append(name)
        changes = {**config.profiles[name], **changes}
        base = config.bases[name] or (name if name in BUILT_IN else "code")
        if base == name:
            break
        name = base
    if name not in BUILT_IN:
        raise ConfigError(
            f"there is no profile `{name}`",
            hint=suggest(name, sorted({*BUILT_IN, *config.profiles}), lists=True),
        )
    return BUILT_IN[name], changes, seen
