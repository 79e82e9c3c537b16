"""How many rounds stay whole, as the design documents ask for it.

Each test names the rows of docs/seeds.md that it stands for.
"""

import pytest
from msgspec.structs import replace

from holdfast.compaction.plan import plan_compaction
from holdfast.errors import ContextOverflow
from holdfast.events import Compacted, RecapSet, SystemSet
from holdfast.packing.pack import pack as pack_window
from holdfast.packing.profile import BUILT_IN
from holdfast.session import Session
from support.seed_rounds import add_round, add_step, seed_session, whole_rounds


def rounds_left(profile, keep, *, rounds=14, lines=12):
    """The rounds that a summary asked for now would leave whole."""
    chosen = replace(BUILT_IN[profile].scaled_to(12_000), keep=keep)
    with Session(profile=chosen) as session:
        for number in range(rounds):
            session.append({"role": "user", "content": f"Do part {number}."})
            call = {"id": f"c{number}", "type": "function", "function": {"name": "Look", "arguments": "{}"}}
            session.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
            text = "\n".join(f"part {number}, line {n}, with some words of its own" for n in range(lines))
            session.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
            session.append({"role": "assistant", "content": f"Part {number} is done."})
        view = session.window.view()
        plan = plan_compaction(view, manual=True)
        return rounds if plan is None else sum(at >= plan.end for at in view.transcript.rounds)


@pytest.mark.parametrize("profile", ["code", "draft16k", "review"])
@pytest.mark.parametrize("lines", [4, 12, 40, 90])
def test_a_larger_keep_never_keeps_less(profile, lines):
    """001-13, 000-38: a summary gives up one kept round at a time, and only as many as it must."""
    left = [rounds_left(profile, keep, lines=lines) for keep in range(BUILT_IN[profile].keep_floor, 12)]
    assert left == sorted(left), left


def test_all_kept_rounds_stay_where_there_is_room():
    """001-49, 004-12."""
    assert rounds_left("code", 10, lines=4) >= 10
    assert rounds_left("draft16k", 5, lines=4) >= 5


def rounds_left_by_a_fold(profile, keep, *, lines, rounds=50):
    """The newest rounds that the first fold leaves whole, after each round until there is one."""
    with seed_session(profile, 12_000, keep=keep) as session:
        for number in range(rounds):
            add_round(session, number, lines=lines)
            if session.make_room() is not None:
                whole = whole_rounds(session)
                return sum(n >= 0 and [*range(n, number + 1)] == whole[-(number + 1 - n) :] for n in whole)
    return rounds


@pytest.mark.parametrize("profile", ["code", "rich", "lean"])
@pytest.mark.parametrize("lines", [10, 20, 40, 90])
def test_a_fold_that_keeps_lines_honours_keep(profile, lines):
    """001-13, 001-49, 004-01, 004-24: rounds beyond the floor stay whole, and a larger `keep` never keeps less."""
    left = [rounds_left_by_a_fold(profile, keep, lines=lines) for keep in (2, 3, 4, 6, 8, 10)]
    assert left == sorted(left), left
    assert lines > 10 or profile == "lean" or left[-1] > left[0]


def shown_rounds(rounds, steps):
    """The rounds that a review still shows, and how many messages it sends."""
    with Session(profile="review") as session:
        for number in range(rounds):
            session.append({"role": "user", "content": f"Look at part {number}."})
            for step in range(steps):
                id_ = f"c{number}-{step}"
                call = {"id": id_, "type": "function", "function": {"name": "Look", "arguments": "{}"}}
                session.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
                session.append({"role": "tool", "tool_call_id": id_, "content": f"seen {id_}"})
            session.append({"role": "assistant", "content": f"Part {number} is fine."})
            packed = session.pack()
        texts = [str(message.get("content")) for message in packed.messages]
        shown = {n for n in range(rounds) for text in texts if text == f"Look at part {n}."}
        return shown, len(packed.messages)


def test_the_cap_on_messages_leaves_the_rounds_that_a_review_keeps():
    """002-18."""
    keep, most = BUILT_IN["review"].keep, BUILT_IN["review"].max_messages
    for rounds in range(8, 20):
        shown, messages = shown_rounds(rounds, steps=1)
        assert set(range(rounds - keep, rounds)) <= shown, (rounds, shown)
        assert messages <= most + 4


def test_the_cap_on_messages_holds_where_the_kept_rounds_are_more():
    """002-02: the cap is the safety net."""
    shown, messages = shown_rounds(9, steps=6)
    assert messages <= BUILT_IN["review"].max_messages + 2
    assert {7, 8} <= shown


@pytest.mark.parametrize("layer", ["stable", "summary", "window", "round", "tail"])
def test_every_layer_of_a_review_has_a_cap(layer):
    """002-02: the cap is a share of the window, and what is above it shrinks, or is refused."""
    cap = getattr(BUILT_IN["review"].scaled_to(20_000), f"{layer}_cap")
    assert 0 < cap < 20_000
    with seed_session("review", 20_000, max_messages=0, max_tool_chars=0) as session:
        words = " ".join(f"word{n}" for n in range(cap * 11 // 30))
        if layer == "stable":
            session.record(SystemSet(words))
            session.append({"role": "user", "content": "Look."})
            with pytest.raises(ContextOverflow, match="its cap is"):
                session.pack()
            return
        session.append({"role": "user", "content": "Look."})
        if layer == "summary":
            text = "\n".join(
                f"- This is point {n}. And this is said of it, at length." for n in range(cap // 12)
            )
            session.record(Compacted("archive", text))
        elif layer == "tail":
            session.record(RecapSet("more", "More", tuple(f"finding {n} of many" for n in range(cap // 4))))
        elif layer == "round":
            for number in range(40):
                add_step(session, str(number), cap // 400)
                session.make_room()
        for number in range(20 if layer == "window" else 0):
            add_round(session, number, lines=cap // 200)
            session.make_room()
        layers = {one.name: one.tokens for one in pack_window(session.window.view()).layers}
        assert 0 < layers[layer] <= cap
