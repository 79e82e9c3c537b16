"""One policy over one recording: whatever it does is written down, and the run goes on."""

import copy
import json
from pathlib import Path

import pytest

from holdfast.lab.case import RecordedTurn, ReplayCase
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, study_evidence
from holdfast.lab.packs import DumpFile
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.policy import ModelCall, NamedPolicy, PolicyReply
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter
from holdfast.prices import BUILT_IN
from holdfast.tokenizers import load_tokenizer
from support.evidence import called, result, user

TALK = [
    user("Find where parse_settings reads the file, then fix it."),
    called("c1", "Grep", pattern="parse_settings"),
    result(
        "c1", "src/app/settings.py:10:def parse_settings(path):\nsrc/app/other.py:7:    parse_settings(name)"
    ),
    called("c2", "Read", file_path="src/app/settings.py"),
    result("c2", "     9→\n    10→def parse_settings(path):\n    11→    return load(path)"),
    called(
        "c3", "Edit", file_path="src/app/settings.py", old_string="    return load(path)", new_string="pass"
    ),
    result("c3", "The file was updated."),
    {"role": "assistant", "content": "Done."},
]


def case(messages, times=()):
    times = [*times, *[None] * len(messages)]
    return ReplayCase(
        "r", "p", (), tuple(RecordedTurn(i, copy.deepcopy(m), times[i]) for i, m in enumerate(messages))
    )


def score(start, messages=TALK, budget=4_000, *, budgeted=True, times=(), dump=None, pictures=False):
    scale = MessageCounter(load_tokenizer())
    studied = study_evidence(case(messages, times), scale, [DEFAULT_MEASURE], lambda *_: lambda _: False)
    tools = ScoringSetup(load_tokenizer(), scale, tuple(BUILT_IN.values()), budget, pictures)
    plan = start if isinstance(start, NamedPolicy) else NamedPolicy("mine", start, budgeted=budgeted)
    [[found]] = PolicyRun(studied, plan, budget, [budget], tools, dump).run()
    return found


def policy(pack):
    """A start whose policies pack with a function of the messages."""
    return lambda _: Mine(pack)


class Mine:
    def __init__(self, pack):
        self.answer = pack

    def pack(self, messages, at):  # noqa: ARG002
        return self.answer(messages)


def test_everything_holds_everything():
    found = score(find_policies(["everything"])[0])
    assert (found.requests, found.all_span) == (4, 1.0)
    assert found.hard_span is None
    assert (found.failures, found.violations, found.over_budget) == ({}, {}, 0)


def test_sending_nothing_holds_nothing():
    found = score(policy(lambda _: []))
    assert (found.all_span, found.tokens) == (0.0, 0)
    assert found.violations == {"empty-pack": 4}


def fail(_):
    raise ValueError("no idea\nwhat to do")


@pytest.mark.parametrize(
    ("pack", "sentence"),
    [
        (fail, "ValueError: no idea"),
        (lambda _: None, "the policy returned a NoneType, not a list of messages"),
        (lambda _: 7, "TypeError: 'int' object is not iterable"),
        (lambda _: "text", "the policy returned a str, not a list of messages"),
        (lambda _: {"role": "user"}, "the policy returned a dict, not a list of messages"),
        (lambda _: [None], "a message is a NoneType, not an object"),
        (lambda _: [{"role": "robot"}], "a message has the role `robot`"),
        (lambda _: [{"role": "user", "content": 7}], "the content of a message is a int"),
        (lambda _: [{"role": "assistant", "tool_calls": [{"id": "c"}]}], "a call has no name"),
        (lambda _: [{"role": "assistant", "tool_calls": "c1"}], "`tool_calls` is not a list"),
        (lambda _: (_ for _ in [fail(0)]), "ValueError: no idea"),
    ],
)
def test_what_a_policy_does_wrong_is_said_and_scores_nothing(pack, sentence):
    found = score(policy(pack))
    assert found.failures == {sentence: 4}
    assert found.all_span == 0.0
    assert len(found.seconds) == 4


def test_a_policy_that_cannot_start_fails_every_request():
    found = score(fail)
    assert found.failures == {"could not start: ValueError: no idea": 4}


def test_a_policy_that_fails_once_is_asked_again():
    found = score(policy(lambda messages: fail(0) if len(messages) == 3 else messages))
    assert found.failures == {"ValueError: no idea": 1}
    assert found.all_span == pytest.approx(2 / 3)


def test_a_pack_over_the_budget_scores_nothing_and_is_billed():
    found = score(policy(list), budget=60)
    assert found.over_budget == 2
    assert 0 < found.all_span < 1
    assert found.tokens == score(policy(list), budget=60, budgeted=False).tokens


def test_a_policy_may_change_what_it_was_handed():
    def vandal(messages):
        for message in messages:
            message["content"] = "gone"
            message.pop("tool_calls", None)
        messages.clear()
        return []

    found = score(policy(vandal))
    assert (found.failures, found.requests, found.tokens) == ({}, 4, 0)
    assert found.needs == score(policy(list)).needs


def test_arguments_changed_in_place_are_seen():
    def clear(messages):
        for message in messages[:-2]:
            for call in message.get("tool_calls", ()):
                call["arguments"].clear()
        return messages

    plain, cleared = score(policy(list)), score(policy(clear))
    assert cleared.tokens < plain.tokens
    assert cleared.fingerprint != plain.fingerprint


def test_broken_structure_is_counted_by_rule():
    found = score(policy(lambda messages: [m for m in messages if m["role"] != "assistant"]))
    assert found.violations["openai.result-has-call"] == 3


def test_model_calls_of_a_policy_are_billed():
    plain = score(policy(list))
    dear = score(policy(lambda messages: PolicyReply(messages, calls=(ModelCall(1_000, 100),))))
    assert dear.model_calls == 4
    for name, table in BUILT_IN.items():
        assert dear.dollars[name] - plain.dollars[name] == pytest.approx(4 * (1_000 + 100 * table.output))


def test_references_are_a_column_of_their_own():
    text = TALK[4]["content"]

    class Stubs:
        def pack(self, messages, at):  # noqa: ARG002
            return [user("[Read src/app/settings.py: a0123; Grep parse_settings: nothing]")]

        def fetch(self, id_):
            if id_ == "Grep":
                raise OSError("a policy's own fault")
            return text if id_ == "a0123" else None

    messages = [*TALK[:5], *[m for i in range(7) for m in step(i)], TALK[5]]
    found = score(lambda _: Stubs(), messages, budget=200)
    assert found.hard_span < found.hard_ref
    assert found.ref_dollars["uncached"] == load_tokenizer().count(text) + found.tokens / found.requests


def step(i):
    return [called(f"s{i}", "Bash", command="ls"), result(f"s{i}", f"total {i} " + "word " * 40)]


def test_a_recording_that_opens_with_a_reply_gets_an_empty_pack_there(tmp_path):
    messages = [{"role": "assistant", "content": "Hello."}, *TALK]
    with DumpFile(str(tmp_path), "r") as dump:
        found = score(policy(fail), messages, dump=dump)
    assert found.failures == {"ValueError: no idea": 4}
    first, *others = map(json.loads, Path(dump.name).read_text().splitlines())
    assert first == {
        "recording": "r",
        "index": 0,
        "budget": 4_000,
        "policy": "mine",
        "messages": [],
        "tokens": 0,
    }
    assert [(line["index"], line["error"]) for line in others] == [
        (index, "ValueError: no idea") for index in (2, 4, 6, 8)
    ]


@pytest.mark.parametrize(
    ("messages", "note"),
    [
        ([], "no reply in it, so no request"),
        ([user("alone")], "no reply in it, so no request"),
        ([user("hello"), {"role": "assistant", "content": "hi"}], "no action used earlier text"),
        (TALK, "no hard needs"),
    ],
)
def test_recordings_with_little_to_score_say_why(messages, note):
    found = score(policy(list), messages)
    assert found.note == note
    assert found.hard_span is None


def test_moments_show_layers_cache_and_faults():
    found = score(policy(lambda m: fail(0) if len(m) == 3 else m), pictures=True)
    first, second, third, _ = found.moments
    assert (first.layers, first.cached) == ({"user": first.tokens}, 0)
    assert second.fault == "ValueError: no idea"
    assert set(third.layers) == {"user", "assistant", "tool"}
    assert sum(third.layers.values()) == third.tokens


def test_an_idle_cache_is_cold():
    texts = [user("word " * 3_000), *TALK[1:]]
    warm = score(policy(list), texts, times=range(8))
    cold = score(policy(list), texts, times=range(0, 80_000, 10_000))
    assert warm.tokens == cold.tokens
    assert warm.dollars["standard"] < cold.dollars["standard"]
    assert warm.dollars["uncached"] == cold.dollars["uncached"]


def test_what_the_recording_breaks_itself_is_no_fault_of_a_policy():
    twice = [user("hello"), {"role": "assistant", "content": "hi"}, {"role": "assistant", "content": "and"}]
    messages = [*twice, {"role": "assistant", "content": "bye"}]
    assert score(policy(list), messages).violations == {}
    assert score(policy(lambda m: m[1:] or m), messages).violations == {"no-user-message": 2}
