"""Every setting of every profile changes some pack, or is refused for that profile with a sentence.

Stands for rows 000-50 and 001-10 of docs/seeds.md.
"""

from functools import lru_cache

import pytest
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, VarTupleType
from msgspec.structs import asdict, replace

from holdfast.config import SETTINGS, Config, resolve_profile, setting_text
from holdfast.errors import ConfigError
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.unused_settings import DIGEST_SETTINGS, unused_settings
from support.setting_scenarios import (
    SCENARIOS,
    WINDOW,
    after_a_pause,
    at_the_trigger,
    clipped_results,
    heavy_start,
    large_texts,
    long_round,
    many_results_at_once,
    many_rounds,
    nearly_only_a_system,
    pasting_users,
    rule_summaries,
    slow_summaries,
    small_rounds,
    summaries,
    wordy_users,
)

OWN = {"strict_trigger": (at_the_trigger,), "compaction_clip_chars": (clipped_results,)}
"""Scenarios made for one setting."""

LIKELY = {
    "redact": many_rounds,
    "thinking": nearly_only_a_system,
    "fold_for_profit": after_a_pause,
    "user_cap_tokens": pasting_users,
    "paste_ratio": wordy_users,
    "keep_floor": wordy_users,
    "steps_floor": many_rounds,
    "fold_to_tokens": small_rounds,
    "round_cap": long_round,
    "summary_request": summaries,
    "summary_failure": summaries,
    "summary_timeout": slow_summaries,
    "clip_head_chars": large_texts,
    "clip_tail_chars": large_texts,
    "keep": heavy_start,
    "first_sight_ratio": heavy_start,
    **dict.fromkeys(DIGEST_SETTINGS, many_results_at_once),
    **dict.fromkeys(
        (
            "summary_cap",
            "summary_form",
            "summary_max_tokens",
            "summary_messages",
            "summary_role",
            "mock_prompt",
        ),
        rule_summaries,
    ),
}
"""Where a setting is likely to show: looked at first, to save time."""


LIKE = {"rich": "code", "lean": "code", "draft16k": "classic", "execute": "init"}
"""Profiles that are others with a few settings changed: these settings are looked at, and the rest once."""


def scenarios(setting):
    likely = LIKELY.get(setting, SCENARIOS[0])
    return OWN.get(setting, (likely, *(one for one in SCENARIOS if one is not likely)))


def other_values(setting, value):
    """Values that a setting could have instead, likely ones first."""
    kind = setting.kind
    if isinstance(kind, BoolType):
        return [not value]
    if isinstance(kind, LiteralType):
        return [other for other in kind.values if other != value]
    if isinstance(kind, VarTupleType):
        return [tuple(reversed(value)), value[:1], ("truncate",), ("retry", "rule")]
    if isinstance(kind, IntType):
        return (
            [value // 2, value * 2, 1, 3, 40, 400, 1_000, 2_000, 4_000, 7_000]
            if value
            else [3, 40, 400, 1_000, 2_500, 4_000, 5_500]
        )
    if isinstance(kind, FloatType):
        return [value / 2, min(value * 1.5, 1.0), value * 3, 0.3, 0.6, 0.75, 0.001]
    return ["Say it again."]


@lru_cache
def packs(scenario, profile):
    return scenario(profile)


def changed(profile, setting, value):
    return replace(profile, **{setting: value})


def matters(profile, setting):
    """Whether some value of a setting gives other packs in some scenario."""
    if setting == "reply_in_trigger":  # without room for the reply a trigger may not be as high
        profile = replace(profile, trigger_ratio=min(profile.trigger_ratio, 0.85))
    for scenario in scenarios(setting):
        before = packs(scenario, profile)
        for value in other_values(SETTINGS[setting], getattr(profile, setting)):
            if value == getattr(profile, setting):
                continue
            try:
                other = changed(profile, setting, value)
            except ConfigError:
                continue
            if scenario(other) != before:
                return f"{scenario.__name__} with {value}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("profile", BUILT_IN)
def test_every_setting_changes_a_pack_or_is_refused(profile):
    small = BUILT_IN[profile].scaled_to(WINDOW)
    unused = unused_settings(asdict(small))
    like = LIKE.get(profile)
    dead = []
    for setting in SETTINGS:
        if setting == "window":
            small_window = small.scaled_to(WINDOW // 2)
            assert packs(SCENARIOS[0], small_window) != packs(SCENARIOS[0], small)
        elif setting == "follows_model":
            assert replace(small, follows_model=True).for_model(2 * WINDOW).window == 2 * WINDOW
            assert replace(small, follows_model=False).for_model(2 * WINDOW).window == WINDOW
        elif setting in unused:
            assert_refused(profile, setting, unused[setting])
        elif like and getattr(small, setting) == getattr(BUILT_IN[like].scaled_to(WINDOW), setting):
            assert setting not in unused_settings(asdict(BUILT_IN[like]))
        elif not matters(small, setting):
            dead.append(setting)
    assert not dead


def assert_refused(name, setting, reason):
    """In a file with a sentence; in the environment, which is for all profiles, with a warning."""
    profile = BUILT_IN[name]
    value = getattr(profile, setting)
    for other in other_values(SETTINGS[setting], value):
        if other == value:
            continue
        written = {"profiles": {name: {setting: other}}, "bases": {name: ""}}
        with pytest.raises(ConfigError) as refused:
            resolve_profile(Config(where="holdfast.toml", **written), {}, name)
        assert f"`{setting}` would change nothing, because {reason}" in refused.value.message
        found = resolve_profile(Config(), {f"HOLDFAST_{setting.upper()}": setting_text(other)}, name)
        assert found.profile == profile
        assert found.warnings == (f"`HOLDFAST_{setting.upper()}` is ignored by `{name}`: {reason}",)
