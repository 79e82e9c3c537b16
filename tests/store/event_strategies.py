"""Random events with everything untrusted input may hold: keys like ours, long and empty strings, NULs."""

from hypothesis import strategies as st

from holdfast import events as ev
from holdfast.messages import Image, Text, Thinking, ToolCall, ToolDefinition, Usage

CHARACTERS = st.characters(exclude_categories=["Cs"])
SHORT = st.text(CHARACTERS, max_size=12)
STRINGS = (
    SHORT
    | st.sampled_from(["x" * 200, "多行\n文本" * 60, "a\0b", "$a", "\u2028"])
    | st.text(CHARACTERS, min_size=190, max_size=230)
)
KEYS = SHORT | st.sampled_from(["$a", "$$a", "$", "$ref", "type", "text", "password"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)

TEXTS = st.builds(Text, STRINGS)
IMAGES = st.builds(Image, st.just("image/png"), data=STRINGS) | st.builds(
    Image, st.just("image/png"), url=STRINGS
)
CALLS = st.builds(ToolCall, SHORT, SHORT, OBJECTS, raw=STRINGS)
THOUGHTS = st.builds(Thinking, STRINGS, STRINGS, STRINGS)
USER_PARTS = st.lists(TEXTS | IMAGES, max_size=3).map(tuple)
REPLY_PARTS = st.lists(TEXTS | THOUGHTS | CALLS, max_size=3).map(tuple)
USAGE = st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6))

EVENTS = st.one_of(
    st.builds(ev.LogStarted, title=STRINGS, source=STRINGS, meta=OBJECTS),
    st.builds(ev.ChainStarted, STRINGS, STRINGS, STRINGS),
    st.builds(ev.SystemSet, STRINGS),
    st.builds(
        ev.ToolsSet, st.lists(st.builds(ToolDefinition, SHORT, STRINGS, OBJECTS), max_size=2).map(tuple)
    ),
    st.builds(ev.RulesSet, STRINGS, STRINGS, st.floats(0, 10**9), STRINGS),
    st.builds(ev.ContextSet, STRINGS, STRINGS, st.dictionaries(SHORT, st.floats(0, 1), max_size=2)),
    st.builds(ev.RecapSet, SHORT, STRINGS, st.lists(STRINGS, max_size=3).map(tuple)),
    st.builds(ev.UserSaid, USER_PARTS, st.sampled_from(["person", "agent", "reminder"])),
    st.builds(ev.AssistantReplied, REPLY_PARTS, SHORT, st.none() | USAGE, SHORT),
    st.builds(ev.ToolReturned, SHORT, SHORT | st.just("Recall"), USER_PARTS, st.booleans()),
    st.builds(ev.UsageReported, USAGE, SHORT, SHORT),
    st.builds(ev.OverflowReported, st.integers(0, 10**6), STRINGS),
    st.builds(
        ev.ApprovalGiven,
        SHORT,
        st.sampled_from(["once", "deny"]),
        STRINGS,
        STRINGS,
        st.lists(STRINGS, max_size=2).map(tuple),
    ),
    st.builds(
        ev.Folded,
        st.just("pressure"),
        st.lists(st.builds(ev.FoldedRun, SHORT, SHORT, st.sampled_from(ev.LEVELS)), max_size=2).map(tuple),
        st.lists(st.builds(ev.FoldNote, SHORT, SHORT, STRINGS, STRINGS), max_size=2).map(tuple),
    ),
    st.builds(ev.Compacted, st.just("state"), STRINGS, sources=st.lists(SHORT, max_size=2).map(tuple)),
    st.builds(ev.Noted, SHORT, STRINGS, OBJECTS),
    st.builds(ev.BoundarySeen, SHORT, SHORT, summary=STRINGS, data=OBJECTS),
    st.builds(ev.Rewound, STRINGS, st.booleans()),
)
