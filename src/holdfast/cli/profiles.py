"""`holdfast profiles`: which profiles there are, and where each setting comes from.

Rule: it shows what `pack` would use here, with the configuration and the environment applied.
"""

import os
from pathlib import Path

import click
from msgspec.structs import asdict

from holdfast.cli.options import common_options, complete_with, json_option
from holdfast.cli.streams import warn, write_json
from holdfast.cli.tables import name, number, print_table, wrapped
from holdfast.config import Config, load_config, read_env, resolve_profile
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.settings import SETTINGS, setting_text

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
    if profile is None:
        _list(config, as_json)
    else:
        _show(config, profile, as_json)


def _list(config: Config, as_json: bool) -> None:
    names = list(dict.fromkeys([*BUILT_IN, *config.profiles]))
    loaded = [resolve_profile(config, os.environ, one) for one in names]
    for warning in dict.fromkeys(w for one in loaded for w in one.warnings):
        warn(warning)
    profiles = [one.profile for one in loaded]
    if as_json:
        write_json([_brief(p, config) for p in profiles])
        return
    columns = [
        name("name"),
        number("window"),
        number("trigger"),
        number("fold to"),
        name("keep"),
        wrapped("from"),
    ]
    rows = [(p.name, p.window, p.trigger, p.low_water, _keep(p), _origin(p.name, config)) for p in profiles]
    print_table(columns, rows)


def _show(config: Config, profile: str, as_json: bool) -> None:
    loaded = resolve_profile(config, os.environ, profile)
    for warning in loaded.warnings:
        warn(warning)
    sources = _sources(config, loaded.profile)
    if as_json:
        write_json({"settings": asdict(loaded.profile), "from": sources, **_brief(loaded.profile, config)})
        return
    rows = [(s, setting_text(getattr(loaded.profile, s)).split("\n")[0], sources[s]) for s in SETTINGS]
    print_table([name("setting"), wrapped("value"), name("from")], rows)


def _brief(profile: Profile, config: Config) -> dict[str, str | int]:
    return {
        "name": profile.name,
        "window": profile.window,
        "trigger": profile.trigger,
        "low_water": profile.low_water,
        "hard_limit": profile.hard_limit,
        "keep_unit": profile.keep_unit,
        "keep": profile.keep,
        "keep_floor": profile.keep_floor,
        "origin": _origin(profile.name, config),
    }


def _keep(profile: Profile) -> str:
    return f"{profile.keep} {profile.keep_unit}, floor {profile.keep_floor}"


def _origin(profile: str, config: Config) -> str:
    return config.where if profile in config.profiles else "built in"


def _sources(config: Config, profile: Profile) -> dict[str, str]:
    """For each setting the variable, the profile in the file, or the built-in profile that sets it."""
    env = os.environ
    given, _ = read_env(env, keep_unit=profile.keep_unit)
    chain = _lineage(config, profile.name)
    sources = {}
    for setting in SETTINGS.values():
        holder = next((n for n in chain if setting.name in config.profiles.get(n, {})), "")
        sources[setting.name] = f"{holder} ({Path(config.where).name})" if holder else chain[-1]
        if setting.name in given:
            sources[setting.name] = next((v for v in setting.variables if env.get(v)), "environment")
    return sources


def _lineage(config: Config, profile: str) -> list[str]:
    """A profile and what it extends, down to the built-in one."""
    chain = [profile]
    while chain[-1] in config.profiles:
        base = config.bases[chain[-1]] or (chain[-1] if chain[-1] in BUILT_IN else "code")
        if base == chain[-1]:
            break
        chain.append(base)
    return chain
