"""The same properties on recorded work of real agents."""

from itertools import islice

import pytest
from test_properties import (
    Seen,
    assert_cuts_lead_back,
    assert_every_entry_is_shown_or_named,
    assert_every_step_that_is_gone_has_a_note,
    assert_legal,
    assert_packing_again_changes_nothing,
    assert_prefix_only_grows,
    assert_results_follow_their_calls,
    assert_user_messages_are_verbatim,
    assert_within_budget,
)

from holdfast.errors import ContextOverflow
from holdfast.events import Entry
from holdfast.ids import text_id
from holdfast.packing.profile import BUILT_IN
from holdfast.recordings import read_recordings
from support.logs import chained, texts_of
from support.packing_runs import Request, pack_each_request
from support.recording_folder import recording_files

TAKEN = 3
"""Of so many recordings one is packed."""
CHECK_EVERY = 20
"""All properties are checked at every fold, at the end, and after every so many requests in between."""


@pytest.mark.slow
@pytest.mark.parametrize("file", recording_files())
def test_every_property_holds_on_recorded_work(file):
    checked = 0
    for number, recording in enumerate(islice(read_recordings(file), None, None, TAKEN)):
        entries = chained([r.event for r in recording.events if not r.chain])
        profile = sorted(BUILT_IN)[number % len(BUILT_IN)]
        checked += check(entries, profile, (16_000, 32_000, 64_000)[number % 3])
    assert checked > 0


@pytest.mark.slow
@pytest.mark.parametrize("file", recording_files("raw/*.gz"))
def test_every_property_holds_on_raw_recordings(file):
    for recording in read_recordings(file):
        assert check(chained([r.event for r in recording.events if not r.chain]), "code", 16_000) > 0


def check(entries: list[Entry], profile: str, budget: int) -> int:
    """Requests that were checked, up to an overflow that must be: `init` and `execute` never shrink what they keep,
    and a system prompt of most of the budget leaves no room for any profile."""
    texts = {text_id(text) for entry in entries for text in texts_of(entry)}
    before, count = None, 0
    try:
        for request in pack_each_request(entries, BUILT_IN[profile].scaled_to(budget)):
            if before is not None:
                assert_prefix_only_grows(entries, before, request)
            before = Seen(request.at, request.pack.prefix, request.settled)
            if request.folds or request.at == len(entries) or count % CHECK_EVERY == 0:
                check_all(entries, texts, request, budget)
            count += 1
    except ContextOverflow as overflow:
        pinned = dict(overflow.parts).get("system prompt", 0)
        if profile not in ("init", "execute") and pinned < budget * 3 // 4:
            raise
    return count


def check_all(entries: list[Entry], texts: set[str], request: Request, budget: int) -> None:
    assert_within_budget(request, budget)
    assert_legal(request)
    assert_results_follow_their_calls(request)
    assert_every_entry_is_shown_or_named(entries, request)
    assert_every_step_that_is_gone_has_a_note(request)
    assert_user_messages_are_verbatim(entries, request)
    assert_cuts_lead_back(entries, texts, request)
    assert_packing_again_changes_nothing(request)
