"""Every cut byte comes back exactly, and no id in a pack leads nowhere: through a real log in a real store."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ContextOverflow
from holdfast.events import AssistantReplied, Entry
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text, Thinking, ToolCall
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.layers import Pack
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.window import Window
from holdfast.recall import recall
from holdfast.store import SqliteStore
from support.logs import AgentWork, strings_in, texts_of
from support.packing_runs import counter

RECALLED = re.compile(r'Recall\(id=\\?"(\w+)\\?"(?:, (lines|chars)=\\?"(\d+)(?:-(\d+))?\\?")?\)')


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(BUILT_IN)), st.sampled_from([2_000, 5_000]))
def test_what_was_cut_comes_back_byte_for_byte(tmp_path_factory, seed, profile, budget):
    path = tmp_path_factory.mktemp("store") / "store.db"
    with SqliteStore(path) as store:
        log = Log.create(store, id=f"log-{seed}", at=0.0)
        packed = worked_through(log, seed, profile, budget)
        if packed is None:
            return
        entries = {entry.id: entry for entry in log.entries()}
        originals = {text_id(text): text for entry in entries.values() for text in texts_of(entry)}
        for cut in packed.cuts:
            found = recall(store, cut.id).text
            if cut.id in entries:
                assert_shows(entries[cut.id], found)
            else:
                assert found == originals[cut.id]
        for match in RECALLED.finditer(msgspec.json.encode(packed.messages).decode()):
            assert_leads_somewhere(store, *match.groups())


def worked_through(log: Log, seed: int, profile: str, budget: int) -> Pack | None:
    """A random log written through, folds and all, and what would be sent at its end."""
    window = Window(BUILT_IN[profile].scaled_to(budget), counter(), log.entries())
    try:
        for event in [*AgentWork(seed, steps=14).events[1:], None]:
            if event is None or isinstance(event, AssistantReplied):
                fold = plan_fold(window.view())
                if fold is not None:
                    window.add(log.append(fold))
            if event is not None:
                window.add(log.append(event))
        return pack(window.view())
    except ContextOverflow:
        return None


def assert_shows(entry: Entry, found: str) -> None:
    """An entry reads as its texts and its calls, with every argument."""
    for part in getattr(entry.event, "parts", ()):
        if isinstance(part, Text | Thinking):
            assert part.text in found
        elif isinstance(part, ToolCall):
            assert part.name in found
            for text in strings_in(part.arguments):
                assert text in found or msgspec.json.encode(text).decode()[1:-1] in found


def assert_leads_somewhere(store: SqliteStore, id_: str, unit: str, first: str, last: str) -> None:
    if not unit:
        assert recall(store, id_).total_lines >= 1
        return
    span = (int(first), int(last or first))
    found = recall(store, id_, lines=span) if unit == "lines" else recall(store, id_, chars=span)
    assert found.text
