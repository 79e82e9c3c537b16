"""The library as people use it: a list in, a list out; or a session for a loop."""

import asyncio
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import ConfigError, ContextOverflow, InputError
from holdfast.events import AssistantReplied, Folded, OverflowReported
from holdfast.messages import Text, Usage
from holdfast.recall import recall
from holdfast.store import MemoryStore, SqliteStore


def openai_talk(steps, size=60):
    messages = [
        {"role": "system", "content": "Be careful."},
        {"role": "user", "content": "Fix it. Never force-push."},
    ]
    for i in range(steps):
        function = {"name": "Read", "arguments": f'{{"file_path":"src/f{i}.py"}}'}
        call = {"id": f"call_{i}", "type": "function", "function": function}
        text = "\n".join(f"line {j} of file {i}: value_{i}_{j}" for j in range(size))
        messages.append({"role": "assistant", "content": f"Look {i}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text})
    return messages


def anthropic_talk(steps, size=60):
    messages = [{"role": "user", "content": "Fix it."}]
    for i in range(steps):
        use = {"type": "tool_use", "id": f"toolu_{i}", "name": "Read", "input": {"path": f"f{i}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"Look {i}."}, use]})
        text = "\n".join(f"line {j} of file {i}" for j in range(size))
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": text}
        messages.append({"role": "user", "content": [answer]})
    return messages


def test_a_list_that_fits_comes_back_as_it_was():
    messages = openai_talk(3)
    packed = holdfast.pack(messages, budget="32k")
    assert packed.messages == messages
    assert packed.cuts == ()


def test_an_anthropic_list_comes_back_in_its_own_shape():
    messages = anthropic_talk(60)
    packed = holdfast.pack(messages, system="Be careful.", budget=8_000)
    assert packed.provider == "anthropic"
    assert packed.system == [{"type": "text", "text": "Be careful."}]
    assert packed.tokens <= 8_000
    assert packed.cuts


def test_every_cut_of_a_packed_list_can_be_recalled():
    messages = openai_talk(80)
    packed = holdfast.pack(messages, budget="8k")
    texts = {m["content"] for m in messages}
    results = [cut for cut in packed.cuts if cut.rule.startswith("read-")]
    assert len(results) > 20
    for cut in results:
        assert recall(packed.store, cut.id).text in texts
    assert "line 3 of file 0" in packed.recall({"id": results[0].id, "grep": "line 3 "})


def test_every_id_a_pack_shows_leads_somewhere():
    packed = holdfast.pack(openai_talk(80), budget="8k")
    shown = json.dumps(packed.messages)
    ids = {part.split('"')[0].rstrip("\\") for part in shown.split('Recall(id=\\"')[1:]}
    assert len(ids) > 1
    for id_ in ids:
        assert recall(packed.store, id_).text


def test_a_growing_list_keeps_the_folds_it_had():
    """The stateless call finds the folds of the shorter list again: the cached prefix moves only at a fold."""
    messages = openai_talk(60)
    session = holdfast.Session(budget="12k")
    before, moved, folds = [], 0, 0
    for end in range(2, len(messages) + 1, 2):
        packed = holdfast.pack(messages[:end], budget="12k").messages
        moved += packed[: len(before)] != before
        before = packed
        session.append(*messages[end - 2 : end])
        session.pack()
        folds = sum(isinstance(e.event, Folded) for e in session.log.entries())
    assert 1 <= moved <= folds < 20


def test_the_recall_tool_comes_with_every_pack():
    assert [t["function"]["name"] for t in holdfast.pack(openai_talk(1)).tools] == ["Recall"]
    own = {
        "type": "function",
        "function": {"name": "Read", "description": "", "parameters": {"type": "object"}},
    }
    names = [t["function"]["name"] for t in holdfast.pack(openai_talk(1), tools=[own]).tools]
    assert names == ["Read", "Recall"]


def test_a_session_packs_what_a_list_packs():
    messages = openai_talk(70)
    session = holdfast.Session(budget="8k")
    for message in messages:
        session.append(message)
        if message["role"] != "assistant":
            packed = session.pack()
    assert packed.messages == holdfast.pack(messages, budget="8k").messages


def test_a_session_goes_on_where_its_log_stopped(tmp_path):
    """Byte-identical after a restart: folds are events, and nothing else is remembered."""
    messages = openai_talk(60)
    path = tmp_path / "store.db"
    with holdfast.Session(budget="8k", store=path, log="my-agent", system="Be careful.") as session:
        for message in messages[1:]:
            session.append(message)
            if message["role"] != "assistant":
                before = session.pack()
    with holdfast.Session(budget="8k", store=path, log="my-agent", system="Be careful.") as again:
        assert again.pack().messages == before.messages
        assert again.pack().tools == before.tools


def test_two_sessions_on_one_log_see_each_other(tmp_path):
    path = tmp_path / "store.db"
    one = holdfast.Session(store=path, log="shared-log")
    two = holdfast.Session(store=path, log="shared-log")
    one.append({"role": "user", "content": "from one"})
    two.append({"role": "user", "content": "from two"})
    assert [m["content"] for m in two.pack().messages] == ["from one", "from two"]


def test_a_log_name_is_not_taken_for_the_beginning_of_another(tmp_path):
    path = tmp_path / "store.db"
    holdfast.Session(store=path, log="agent-10").append({"role": "user", "content": "ten"})
    assert holdfast.Session(store=path, log="agent-1").pack().messages == []


def test_changing_a_packed_message_changes_no_later_pack():
    session = holdfast.Session(to="anthropic")
    for message in anthropic_talk(3):
        session.append(message)
    first = session.pack()
    first.messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    first.messages[0]["role"] = "nonsense"
    assert "cache_control" not in json.dumps(session.pack().messages)
    assert session.pack().messages[0]["role"] == "user"


def test_a_session_can_be_packed_from_a_coroutine():
    async def run():
        session = holdfast.Session(budget="8k")
        session.append(*openai_talk(50))
        return await session.apack()

    assert asyncio.run(run()).tokens <= 8_000


def test_recall_answers_a_model_and_never_raises():
    session = holdfast.Session(budget="8k")
    session.append(*openai_talk(60))
    packed = session.pack()
    id_ = next(c.id for c in packed.cuts if c.rule.startswith("read-"))
    assert "line 0 of file" in session.recall({"id": id_, "lines": "1-3"})
    assert "nothing in the store has the id" in session.recall({"id": "azzzzzzzzzzzz"})
    assert session.recall({"id": 7, "lines": "x"})


def test_secrets_are_gone_before_the_log(tmp_path):
    secret = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
    path = tmp_path / "store.db"
    with holdfast.Session(store=path) as session:
        session.append({"role": "user", "content": f"my key is {secret}"})
        assert secret not in json.dumps(session.pack().messages)
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_redaction_can_be_switched_off():
    profile = holdfast.Profile(name="plain", redact=False)
    secret = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
    packed = holdfast.pack([{"role": "user", "content": secret}], profile=profile)
    assert packed.messages[0]["content"] == secret


def test_a_provider_that_counts_more_makes_a_fold_come_sooner():
    def folded_at(factor):
        session = holdfast.Session(budget="16k")
        session.append({"role": "user", "content": "go"})
        for i, message in enumerate(openai_talk(60)[2:]):
            session.append(message)
            if message["role"] == "tool":
                tokens = session.pack().tokens
                if any(level != "full" for level, _ in session.window.levels):
                    return i
                usage = Usage(prompt=int(tokens * factor))
                session.record(AssistantReplied((Text("hm"),), usage=usage))
        return 999

    assert folded_at(1.6) < folded_at(1.0)


def test_a_reported_overflow_folds_at_once():
    session = holdfast.Session(budget="64k")
    session.append(*openai_talk(40))
    before = session.pack().tokens
    session.record(OverflowReported())
    assert session.pack().tokens < before / 1.5


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"budget": "lots"}, ConfigError),
        ({"profile": "coed"}, InputError),
        ({"budget": 3}, ConfigError),
        ({"to": "gemini"}, InputError),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, error):
    with pytest.raises(error) as raised:
        holdfast.pack(openai_talk(1), **arguments)
    assert raised.value.hint


def test_a_message_that_is_none_gets_a_sentence():
    for message in ({}, {"content": "x"}):
        with pytest.raises(InputError):
            holdfast.Session().append(message)


def test_a_budget_below_the_pinned_parts_lists_them():
    with pytest.raises(ContextOverflow) as raised:
        holdfast.pack(
            [{"role": "system", "content": "rule " * 3000}, {"role": "user", "content": "x"}], budget="1k"
        )
    assert raised.value.parts[0][0] == "system prompt"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.text(max_size=50)}
        ),
        max_size=12,
    )
)
def test_any_list_of_plain_messages_is_packed(messages):
    messages = [{"role": "user", "content": "start"}, *messages]
    packed = holdfast.pack(messages, budget="4k")
    said = [m["content"] for m in messages if m["role"] == "user" and m["content"].strip()]
    shown = [m["content"] for m in packed.messages if m["role"] == "user"]
    assert all(text in shown for text in said if text.isprintable())


@pytest.mark.parametrize("make", [MemoryStore, None])
def test_sessions_in_threads_share_a_store(make, tmp_path):
    store = make() if make else SqliteStore(tmp_path / "s.db")

    def run(number):
        session = holdfast.Session(store=store, log=f"thread-{number}")
        session.append(*openai_talk(10))
        return session.pack().tokens

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(4)))) == 1
    store.close()


def test_same_bytes_in_every_process_and_under_every_hash_seed():
    code = (
        "import hashlib, json, sys; sys.path.insert(0, 'tests')\n"
        "from test_session import openai_talk; import holdfast\n"
        "packed = holdfast.pack(openai_talk(80), budget='8k')\n"
        "print(hashlib.sha256(json.dumps([packed.messages, [repr(c) for c in packed.cuts]]).encode()).hexdigest())"
    )
    found = set()
    for seed in ("0", "1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
        )
        found.add(done.stdout)
    assert len(found) == 1
