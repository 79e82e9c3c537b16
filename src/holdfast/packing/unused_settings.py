"""Which settings of a profile change no pack, given its others.

Rule: a person who sets one of these learns why it would do nothing. A test looks for a pack that differs for every
setting that is not named here.
"""

from collections.abc import Mapping

from holdfast.messages import Json

LINE_SETTINGS = ("recent_ratio", "append_folds", "worth", "fold_for_profit")
PRICE_SETTINGS = ("cache_read", "cache_write", "cache_seconds")
DIGEST_SETTINGS = (
    *("ls_entries", "glob_entries", "grep_matches", "read_lines", "edit_diff_lines", "write_diff_lines"),
    *("bash_stdout_lines", "bash_stderr_lines", "generic_rows"),
)
"""The numbers of the per-tool table."""


def unused_settings(profile: Mapping[str, Json]) -> dict[str, str]:
    """The names of such settings, each with the reason, for all settings of a profile by name."""
    unused: dict[str, str] = {}

    def leave_out(reason: str, *settings: str) -> None:
        unused.update((setting, unused.get(setting, reason)) for setting in settings)

    keeps_lines, keeps_steps = bool(profile["excerpt_ratio"]), profile["keep_unit"] == "steps"
    if keeps_lines and not profile["fold_at_round_end"]:
        leave_out("old steps keep lines and no level (`excerpt_ratio` is above 0)", "result_old")
    if not keeps_lines:
        leave_out("no lines are kept (`excerpt_ratio` is 0)", *LINE_SETTINGS)
    if not (keeps_lines and profile["fold_for_profit"]):
        reason = "no fold is made for profit (`fold_for_profit` is false, or `excerpt_ratio` is 0)"
        leave_out(reason, *PRICE_SETTINGS)
    if keeps_steps:
        leave_out('steps are kept as `keep` and `keep_floor` say (`keep_unit = "steps"`)', "steps_floor")
    if profile["result_old"] == "skeleton" and keeps_steps and not keeps_lines:
        reason = 'of old steps only what was said stays (`result_old = "skeleton"`)'
        leave_out(reason, "thinking", *DIGEST_SETTINGS)
    if not profile["compaction_clip_chars"]:
        leave_out("`compaction_clip_chars` is 0", "clip_head_chars", "clip_tail_chars")
    if profile["summary_role"] == "mock_pair":
        leave_out('there is one summary message (`summary_role = "mock_pair"`)', "summary_messages")
    else:
        leave_out('`summary_role` is not "mock_pair"', "mock_prompt")
    return unused
