"""Profiles: every setting of a pack as one value, and the built-in values.

Rule: a profile that exists is consistent. What contradicts itself is refused when it is made, in one sentence.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields, replace

from holdfast.errors import ConfigError

Tokens = Annotated[int, Meta(ge=0, title="tokens")]
Count = Annotated[int, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Pinned = Literal["system", "tools", "rules", "context"]
PINNED: tuple[Pinned, ...] = ("system", "tools", "rules", "context")
WeightSource = Literal["learned", "hand"]
FailureStep = Literal["retry", "rule", "truncate", "ask"]

SMALLEST_BUDGET = 10
"""Below it rounding makes trigger and low-water mark meet."""

LEAST_SIGHT = 500
"""Tokens of a new result that a small window shows: less of it would seldom say what it is."""

MOCK_PROMPT = """\
Summarise the work so far and keep what matters:
- the main points of the design, or of the components, being worked on
- what the other agent reported: its main problems, or how far the evaluation has come
- what was concluded, and which problems were found
- what is still to be done
- key paths, such as `execution_output_dir`

Answer in JSON: complete, and short."""


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. The defaults are those of `code`; in caps and limits 0 means none."""

    name: str

    window: Annotated[Tokens, Meta(description="size of the context window")] = 200_000
    follows_model: Annotated[bool, Meta(description="take the model's window where it is known")] = False
    reply_tokens: Annotated[Tokens, Meta(description="room for the reply, at most a tenth of the window")] = (
        16_000
    )
    trigger_ratio: Annotated[Ratio, Meta(description="fold at this share of the window (0: off)")] = 0.95
    trigger_tokens: Annotated[Tokens, Meta(description="fold at this many tokens (0: off)")] = 0
    strict_trigger: Annotated[bool, Meta(description="fold above the trigger, not at it")] = False
    reply_in_trigger: Annotated[
        bool, Meta(description="count room for the reply in the trigger and in what a fold goes down to")
    ] = True
    min_messages: Annotated[Count, Meta(description="never fold with fewer messages")] = 3
    fold_to_ratio: Annotated[
        Ratio,
        Meta(description="fold down to this share of the window, by levels only in an overflow (0: off)"),
    ] = 0.65
    fold_to_tokens: Annotated[
        Tokens, Meta(description="fold down to this many tokens, likewise (0: off)")
    ] = 0
    fold_to_cap: Annotated[
        Tokens,
        Meta(
            description="most tokens that a fold goes down to besides system prompt and tools (0: no limit)"
        ),
    ] = 56_000
    min_gain_ratio: Annotated[
        Ratio, Meta(description="a fold that is not forced frees at least this share of the window")
    ] = 0.06
    fold_for_profit: Annotated[
        bool,
        Meta(description="fold before the trigger where it pays: by prices, carry cost and a cold cache"),
    ] = True
    cache_read: Annotated[
        float, Meta(ge=0, description="price of a token read from the cache, relative to uncached input")
    ] = 0.1
    cache_write: Annotated[
        float, Meta(ge=0, description="price of a token written to the cache, relative to uncached input")
    ] = 1.25
    cache_seconds: Annotated[float, Meta(ge=0, description="life of an unused cache (0: there is none)")] = (
        300.0
    )
    cache_marks: Annotated[int, Meta(ge=0, le=4, description="most cache marks for Anthropic (0: none)")] = 4
    fold_at_round_end: Annotated[bool, Meta(description="fold at the end of every round")] = False

    keep_unit: Annotated[Literal["rounds", "steps"], Meta(description="what `keep` counts")] = "rounds"
    keep: Annotated[Count, Meta(description="newest rounds or steps that stay full")] = 10
    keep_floor: Annotated[Count, Meta(description="lowest value of `keep` under overflow")] = 2
    steps_floor: Annotated[Count, Meta(description="newest steps of the current round that stay full")] = 1
    max_messages: Annotated[Count, Meta(description="fold above this many messages (0: no limit)")] = 0

    result_old: Annotated[
        Literal["digest", "stub", "skeleton"], Meta(description="level of results outside the kept part")
    ] = "digest"
    max_tool_chars: Annotated[
        Count, Meta(description="clip new results past this many characters (0: off)")
    ] = 0
    compaction_clip_chars: Annotated[
        Count,
        Meta(
            description="clip kept results longer than this many characters if they alone exceed the trigger "
            "(0: off)"
        ),
    ] = 0
    clip_head_chars: Annotated[Count, Meta(description="characters such a clip keeps at the start")] = 1_000
    clip_tail_chars: Annotated[Count, Meta(description="characters such a clip keeps at the end")] = 1_000
    first_sight_ratio: Annotated[Ratio, Meta(description="share of the window for one new result")] = 0.04
    excerpt_ratio: Annotated[
        Ratio,
        Meta(description="share of the window that lines kept of folded steps may take (0: levels instead)"),
    ] = 0.9
    recent_ratio: Annotated[
        Ratio, Meta(description="share of the window that the newest steps keep whole where lines are kept")
    ] = 0.1
    append_folds: Annotated[
        bool, Meta(description="let a fold append to the notes where that is cheaper")
    ] = True
    worth: Annotated[
        WeightSource, Meta(description="what ranks lines: weights learned, or written by hand")
    ] = "learned"
    paste_ratio: Annotated[Ratio, Meta(description="share of the window one user message may take")] = 0.25
    user_cap_tokens: Annotated[Tokens, Meta(description="cap of all old user messages under overflow")] = (
        20_000
    )
    thinking: Annotated[Literal["keep", "drop_when_folded"], Meta(description="thinking of folded steps")] = (
        "drop_when_folded"
    )

    pinned_order: Annotated[tuple[Pinned, ...], Meta(description="order of the stable layer")] = PINNED
    todo_position: Annotated[
        Literal["tail", "before_steps"],
        Meta(description="todo recap: last of all, or before the round's steps, which costs the cache"),
    ] = "tail"
    recap_lines: Annotated[Count, Meta(description="lines of the todo recap, and of findings")] = 12
    stable_cap: Annotated[Tokens, Meta(description="cap of the stable layer (0: none)")] = 0
    summary_cap: Annotated[Tokens, Meta(description="cap of the summary layer (0: none)")] = 0
    window_cap: Annotated[Tokens, Meta(description="cap of the earlier rounds (0: none)")] = 0
    round_cap: Annotated[Tokens, Meta(description="cap of the current round (0: none)")] = 0
    tail_cap: Annotated[Tokens, Meta(description="cap of the tail (0: none)")] = 0

    summary_form: Annotated[
        Literal["six_lines", "five_sections", "conclusions", "init_json", "execute_json"],
        Meta(description="form of a summary"),
    ] = "five_sections"
    summary_role: Annotated[
        Literal["system", "mock_pair"],
        Meta(description="a system message, or a mock question and its answer"),
    ] = "system"
    summary_request: Annotated[
        Literal["append", "transcript"],
        Meta(description="send the request after the live messages, or with a transcript of them"),
    ] = "transcript"
    summary_messages: Annotated[Count, Meta(description="most summary messages in a pack (0: no limit)")] = 0
    summary_max_tokens: Annotated[Tokens, Meta(description="longest summary a model may write")] = 4_000
    summary_timeout: Annotated[float, Meta(gt=0, description="seconds a model may take for it")] = 120.0
    summary_failure: Annotated[
        tuple[FailureStep, ...],
        Meta(description="when a model fails at a summary: retry, then rule or truncate, and ask a person"),
    ] = ("retry", "rule", "truncate")
    mock_prompt: Annotated[str, Meta(description="the question of a mock pair")] = MOCK_PROMPT

    ls_entries: Annotated[Count, Meta(description="digest of LS: first entries")] = 10
    glob_entries: Annotated[Count, Meta(description="digest of Glob: first paths")] = 10
    grep_matches: Annotated[Count, Meta(description="digest of Grep: first matches")] = 5
    read_lines: Annotated[Count, Meta(description="digest of Read: lines")] = 500
    edit_diff_lines: Annotated[Count, Meta(description="digest of Edit: first diff lines")] = 10
    write_diff_lines: Annotated[Count, Meta(description="digest of Write: first diff lines")] = 10
    bash_stdout_lines: Annotated[Count, Meta(description="digest of Bash: telling lines of stdout")] = 20
    bash_stderr_lines: Annotated[Count, Meta(description="digest of Bash: last lines of stderr")] = 20
    generic_rows: Annotated[Count, Meta(description="digest of any other tool: informative rows")] = 5

    redact: Annotated[bool, Meta(description="remove secrets before anything is stored")] = True

    def __post_init__(self) -> None:
        for sentence, hint in _faults(self):
            raise ConfigError(f"profile `{self.name}`: {sentence}", hint=hint)

    @property
    def reply_room(self) -> int:
        return min(self.reply_tokens, self.window // 10)

    @property
    def hard_limit(self) -> int:
        """What may be sent at most: the window without room for the reply."""
        return self.window - self.reply_room

    @property
    def counted_reply(self) -> int:
        """Room for the reply in the trigger and in the low-water mark; 0 where they do not count it."""
        return self.reply_room if self.reply_in_trigger else 0

    @property
    def trigger(self) -> int:
        return _least(self.trigger_ratio * self.window, self.trigger_tokens)

    @property
    def low_water(self) -> int:
        return self.low_water_above(0)

    def low_water_above(self, fixed: int) -> int:
        """The low-water mark above so many tokens of system prompt and tools: the cap is on the rest."""
        cap = self.fold_to_cap and self.fold_to_cap + fixed * bool(self.fold_to_ratio or self.fold_to_tokens)
        return _least(self.fold_to_ratio * self.window, self.fold_to_tokens, cap)

    @property
    def min_gain(self) -> int:
        return round(self.min_gain_ratio * self.window)

    @property
    def first_sight_tokens(self) -> int:
        return max(round(self.first_sight_ratio * self.window), min(LEAST_SIGHT, self.window // 4))

    @property
    def recent_tokens(self) -> int:
        return round(self.recent_ratio * self.window)

    @property
    def paste_tokens(self) -> int:
        return round(self.paste_ratio * self.window)

    def scaled_to(self, budget: int) -> "Profile":
        """This profile with a budget in place of its window; what is counted in tokens scales with it."""
        if budget < SMALLEST_BUDGET:
            raise ConfigError(
                f"a budget of {budget} tokens is too small", hint=f"the smallest is {SMALLEST_BUDGET} tokens"
            )
        scaled = {name: _share(getattr(self, name), budget, self.window) for name in _SCALES}
        scaled["fold_to_cap"] = self.cap_for(budget)
        return replace(self, window=budget, **scaled)

    def cap_for(self, window: int) -> int:
        """`fold_to_cap` in another window. It grows with it, as recent steps and room for the reply do."""
        return max(self.fold_to_cap, _share(self.fold_to_cap, window, self.window))

    def for_model(self, model_window: int) -> "Profile":
        """Scaled to the model's window if the profile follows it, or if the model has less than the profile."""
        if model_window and (self.follows_model or model_window < self.window):
            return self.scaled_to(model_window)
        return self


_SCALES = (
    *("reply_tokens", "trigger_tokens", "fold_to_tokens", "user_cap_tokens"),
    *("stable_cap", "summary_cap", "window_cap", "round_cap", "tail_cap"),
)
_INTEGERS = tuple(f.name for f in fields(Profile) if getattr(f.type, "__origin__", None) is int)


def _least(*limits: float) -> int:
    """The smallest of those that are set."""
    return min((round(limit) for limit in limits if limit > 0), default=0)


def _share(amount: int, budget: int, window: int) -> int:
    """Rounded up, because 0 would mean that the setting is off."""
    return -(-amount * budget // window)


def _faults(p: Profile) -> Iterator[tuple[str, str]]:
    """Sentences and hints for everything that contradicts itself."""
    yield from _range_faults(p)
    if not p.trigger:
        yield "nothing triggers a fold", "set `trigger_ratio` or `trigger_tokens` above 0"
    if not p.low_water:
        yield "there is no mark to fold down to", "set `fold_to_ratio` or `fold_to_tokens` above 0"
    if p.trigger > (most := p.hard_limit + p.counted_reply):
        yield (
            f"the trigger ({p.trigger:,} tokens) lies above the hard limit ({most:,} tokens)",
            "lower `trigger_tokens` or `trigger_ratio`, or raise `window`",
        )
    if p.low_water >= p.trigger:
        yield (
            f"folds would go down to {p.low_water:,} tokens, which is not below the trigger ({p.trigger:,})",
            "lower `fold_to_tokens` or `fold_to_ratio`",
        )
    if 0 < p.low_water <= p.counted_reply:
        found = f"folds would go down to {p.low_water:,} tokens, and the room for a reply takes {p.counted_reply:,}"
        yield found, "raise these marks, lower `reply_tokens`, or set `reply_in_trigger = false`"
    if p.keep_floor > p.keep:
        yield f"`keep_floor` ({p.keep_floor}) is larger than `keep` ({p.keep})", "lower `keep_floor` too"
    if p.compaction_clip_chars and p.clip_head_chars + p.clip_tail_chars >= p.compaction_clip_chars:
        yield (
            "head and tail of a clip together are not shorter than `compaction_clip_chars`",
            "lower `clip_head_chars` or `clip_tail_chars`",
        )
    if sorted(p.pinned_order) != sorted(PINNED):
        yield "`pinned_order` does not name each part once", "the parts are: system, tools, rules, context"


def _range_faults(p: Profile) -> Iterator[tuple[str, str]]:
    for setting in ("window", "keep", "keep_floor", "steps_floor", "summary_timeout", "summary_max_tokens"):
        if not getattr(p, setting) > 0:
            yield f"`{setting}` is {getattr(p, setting)}", "it must be more than 0"
    for setting in ("trigger_ratio", "fold_to_ratio", "min_gain_ratio", "first_sight_ratio", "paste_ratio"):
        if not 0 <= getattr(p, setting) <= 1:
            yield f"`{setting}` is {getattr(p, setting)}", "it is a share, from 0 to 1"
    for setting in ("first_sight_ratio", "paste_ratio"):
        if not getattr(p, setting):
            yield f"`{setting}` is 0, so nothing could be shown", "set it above 0"
    for setting in _INTEGERS:
        if getattr(p, setting) < 0:
            yield f"`{setting}` is {getattr(p, setting)}", "it cannot be less than 0"


_LEVELS = Profile(
    name="levels",
    trigger_ratio=0.8,
    fold_to_ratio=0.4,
    fold_to_cap=0,
    min_gain_ratio=0.1,
    reply_in_trigger=False,
    fold_for_profit=False,
    steps_floor=4,
    first_sight_ratio=1.0,
    excerpt_ratio=0.0,
)
"""What the profiles share that follow the design documents: whole results first, then level by level, and no lines
kept in notes."""

CLASSIC = replace(_LEVELS, name="classic", summary_failure=("truncate",))

DRAFT16K = replace(
    _LEVELS,
    name="draft16k",
    window=16_000,
    reply_tokens=1_600,
    trigger_ratio=0.5,
    fold_to_ratio=0.3,
    keep=5,
    steps_floor=2,
    user_cap_tokens=1_600,
    pinned_order=("system", "rules", "tools", "context"),
    summary_form="six_lines",
    edit_diff_lines=50,
    write_diff_lines=50,
)
CODE = Profile(name="code")
RICH = replace(
    CODE, name="rich", fold_to_ratio=0.75, fold_to_cap=0, first_sight_ratio=0.05, append_folds=False
)
"""More of a window used and more lines kept, dearer than `code`: docs/folding.md has the figures."""
LEAN = replace(CODE, name="lean", fold_to_ratio=0.52, fold_to_cap=36_000, first_sight_ratio=0.015)
"""Less kept, cheaper than `code`."""
REVIEW = replace(
    _LEVELS,
    name="review",
    follows_model=True,
    trigger_ratio=0.7,
    keep=6,
    steps_floor=2,
    max_messages=40,
    result_old="stub",
    max_tool_chars=8_000,
    summary_form="conclusions",
    summary_messages=2,
    summary_failure=("retry", "rule"),
    recap_lines=40,
    stable_cap=150_000,
    summary_cap=20_000,
    window_cap=80_000,
    round_cap=120_000,
    tail_cap=8_000,
)
INIT = replace(
    _LEVELS,
    name="init",
    trigger_ratio=0.0,
    trigger_tokens=150_000,
    strict_trigger=True,
    min_messages=1,
    fold_to_ratio=0.0,
    fold_to_tokens=70_000,
    keep_unit="steps",
    keep=3,
    keep_floor=3,
    steps_floor=1,
    result_old="skeleton",
    compaction_clip_chars=5_000,
    summary_form="init_json",
    summary_role="mock_pair",
    summary_request="append",
    summary_failure=("retry", "rule", "ask"),
)
EXECUTE = replace(
    INIT,
    name="execute",
    window=1_000_000,
    reply_tokens=32_000,
    trigger_tokens=700_000,
    fold_to_tokens=200_000,
    keep=5,
    keep_floor=5,
    user_cap_tokens=100_000,
    summary_form="execute_json",
)

BUILT_IN = {profile.name: profile for profile in (CODE, RICH, LEAN, CLASSIC, DRAFT16K, REVIEW, INIT, EXECUTE)}
