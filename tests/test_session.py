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
from msgspec.structs import replace

import holdfast
from holdfast.errors import ConfigError, ContextOverflow, InputError
from holdfast.events import AssistantReplied, Folded, OverflowReported, ToolReturned
from holdfast.messages import Text, ToolCall, Usage
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.recall import recall
from holdfast.store import MemoryStore, SqliteStore
from holdfast.tokenizers import counter_for_model
from holdfast.wire.message_lists import events_from_message


def openai_conversation(steps, size=60):
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


def anthropic_conversation(steps, size=60):
    messages = [{"role": "user", "content": "Fix it."}]
    for i in range(steps):
        use = {"type": "tool_use", "id": f"toolu_{i}", "name": "Read", "input": {"path": f"f{i}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"Look {i}."}, use]})
        text = "\n".join(f"line {j} of file {i}" for j in range(size))
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": text}
        messages.append({"role": "user", "content": [answer]})
    return messages


def test_a_list_that_fits_comes_back_as_it_was():
    messages = openai_conversation(3)
    packed = holdfast.pack(messages, budget="32k")
    assert packed.messages == messages
    assert packed.cuts == ()


def test_an_anthropic_list_comes_back_in_its_own_shape():
    messages = anthropic_conversation(60)
    packed = holdfast.pack(messages, system="Be careful.", budget=8_000)
    assert packed.provider == "anthropic"
    assert packed.system == [{"type": "text", "text": "Be careful.", "cache_control": {"type": "ephemeral"}}]
    assert packed.tokens <= 8_000
    assert packed.cuts


@pytest.mark.slow
def test_every_cut_of_a_packed_list_can_be_recalled():
    messages = openai_conversation(80)
    packed = holdfast.pack(messages, budget="8k")
    texts = {m["content"] for m in messages}
    results = [cut for cut in packed.cuts if cut.rule.startswith("read-")]
    assert len(results) > 20
    for cut in results:
        assert recall(packed.store, cut.id).text in texts
    assert "line 3 of file 0" in packed.recall({"id": results[0].id, "grep": "line 3 "})


@pytest.mark.slow
def test_every_id_a_pack_shows_leads_somewhere():
    packed = holdfast.pack(openai_conversation(80), budget="8k")
    shown = json.dumps(packed.messages)
    ids = {part.split('"')[0].rstrip("\\") for part in shown.split('Recall(id=\\"')[1:]}
    assert len(ids) > 1
    for id_ in ids:
        assert recall(packed.store, id_).text


@pytest.mark.slow
def test_a_growing_list_keeps_the_folds_it_had():
    """The stateless call finds the folds of the shorter list again: the cached prefix moves only at a fold."""
    messages = openai_conversation(60)
    session = holdfast.Session(budget="12k")
    before, moved, folds = [], 0, 0
    for end in range(2, len(messages) + 1, 2):
        packed = holdfast.pack(messages[:end], budget="12k").messages
        moved += packed[: len(before)] != before
        before = packed
        session.append(*messages[end - 2 : end])
        session.pack()
        folds = sum(isinstance(e.event, Folded) for e in session.log.entries())
    assert 1 <= moved <= folds < 30


def test_a_list_can_be_packed_for_the_other_provider():
    """`to` is what comes out; what goes in tells its own shape, and no call gets lost between them."""
    out = holdfast.pack(openai_conversation(3), to="anthropic", profile=replace(CODE, cache_marks=0))
    assert out.provider == "anthropic"
    assert out.system == [{"type": "text", "text": "Be careful."}]
    blocks = [b for m in out.messages for b in m["content"]]
    assert [b["id"] for b in blocks if b["type"] == "tool_use"] == ["call_0", "call_1", "call_2"]
    assert sum(b["type"] == "tool_result" for b in blocks) == 3
    back = holdfast.pack(anthropic_conversation(3), to="openai")
    assert back.provider == "openai"
    calls = [c["id"] for m in back.messages for c in m.get("tool_calls", ())]
    assert calls == ["toolu_0", "toolu_1", "toolu_2"]
    assert holdfast.pack(anthropic_conversation(1)).provider == "anthropic"
    assert holdfast.pack(openai_conversation(1), to="openai").messages == openai_conversation(1)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "Recall", "parameters": {"type": "object"}}},
        {"name": "Recall", "description": "mine", "input_schema": {"type": "object"}},
    ],
)
def test_a_tool_of_ones_own_cannot_be_called_recall(tool):
    for use in (
        lambda: holdfast.pack(openai_conversation(1), tools=[tool]),
        lambda: holdfast.Session(tools=[tool]),
    ):
        with pytest.raises(InputError, match="`Recall` is taken") as raised:
            use()
        assert raised.value.hint


def test_a_session_writes_for_known_providers_only(tmp_path):
    with pytest.raises(InputError, match="mistral") as raised:
        holdfast.Session(to="mistral", store=tmp_path / "store.db")
    assert "`anthropic`" in raised.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", [1, 2.5, None, True, (1,)])
def test_keys_that_are_no_strings_are_refused(key):
    use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"a": [{key: "x"}]}}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [use]}]
    for pack in (holdfast.pack, lambda them: holdfast.Session(to="anthropic").append(*them)):
        with pytest.raises(InputError) as raised:
            pack(messages)
        assert raised.value.hint


def test_an_event_with_other_keys_is_stored_with_strings():
    session = holdfast.Session()
    (entry,) = session.record(AssistantReplied((ToolCall("t", "Read", {1: 2}),)))
    assert entry.event.parts[0].arguments == {"1": 2}


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_result_is_named_after_its_call_whoever_made_it(shape, tmp_path):
    """After a restart, or where another process made the call; else what Recall answered would be stored again."""

    def call(number):
        if shape == "anthropic":
            use = {"type": "tool_use", "id": f"t{number}", "name": "Recall", "input": {"id": "a"}}
            return {"role": "assistant", "content": [use]}
        function = {"name": "Recall", "arguments": '{"id":"a"}'}
        return {
            "role": "assistant",
            "tool_calls": [{"id": f"t{number}", "type": "function", "function": function}],
        }

    def answer(number):
        if shape == "anthropic":
            block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "old text"}
            return {"role": "user", "content": [block]}
        return {"role": "tool", "tool_call_id": f"t{number}", "content": "old text"}

    path = tmp_path / "store.db"
    one = holdfast.Session(to=shape, store=path, log="session")
    one.append({"role": "user", "content": "go"}, call(1))
    two = holdfast.Session(to=shape, store=path, log="session")
    two.append(answer(1), call(2))
    one.append({"role": "user", "content": "and?"})
    one.append(answer(2))
    names = [e.event.name for e in one.log.entries() if isinstance(e.event, ToolReturned)]
    assert names == ["Recall", "Recall"]
    one.close()
    two.close()


def test_the_recall_tool_comes_with_every_pack():
    assert [t["function"]["name"] for t in holdfast.pack(openai_conversation(1)).tools] == ["Recall"]
    own = {
        "type": "function",
        "function": {"name": "Read", "description": "", "parameters": {"type": "object"}},
    }
    names = [t["function"]["name"] for t in holdfast.pack(openai_conversation(1), tools=[own]).tools]
    assert names == ["Read", "Recall"]


@pytest.mark.slow
def test_a_session_packs_what_a_list_packs():
    messages = openai_conversation(70)
    session = holdfast.Session(budget="8k")
    for message in messages:
        session.append(message)
        if message["role"] != "assistant":
            packed = session.pack()
    assert packed.messages == holdfast.pack(messages, budget="8k").messages


@pytest.mark.slow
def test_a_session_goes_on_where_its_log_stopped(tmp_path):
    """Byte-identical after a restart: folds are events, and nothing else is remembered."""
    messages = openai_conversation(60)
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
    other = holdfast.Session(store=path, log="agent-1")
    assert other.window.transcript.items == []


def test_changing_a_packed_message_changes_no_later_pack():
    session = holdfast.Session(to="anthropic", profile=replace(CODE, cache_marks=0))
    for message in anthropic_conversation(3):
        session.append(message)
    first = session.pack()
    first.messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    first.messages[0]["role"] = "nonsense"
    assert "cache_control" not in json.dumps(session.pack().messages)
    assert session.pack().messages[0]["role"] == "user"


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_nothing_inside_a_packed_message_is_shared_with_later_packs_or_the_log(shape):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "abc"}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}, picture]}
    use = {
        "type": "tool_use",
        "id": "t",
        "name": "Read",
        "input": {"path": "f", "more": {"list": [{"a": 1}]}},
    }
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "go"}, picture]},
        {"role": "assistant", "content": [{"type": "text", "text": "Look."}, use]},
        {"role": "user", "content": [answer]},
    ]
    session = holdfast.Session(to=shape)
    session.record(*(e for m in messages for e in events_from_message(m, "anthropic")))
    before = session.pack()
    kept = json.dumps([before.messages, before.tools])
    _spoil([before.messages, before.tools])
    after = session.pack()
    assert json.dumps([after.messages, after.tools]) == kept
    (call,) = session.window.transcript.steps[0].calls.values()
    assert call.arguments == use["input"]
    other = holdfast.Session(to=shape)
    other.record(*(e for m in messages[:1] for e in events_from_message(m, "anthropic")))
    assert other.pack().tools == after.tools


def _spoil(value):
    """Change every object and every list inside a value, from the inside out."""
    inner = list(value.values()) if isinstance(value, dict) else value
    for item in inner:
        if isinstance(item, dict | list):
            _spoil(item)
    if isinstance(value, dict):
        value["spoiled"] = True
    else:
        value.append("spoiled")


def test_a_session_can_be_packed_from_a_coroutine():
    async def run():
        session = holdfast.Session(budget="8k")
        session.append(*openai_conversation(50))
        return await session.apack()

    assert asyncio.run(run()).tokens <= 8_000


@pytest.mark.slow
def test_a_session_on_a_file_can_be_packed_from_a_coroutine(tmp_path):
    async def run(path):
        with holdfast.Session(budget="8k", store=path, log="session") as session:
            packs = []
            for message in openai_conversation(30):
                session.append(message)
                if message["role"] != "assistant":
                    packs.append(await session.apack())
            return packs

    packs = asyncio.run(run(tmp_path / "store.db"))
    assert all(packed.tokens <= 8_000 for packed in packs)
    with holdfast.Session(budget="8k", store=tmp_path / "store.db", log="session") as again:
        assert any(isinstance(e.event, Folded) for e in again.log.entries())
        assert again.pack().messages == packs[-1].messages


@pytest.mark.slow
@pytest.mark.parametrize("profile", sorted(BUILT_IN))
@pytest.mark.parametrize("steps", [60, 300])
def test_a_whole_history_is_packed_at_once_under_every_profile(profile, steps):
    session = holdfast.Session(budget="8k", profile=profile)
    session.append(*openai_conversation(steps))
    try:
        packed = session.pack()
    except ContextOverflow:
        # Only the number of steps that these two keep never shrinks.
        if profile not in ("init", "execute"):
            raise
        return
    assert packed.tokens <= 8_000
    assert "Never force-push." in json.dumps(packed.messages)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "gemini-2.5-pro", "qwen3-coder", "deepseek-v3", "gpt-4", "someone-s-model"]
)
def test_every_family_of_models_packs_under_its_budget(model):
    messages = openai_conversation(80)
    packed = holdfast.pack(messages, budget="8k", model=model)
    count = counter_for_model(model)
    assert packed.cuts
    assert packed.tokens <= 8_000
    assert count.messages(packed.pack.messages) + count.tools(packed.pack.tools) <= 8_000
    session = holdfast.Session(budget="8k", model=model)
    session.append(*messages)
    assert session.pack().tokens <= 8_000


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_what_a_user_says_while_tools_run_is_in_the_pack(shape):
    """An interrupt: the call is not answered, and the agent must read why before it goes on."""
    conversation = openai_conversation(1)[1:3] if shape == "openai" else anthropic_conversation(1)[:2]
    messages = [*conversation, {"role": "user", "content": "STOP"}]
    assert "STOP" in json.dumps(holdfast.pack(messages).messages)
    session = holdfast.Session(to=shape, profile=replace(CODE, cache_marks=0))
    session.append(*messages)
    shown = session.pack().messages
    assert "STOP" in json.dumps(shown)
    session.append({"role": "assistant", "content": "Stopped."})
    later = json.dumps(session.pack().messages)
    assert later.count("STOP") == 1
    assert later.startswith(json.dumps(shown)[:-1])


def test_recall_answers_a_model_and_never_raises():
    session = holdfast.Session(budget="8k")
    session.append(*openai_conversation(60))
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
        for i, message in enumerate(openai_conversation(60)[2:]):
            session.append(message)
            if message["role"] == "tool":
                tokens = session.pack().tokens
                if any(level != "full" for level, _ in session.window.view().levels):
                    return i
                usage = Usage(prompt=int(tokens * factor))
                session.record(AssistantReplied((Text("hm"),), usage=usage))
        return 999

    assert folded_at(1.6) < folded_at(1.0)


def test_a_reported_overflow_folds_at_once():
    session = holdfast.Session(budget="64k")
    session.append(*openai_conversation(40))
    before = session.pack().tokens
    session.record(OverflowReported())
    assert session.pack().tokens < before / 1.5


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"budget": "lots"}, ConfigError),
        ({"profile": "coed"}, InputError),
        ({"budget": 3}, ConfigError),
        ({"to": "mistral"}, InputError),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, error):
    with pytest.raises(error) as raised:
        holdfast.pack(openai_conversation(1), **arguments)
    assert raised.value.hint


def test_a_message_that_is_none_gets_a_sentence():
    for message in ({}, {"content": "x"}):
        with pytest.raises(InputError):
            holdfast.Session().append(message)


@pytest.mark.parametrize(
    "content", [{}, {"content": 5}, {"content": None}, {"content": ""}, {"content": [5]}]
)
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_list_without_text_names_the_message_and_not_its_role(role, content):
    with pytest.raises(InputError) as raised:
        holdfast.pack([{"role": role, **content}])
    assert raised.value.message == f"the list of messages has no text in message 0 (`{role}`)"
    assert raised.value.hint == "`content` must be a non-empty string or a list of parts"


@pytest.mark.parametrize("messages", [None, 5, "hello", {"role": "user", "content": "x"}])
def test_what_is_no_list_of_messages_gets_a_sentence(messages):
    with pytest.raises(InputError, match=r"the messages are .*, not a list") as raised:
        holdfast.pack(messages)
    assert raised.value.hint


@pytest.mark.parametrize("arguments", [None, "x", ["x"]])
def test_what_is_no_dict_of_arguments_gets_a_sentence(arguments):
    packed = holdfast.pack([{"role": "user", "content": "x"}])
    for answer in (holdfast.Session().recall, packed.recall):
        with pytest.raises(InputError, match=r"the arguments of Recall are (of type|not a JSON object)"):
            answer(arguments)


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
        session.append(*openai_conversation(10))
        return session.pack().tokens

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(4)))) == 1
    store.close()


@pytest.mark.slow
def test_same_bytes_in_every_process_and_under_every_hash_seed():
    code = (
        "import hashlib, json, sys; sys.path.insert(0, 'tests')\n"
        "from test_session import openai_conversation; import holdfast\n"
        "packed = holdfast.pack(openai_conversation(80), budget='8k')\n"
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


def test_recall_takes_the_arguments_of_a_call_as_openai_sends_them():
    rows = "\n".join(f"row {n} of a table that is long" for n in range(3_000))
    packed = holdfast.pack([{"role": "user", "content": rows}], budget="4k", tools=None)
    cut = packed.cuts[0].id
    whole = packed.recall({"id": cut, "lines": "1700-1701"})
    assert "row 1700 of a table" in whole
    assert packed.recall(json.dumps({"id": cut, "lines": "1700-1701"})) == whole
