"""A log that is followed is shown as if it had been read at once, whatever is appended to it."""

import gc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.events import (
    AssistantReplied,
    Folded,
    Noted,
    Rewound,
    ToolReturned,
    Undone,
    UsageReported,
    UserSaid,
)
from holdfast.log import Log
from holdfast.messages import Text, ToolCall, Usage
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import CODE
from holdfast.store import MemoryStore
from holdfast.viewer.answers import timeline_of, window_of
from holdfast.viewer.history import GATEWAY
from holdfast.viewer.library import LONG, SessionLibrary

LOOKUP = model_lookup(load_catalogue())
KNOWN, UNKNOWN = "claude-opus-4-5", "some-model"
CHANGES = ["say", "step", "step", "unknown", "usage", "note", "fold", "rewind", "undo", "side"]


def library(store):
    return SessionLibrary([store], LOOKUP, lambda _, budget: CODE.scaled_to(int(budget or 64_000)))


def append(log, change, rng):
    entries = log.entries()
    main = [entry for entry in entries if not entry.chain]
    match change:
        case "say":
            log.append(UserSaid((Text(f"Part {len(entries)}."),)))
        case "step" | "unknown" | "side":
            call = ToolCall(f"c{len(entries)}", "Bash", {"command": "make"})
            model = UNKNOWN if change == "unknown" else KNOWN
            usage = Usage(100 * len(entries), 10, 50) if rng.random() < 0.5 else None
            reply = AssistantReplied((Text("I run it."), call), model, usage)
            returned = ToolReturned(call.id, "Bash", (Text("a line of output\n" * 40),))
            log.append_all([reply, returned], chain="task" if change == "side" else "")
        case "usage":
            log.append(UsageReported(Usage(900, 20, 300), KNOWN))
        case "note":
            log.append(Noted("provider", "it was overloaded"))
        case "fold":
            log.append(Folded("pressure", tokens_before=9, tokens_after=8))
        case "rewind":
            log.append(Rewound(), parent=rng.choice(main).id)
        case "undo":
            folds = [entry.id for entry in main if isinstance(entry.event, Folded)]
            log.append(Undone(tuple(folds[-1:])))


def shown(found, log, **choice):
    """All that the page shows of a session, but for the name of its history."""
    history = found.history(log.id, **choice)
    numbers = range(1, len(history.requests) + 1)
    timeline = {**timeline_of(history), "history": ""}
    windows = [window_of(history, number) for number in numbers]
    return msgspec.to_builtins((found.figures(log.id), timeline, windows, found.money(log.id, **choice)))


@pytest.mark.parametrize("source", ["gateway", ""])
@settings(max_examples=25, deadline=None)
@given(
    changes=st.lists(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4), min_size=1, max_size=6),
    shows=st.sampled_from(["recorded", "preview"]),
    rng=st.randoms(use_true_random=False),
)
def test_a_followed_log_is_shown_as_if_it_were_read_at_once(source, changes, shows, rng):
    store = MemoryStore()
    log = Log.create(store, source=source, redact=str)
    followed = library(store)
    for batch in changes:
        for change in batch:
            append(log, change, rng)
        assert shown(followed, log, shown=shows) == shown(library(store), log, shown=shows)


def test_a_history_grows_and_is_made_again_only_where_it_must_be():
    store = MemoryStore()
    log = Log.create(store, source="gateway", redact=str)
    followed = library(store)
    made = []

    def after(event, **given):
        log.append(event, **given)
        made.append(followed.history(log.id))
        return made[-1]

    say, reply = UserSaid((Text("go"),)), AssistantReplied((Text("done"),), KNOWN)
    first = after(say)
    named = after(reply)
    assert named is not first, "tokens are counted for the model that replied"
    assert after(reply) is named
    assert after(AssistantReplied((Text("done"),), UNKNOWN)) is named
    assert len(named.requests) == 3
    folded = after(Folded("pressure", tokens_before=9, tokens_after=8))
    assert (named.basis, folded.basis) == ("list", "pack")
    assert after(reply) is folded
    rewound = after(Rewound(), parent=log.entries()[1].id)
    assert rewound is not folded
    assert rewound.requests == []
    assert len({history.id for history in made}) == 4


def test_garbage_collections_pass_over_a_long_history():
    store = MemoryStore()
    short, long = (Log.create(store, source=GATEWAY) for _ in range(2))
    for log, steps in ((short, 3), (long, LONG)):
        log.append_all([UserSaid((Text("Go."),)), *[AssistantReplied((Text("Done."),), KNOWN)] * steps])
    shown = library(store)
    gc.unfreeze()  # another test of this process may have frozen what it loaded
    assert len(shown.history(short.id).requests) == 3
    assert gc.get_freeze_count() == 0
    try:
        requests = shown.history(long.id).requests
        assert len(requests) == LONG
        assert gc.get_freeze_count() > LONG
        assert not any(one is requests for one in gc.get_objects())
    finally:
        gc.unfreeze()
