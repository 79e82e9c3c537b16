"""Profiles: the five built-in values, what follows from them, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import BUILT_IN, CODE, DRAFT16K, EXECUTE, INIT, REVIEW, Profile

PROFILES = st.sampled_from(list(BUILT_IN.values()))


def test_the_profiles_have_the_designs_numbers() -> None:
    got = {
        p.name: (p.window, p.trigger, p.low_water, p.keep, p.keep_unit, p.keep_floor, p.max_messages)
        for p in BUILT_IN.values()
    }
    assert got == {
        "classic": (200_000, 160_000, 80_000, 10, "rounds", 2, 0),
        "draft16k": (16_000, 8_000, 4_800, 5, "rounds", 2, 0),
        "code": (200_000, 190_000, 56_000, 10, "rounds", 2, 0),
        "rich": (200_000, 190_000, 150_000, 10, "rounds", 2, 0),
        "lean": (200_000, 190_000, 36_000, 10, "rounds", 2, 0),
        "review": (200_000, 140_000, 80_000, 6, "rounds", 2, 40),
        "init": (200_000, 150_000, 70_000, 3, "steps", 3, 0),
        "execute": (1_000_000, 700_000, 200_000, 5, "steps", 5, 0),
    }


def test_results_and_summaries_follow_the_designs_table() -> None:
    got = {
        p.name: (p.max_tool_chars, p.result_old, p.summary_form, p.summary_role, p.summary_failure)
        for p in BUILT_IN.values()
    }
    assert got == {
        "classic": (0, "digest", "five_sections", "system", ("truncate",)),
        "draft16k": (0, "digest", "six_lines", "system", ("retry", "rule", "truncate")),
        **dict.fromkeys(
            ("code", "rich", "lean"),
            (0, "digest", "five_sections", "system", ("retry", "rule", "truncate")),
        ),
        "review": (8_000, "stub", "conclusions", "system", ("retry", "rule")),
        "init": (0, "skeleton", "init_json", "mock_pair", ("retry", "rule", "ask")),
        "execute": (0, "skeleton", "execute_json", "mock_pair", ("retry", "rule", "ask")),
    }


def test_the_seeds_details_stand() -> None:
    for pair in (INIT, EXECUTE):
        assert (pair.strict_trigger, pair.min_messages, pair.summary_request) == (True, 1, "append")
        assert (pair.compaction_clip_chars, pair.clip_head_chars, pair.clip_tail_chars) == (
            5_000,
            1_000,
            1_000,
        )
    for rounds in (DRAFT16K, CODE, REVIEW):
        assert (rounds.strict_trigger, rounds.min_messages, rounds.compaction_clip_chars) == (False, 3, 0)
    assert DRAFT16K.pinned_order == ("system", "rules", "tools", "context")
    assert CODE.pinned_order == ("system", "tools", "rules", "context")
    assert (DRAFT16K.edit_diff_lines, DRAFT16K.write_diff_lines) == (50, 50)
    assert (REVIEW.max_tool_chars, REVIEW.summary_messages) == (8_000, 2)
    assert INIT.mock_prompt.count("\n- ") == 5
    digests = (
        "ls_entries",
        "glob_entries",
        "grep_matches",
        "read_lines",
        "edit_diff_lines",
        "bash_stderr_lines",
    )
    assert [getattr(CODE, name) for name in digests] == [10, 10, 5, 500, 10, 20]
    assert (CODE.summary_max_tokens, CODE.summary_timeout) == (4_000, 120)
    assert all(p.todo_position == "tail" and p.redact for p in BUILT_IN.values())


def test_fault_15_trigger_above_hard_limit_is_refused() -> None:
    """Init's ancestor had its trigger at 300K and its hard limit at 200K: it died before it ever compacted."""
    with pytest.raises(ConfigError) as caught:
        replace(INIT, trigger_tokens=300_000)
    assert caught.value.message == (
        "profile `init`: the trigger (300,000 tokens) lies above the hard limit (184,000 tokens)"
    )
    assert "trigger_tokens" in caught.value.hint


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"window": 0}, "`window` is 0"),
        ({"trigger_ratio": 0.0}, "nothing triggers"),
        ({"fold_to_ratio": 0.0, "fold_to_cap": 0}, "no mark to fold down to"),
        ({"trigger_ratio": 0.95, "reply_in_trigger": False}, "above the hard limit (184,000 tokens)"),
        ({"trigger_ratio": 0.0, "trigger_tokens": 200_001}, "above the hard limit (200,000 tokens)"),
        ({"fold_to_ratio": 0.95, "fold_to_cap": 0}, "not below the trigger"),
        ({"fold_to_ratio": 0.0, "fold_to_tokens": 190_000, "fold_to_cap": 0}, "not below the trigger"),
        ({"fold_to_cap": 16_000}, "room for a reply takes 16,000"),
        ({"trigger_tokens": 9_000, "fold_to_tokens": 8_000}, "room for a reply takes 16,000"),
        ({"trigger_ratio": 1.5}, "`trigger_ratio` is 1.5"),
        ({"trigger_ratio": float("nan")}, "`trigger_ratio` is nan"),
        ({"first_sight_ratio": 0.0}, "nothing could be shown"),
        ({"keep": 0}, "`keep` is 0"),
        ({"keep": 1}, "`keep_floor` (2) is larger than `keep` (1)"),
        ({"grep_matches": -1}, "`grep_matches` is -1"),
        ({"window_cap": -5}, "`window_cap` is -5"),
        ({"summary_timeout": 0}, "`summary_timeout` is 0"),
        ({"compaction_clip_chars": 2_000}, "not shorter than `compaction_clip_chars`"),
        ({"pinned_order": ("system", "tools", "rules")}, "does not name each part once"),
        ({"pinned_order": ("system", "system", "rules", "tools")}, "does not name each part once"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Profile(name="mine", **settings)
    assert caught.value.message.startswith("profile `mine`: ")
    assert words in caught.value.message
    assert caught.value.hint


@given(profile=PROFILES, budget=st.integers(10, 5_000_000))
def test_a_budget_takes_the_windows_place(profile: Profile, budget: int) -> None:
    scaled = profile.scaled_to(budget)
    assert scaled.window == budget
    assert scaled.low_water < scaled.trigger <= scaled.hard_limit + scaled.counted_reply <= budget
    assert abs(scaled.trigger / budget - profile.trigger / profile.window) <= 1 / budget
    uncapped = replace(profile, fold_to_cap=0)
    low_water = budget * uncapped.low_water / profile.window
    cap = profile.fold_to_cap * max(1, budget / profile.window)
    assert abs(scaled.low_water - min(low_water, cap or low_water)) <= 1
    assert scaled.low_water - scaled.counted_reply >= min(scaled.recent_tokens, low_water / 4) - 1
    assert scaled.reply_room <= max(1, budget // 10)
    assert (scaled.keep, scaled.max_messages, scaled.strict_trigger) == (
        profile.keep,
        profile.max_messages,
        profile.strict_trigger,
    )
    assert bool(scaled.trigger_tokens) == bool(profile.trigger_tokens)


@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=str)
def test_scaling_to_the_own_window_changes_nothing(profile: Profile) -> None:
    assert profile.scaled_to(profile.window) == profile


def test_absolute_numbers_scale_with_the_budget() -> None:
    small = replace(INIT, window_cap=20_000).scaled_to(20_000)
    assert (small.trigger_tokens, small.fold_to_tokens, small.reply_tokens) == (15_000, 7_000, 1_600)
    assert (small.window_cap, small.round_cap) == (2_000, 0)
    assert (small.first_sight_tokens, small.paste_tokens, small.min_gain) == (20_000, 5_000, 2_000)


def test_a_budget_too_small_to_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="a budget of 9 tokens is too small"):
        CODE.scaled_to(9)


def test_the_window_is_the_models_where_the_profile_follows_it() -> None:
    assert REVIEW.for_model(1_000_000).window == 1_000_000
    assert REVIEW.for_model(0) == REVIEW
    assert CODE.for_model(1_000_000) == CODE
    assert CODE.for_model(128_000).trigger == 121_600


def test_the_reply_room_shrinks_with_a_small_window() -> None:
    assert replace(CODE, window=32_000).reply_room == 3_200
    assert CODE.hard_limit == 184_000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("32k", 32_000),
        ("32K", 32_000),
        ("200_000", 200_000),
        ("1M", 1_000_000),
        ("1.5k", 1_500),
        (" 16000 ", 16_000),
        (16_000, 16_000),
        ("0", 0),
        ("1.25 m", 1_250_000),
    ],
)
def test_numbers_of_tokens_are_read_as_people_write_them(text: int | str, tokens: int) -> None:
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "k",
        "32kb",
        "-5",
        -5,
        "1,5k",
        "1e5",
        "1.5",
        "١٢k",
        "1__0",
        "9" * 5_000,
        True,
        None,
        1.5,
        "0x10",
        "1.0005k",
    ],
)
def test_junk_is_no_number_of_tokens(junk: Any) -> None:
    with pytest.raises(ConfigError, match="is not a number of tokens") as caught:
        parse_tokens(junk)
    assert caught.value.hint == "write it like `32k`, `1M` or `200_000`"
    assert len(caught.value.message) < 80


@given(st.integers(0, 10**11))
def test_any_whole_number_is_read_back(number: int) -> None:
    assert parse_tokens(f"{number:_}") == parse_tokens(str(number)) == number
