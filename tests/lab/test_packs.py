"""Between policy and scorer: what comes in is read as one value, what goes out reads back as the same."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.lab.packs import PackReader, PackWriter
from holdfast.lab.policy import PolicyReply
from holdfast.lab.scored_message import ROLES, ScoredCall, ScoredMessage, read_message
from holdfast.packing.counting.tokens import compact_json
from support.evidence import called, result, user

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(texts, values, max_size=3) | st.lists(values) | texts
ids = st.text(string.ascii_letters, max_size=4)


@st.composite
def messages(draw):
    """What a policy may return: calls flat or nested, arguments as an object or as text."""
    role = draw(st.sampled_from(ROLES))
    message = {"role": role, "content": draw(texts | st.none())}
    if role == "tool":
        message["tool_call_id"] = draw(ids)
    if role == "assistant":
        message["tool_calls"] = [_call(draw) for _ in range(draw(st.integers(0, 2)))]
    return message


def _call(draw):
    given_ = draw(arguments)
    body = {"name": draw(texts), "arguments": json.dumps(given_) if draw(st.booleans()) else given_}
    return {"id": draw(ids), **({"function": body} if draw(st.booleans()) else body)}


def read_one(message) -> ScoredMessage:
    [said], _ = PackReader().read([message])
    return said


SPELLINGS = [
    {"id": "c1", "name": "Read", "arguments": {"path": "ä.py", "n": 1}},
    {"id": "c1", "name": "Read", "arguments": '{"path": "ä.py",  "n": 1}'},
    {"id": "c1", "name": "Read", "arguments": '{"path":"\\u00e4.py","n":1}'},
    {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": {"path": "ä.py", "n": 1}}},
    {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"path": "ä.py", "n": 1}'}},
]


@pytest.mark.parametrize("call", SPELLINGS, ids=["flat", "flat text", "escaped", "nested", "nested text"])
def test_all_spellings_of_a_call_are_one(call):
    said = read_one({"role": "assistant", "content": None, "tool_calls": [call]})
    assert said == ScoredMessage("assistant", "", (ScoredCall("Read", '{"path":"ä.py","n":1}', "c1"),))


def test_the_same_message_is_the_same_object_again():
    inbox = PackReader()
    message = user("hello")
    first, _ = inbox.read([message, called("c1", "Read", path="a"), user("hello")])
    again, _ = inbox.read([message, called("c1", "Read", path="a"), dict(message)])
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert first[0] is first[2]


def test_what_was_changed_in_place_is_seen():
    inbox = PackReader()
    said, call = result("c1", "text"), called("c1", "Read", path="a")

    def now():
        return inbox.read([said, call])[0]

    before = now()
    assert now() == before
    said["content"] = "other"
    assert now()[0].text == "other"
    said["tool_call_id"] = "c2"
    assert now()[0].answers == "c2"
    said["role"] = "user"
    assert now()[0].role == "user"
    call["tool_calls"][0]["arguments"]["path"] = "b"
    assert now()[1].calls[0].arguments == '{"path":"b"}'
    del call["tool_calls"]
    assert now()[1].calls == ()
    said["content"] = parts = [{"type": "text", "text": "one"}]
    assert now()[0].text == "one"
    parts.append({"type": "text", "text": "two"})
    assert now()[0].text == "one\ntwo"
    del said["content"]
    assert [now()[0].text, now()[0].text] == ["", ""]


def test_messages_may_come_in_a_sent_or_any_iterable():
    sent = PolicyReply([user("a")], layers={"tail": 1})
    assert PackReader().read(sent) == ([ScoredMessage("user", "a")], sent)
    assert PackReader().read(iter([user("a")]))[0] == [ScoredMessage("user", "a")]
    assert PackReader().read(())[0] == []


circle: list = []
circle.append(circle)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "text",
        b"bytes",
        {"role": "user"},
        [None],
        [["role", "user"]],
        [{"content": "no role"}],
        [{"role": ["user"]}],
        [{"role": "user", "content": 7}],
        [{"role": "user", "content": [7]}],
        [{"role": "user", "content": "\ud800"}],
        [{"role": "assistant", "tool_calls": 7}],
        [{"role": "assistant", "tool_calls": [7]}],
        [{"role": "assistant", "tool_calls": [{"name": 7}]}],
        [{"role": "assistant", "tool_calls": [{"function": "Read"}]}],
        [called("c1", "Read", path={"a set"})],
        [called("c1", "Read", path=circle)],
        [called("c1", "Read", path="\udfff")],
        PolicyReply(None),
        PolicyReply([user("fine"), 7]),
    ],
    ids=lambda answer: ascii(answer)[:50],
)
def test_nonsense_is_refused_in_a_sentence(answer):
    with pytest.raises(InputError) as caught:
        PackReader().read(answer)
    assert "\n" not in str(caught.value)


def test_an_inbox_goes_on_after_nonsense():
    inbox = PackReader()
    with pytest.raises(InputError):
        inbox.read([user("hello"), 7])
    assert inbox.read([user("hello")])[0] == [ScoredMessage("user", "hello")]


def test_a_dump_is_openai_chat_with_arguments_as_objects():
    pack, _ = PackReader().read([user("go"), called("c1", "Read", path="ä.py"), result("c1", "x")])
    assert json.loads(PackWriter().dump(pack)) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "name": "Read",
                    "arguments": {"path": "ä.py"},
                    "function": {"name": "Read", "arguments": {"path": "ä.py"}},
                }
            ],
        },
        {"role": "tool", "content": "x", "tool_call_id": "c1"},
    ]


@pytest.mark.parametrize("written", ["", "{broken", "two words", '{"a":1} x', "\n", '{"a":NaN}', "[" * 3_000])
def test_arguments_that_are_no_json_are_dumped_as_text(written):
    said = ScoredMessage("assistant", "", (ScoredCall("look", written, "c1"),))
    (message,) = json.loads(PackWriter().dump([said]), parse_constant=pytest.fail)
    assert message["tool_calls"][0]["arguments"] == written


@given(st.lists(messages(), max_size=4))
def test_what_is_dumped_reads_back_as_what_was_sent(pack):
    said, _ = PackReader().read(pack)
    line = PackWriter().dump(said)
    assert b"\n" not in line
    back = [read_message(message) for message in json.loads(line, parse_constant=pytest.fail)]
    assert back == said
    assert PackReader().read(json.loads(line))[0] == said


@pytest.mark.slow
@given(st.lists(messages(), max_size=3), st.lists(messages(), max_size=3))
def test_fingerprints_differ_where_messages_do(one, other):
    outbox = PackWriter()
    first, second = PackReader().read(one)[0], PackReader().read(other)[0]
    assert (outbox.fingerprint(first) == outbox.fingerprint(second)) == (first == second)
    assert outbox.fingerprint(first) == PackWriter().fingerprint(first)


NEAR = [
    ScoredMessage("user", "ab"),
    ScoredMessage("user", "a"),
    ScoredMessage("tool", "ab"),
    ScoredMessage("tool", "ab", answers="c1"),
    ScoredMessage("assistant", "ab"),
    ScoredMessage("assistant", "a", (ScoredCall("b", "{}"),)),
    ScoredMessage("assistant", "", (ScoredCall("ab", "{}"),)),
    ScoredMessage("assistant", "", (ScoredCall("ab", "{}", "c1"),)),
    ScoredMessage("assistant", "", (ScoredCall("ab", "{}"), ScoredCall("ab", "{}"))),
]


def test_near_messages_have_fingerprints_of_their_own():
    outbox = PackWriter()
    packs = [[said] for said in NEAR] + [NEAR[:2], NEAR[1::-1], []]
    assert len({outbox.fingerprint(pack) for pack in packs}) == len(packs)


def test_violations_are_those_of_the_provider():
    outbox = PackWriter()
    whole = PackReader().read([user("go"), called("c1", "Read", path="a"), result("c1", "x")])[0]
    assert outbox.violations(whole) == set()
    assert outbox.violations(whole[:1] + whole[2:]) == {"openai.result-has-call"}
    assert outbox.violations(whole[:2]) != set()


def test_compact_json_is_what_is_counted():
    said = read_one(called("c1", "Read", path="ä", deep={"b": [1, 2]}))
    assert said.calls[0].arguments == compact_json({"path": "ä", "deep": {"b": [1, 2]}})
    assert " " not in said.calls[0].arguments
