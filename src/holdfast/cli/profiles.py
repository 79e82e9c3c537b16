"""`holdfast profiles`: which profiles there are, and where each setting comes from.

Rule: it shows what `pack` would use here, with the configuration and the environment applied.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import asdict

from holdfast.cli.options import common_options, complete_with, json_option
from holdfast.cli.streams import say, warn, write_json
from holdfast.cli.tables import name, number, print_table, wrapped
from holdfast.config import SETTINGS, Config, load_config, read_env, resolve_profile, setting_text
from holdfast.numbers import grouped
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.packing.unused_settings import unused_settings

EXAMPLES = """\b
Examples:
  holdfast profiles
  holdfast profiles code
  holdfast profiles review --json"""


@click.command(epilog=EXAMPLES)
@click.argument("profile", metavar="[NAME]", required=False, shell_complete=complete_with("profiles"))
@json_option
@common_options
def command(profile: str | None, as_json: bool) -> None:
    """List profiles, or the settings of one.

    Profiles are built in, or defined in `holdfast.toml` or under `[tool.holdfast]` in `pyproject.toml`.
    """
    config = load_config(cwd=Path.cwd(), env=os.environ)
    names = [*BUILT_IN, *config.profiles] if profile is None else [profile]
    loaded = [resolve_profile(config, os.environ, one) for one in dict.fromkeys(names)]
    for warning in dict.fromkeys(w for one in loaded for w in one.warnings):
        warn(warning)
    if profile is None:
        _list(config, [one.profile for one in loaded], as_json)
    else:
        _show(config, loaded[0].profile, as_json)


def _list(config: Config, profiles: Sequence[Profile], as_json: bool) -> None:
    if as_json:
        write_json([_brief(p, config) for p in profiles])
        return
    columns = [name("name"), *map(number, ("window", "trigger", "fold to")), name("keep"), wrapped("from")]
    rows = []
    for p in profiles:
        keep = f"{p.keep} {p.keep_unit}, floor {p.keep_floor}"
        rows.append((p.name, p.window, p.trigger, p.low_water, keep, _origin(p.name, config)))
    print_table(columns, rows)


def _show(config: Config, profile: Profile, as_json: bool) -> None:
    sources, unused = _sources(config, profile), [*unused_settings(asdict(profile))]
    if as_json:
        write_json(
            {"settings": asdict(profile), "from": sources, "unused": unused, **_brief(profile, config)}
        )
        return
    rows = [(s, _value_text(getattr(profile, s)), sources[s]) for s in SETTINGS if s not in unused]
    print_table([name("setting"), wrapped("value"), name("from")], rows)
    say(f"not used by this profile: {', '.join(unused)}")


def _value_text(value: object) -> str:
    """The value as a configuration has it, but whole numbers as people read them; of a long text its first line."""
    if isinstance(value, int) and not isinstance(value, bool):
        return grouped(value)
    return setting_text(value).split("\n")[0]


def _brief(profile: Profile, config: Config) -> dict[str, str | int]:
    shown = ("name", "window", "trigger", "low_water", "hard_limit", "keep_unit", "keep", "keep_floor")
    return {**{one: getattr(profile, one) for one in shown}, "origin": _origin(profile.name, config)}


def _origin(profile: str, config: Config) -> str:
    return config.source("bases", profile) or config.source("profiles", profile) or "built in"


def _sources(config: Config, profile: Profile) -> dict[str, str]:
    """For each setting the variable, the profile in the file, or the built-in profile that sets it."""
    env = os.environ
    given, _ = read_env(env, keep_unit=profile.keep_unit)
    chain = _lineage(config, profile.name)
    sources = {}
    for setting in SETTINGS.values():
        holder = next((n for n in chain if setting.name in config.profiles.get(n, {})), "")
        sources[setting.name] = _holder(config, holder, setting.name) if holder else chain[-1]
        if setting.name in given and setting.name not in unused_settings(asdict(profile)):
            sources[setting.name] = next((v for v in setting.variables if env.get(v)), "environment")
    return sources


def _holder(config: Config, profile: str, setting: str) -> str:
    """A profile and the file that has the setting in it."""
    where = Path(config.source("profiles", profile, setting))
    is_user = len(config.layers) > 1 and str(where) == config.layers[0].where
    return f"{profile} ({'your own ' * is_user}{where.name})"


def _lineage(config: Config, profile: str) -> list[str]:
    """A profile and what it extends, down to the built-in one."""
    chain = [profile]
    while chain[-1] in config.profiles:
        base = config.bases[chain[-1]] or (chain[-1] if chain[-1] in BUILT_IN else "code")
        if base == chain[-1]:
            break
        chain.append(base)
    return chain
