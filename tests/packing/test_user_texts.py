"""What users said stays as they said it, whatever the list of messages: a fuzz over sessions of clients.

A long paste may be head and tail, and what would not fit at all may go; but then a cut leads back to the whole, and
the first line and the directives are still there.
"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import holdfast
from gateway.client_lists import FORMATS
from holdfast.errors import ContextOverflow
from holdfast.events import AssistantReplied, Entry, Folded, UserSaid
from holdfast.ids import text_id
from holdfast.messages import Text
from holdfast.packing.folding.notes import note_bound
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.view import WindowView
from holdfast.packing.window import Window
from holdfast.sender import Packed
from holdfast.views.transcript import User
from holdfast.wire.message_lists import recording_from_messages
from support.client_work import ClientWork, strings, words_missing
from support.logs import chained
from support.packing_runs import counter

SEEDS = st.integers(0, 2**32 - 1)
BUDGETS = st.sampled_from([6_000, 8_000, 12_000, 16_000, 24_000, 32_000])
PROFILES = ("code", "rich", "lean", "classic")
RULES = {"paste", "repeated-paste", "old-user", "user-gone"}


def assert_words_stay(said: list[str], packed: Packed) -> None:
    missing = words_missing(said, packed.messages)
    rules = {cut.id: cut.rule for cut in packed.cuts if cut.what == "user message"} if missing else {}
    for text, lost in missing.items():
        assert rules.get(text_id(text)) in RULES, text[:80]
        is_in_full_note = rules[text_id(text)] == "user-gone" and has_full_note(packed)
        assert not lost or is_in_full_note, (rules[text_id(text)], text[:80])
        assert packed.store.text(text_id(text)) == text


def has_full_note(packed: Packed) -> bool:
    """Whether the note for whole rounds repeats about as much of what users said as it may."""
    said = [line for text in strings(packed.messages) for line in text.split("\n") if line.startswith("- ")]
    return counter().text("\n".join(said)) > packed.pack.budget // 20


def assert_words_stay_in(format_: str, profile: str, budget: int, seed: int, every: int = 1) -> None:
    for request in ClientWork(seed, format_, 40).requests[::-every][::-1]:
        try:
            packed = holdfast.pack(request.messages, budget=budget, profile=profile)
        except ContextOverflow:
            return
        assert_words_stay(request.said, packed)


@pytest.mark.parametrize("format_", FORMATS)
def test_words_of_users_stay_or_are_accounted_for(format_):
    assert_words_stay_in(format_, "code", 8_000, 5, every=40)


def test_short_texts_beside_a_paste_in_one_message_stay_whole():
    paste = "\n".join(f"{number} handled item {number * 7919 % 997}" for number in range(400))
    texts = (
        "<note>Made by a program.</note>",
        paste,
        "Find out why the ledger does not add up. " * 10,
        paste[1:],
    )
    window = Window(BUILT_IN["code"].scaled_to(16_000), counter())
    said = [
        UserSaid(tuple(map(Text, texts))),
        AssistantReplied((Text("I will."),)),
        UserSaid((Text("Go on."),)),
    ]
    for entry in chained(said):
        window.add(entry)
    entry = window.transcript.items[0].entry
    fold = Folded(reason="overflow", pastes=(entry,), paste_cap=250)
    window.add(Entry("fold", "test", 9, None, fold))
    note, shown, asked, other = pack(window.view()).messages[0].parts
    assert (note, asked) == (Text(texts[0]), Text(texts[2]))
    assert text_id(paste) in shown.text
    assert text_id(paste[1:]) in other.text
    assert sum(map(counter().part, (note, shown, asked, other))) < 300


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=6, deadline=None)
@given(st.sampled_from(FORMATS), BUDGETS, SEEDS)
def test_words_of_users_stay_in_any_session(profile, format_, budget, seed):
    assert_words_stay_in(format_, profile, budget, seed)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12, deadline=None)
@given(BUDGETS, SEEDS)
@example(32_000, 5)
def test_words_of_users_go_only_where_nothing_else_can(profile, budget, seed):
    settings_ = BUILT_IN[profile].scaled_to(budget)
    window = Window(settings_, counter())
    recording = recording_from_messages(ClientWork(seed, "openai", 60).requests[-1].messages)
    for entry in chained(recorded.event for recorded in recording.events):
        if isinstance(entry.event, AssistantReplied):
            view = window.view()
            try:
                folds = fold_if_due(window)
            except ContextOverflow:
                return
            for fold in folds:
                assert_is_needed(view, fold)
        window.add(entry)


def assert_is_needed(view: WindowView, fold: Folded) -> None:
    """A fold touches what users said only if the pack does not fit without; old pastes once the old words of users
    are more than their cap."""
    profile = view.profile
    users = [item for item in view.transcript.items if isinstance(item, User)]
    current = len(view.transcript.rounds) - 1
    if fold.users or any(note.users for note in fold.notes):
        if profile.excerpt_ratio:
            assert least_without_users(view) + words_of(view, users) > profile.hard_limit - profile.min_gain
        else:
            assert view.total > profile.hard_limit
    if any(user.entry in fold.pastes for user in users if user.round == current):
        assert view.total > profile.hard_limit
    if any(user.entry in fold.pastes for user in users if user.round < current):
        assert words_of(view, [user for user in users if user.round < current]) > profile.user_cap_tokens


def words_of(view: WindowView, users: list[User]) -> int:
    return sum(view.item_tokens(user.position) for user in users)


def least_without_users(view: WindowView) -> int:
    """What the pack takes besides user messages, once every step but the newest is in a note without lines."""
    newest = view.step_tokens(len(view.transcript.steps) - 1)
    return (
        sum(view.fixed_tokens.values())
        + newest
        + note_bound(view.context) * (len(view.transcript.rounds) + 1)
    )
