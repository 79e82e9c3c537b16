"""Long work in small windows: hundreds of steps after one message, sessions over days, and nothing lost."""

import asyncio
import json
import re

import pytest

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.coding.headless import HeadlessRequest, OutputSchema, run_headless
from holdfast.agents.limits import RunLimits
from holdfast.agents.notices import FoldMade, StepBegan, SummaryMade
from holdfast.agents.options import AgentOptions
from holdfast.events import UserSaid
from holdfast.messages import Text, ToolMessage, Usage
from holdfast.models.model import ModelReply
from holdfast.models.scripted import ScriptedModel
from holdfast.tokenizers import load_tokenizer
from support.agent_runs import call, last_content, repository, says, work_bodies, working
from support.last_message import last_message
from support.provider_server import Failure

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


def options(root, **more):
    return AgentOptions(root=root, store=root.parent / "store.db", sandbox="off", **more)


def run_prompt(root, server, prompt, watch=lambda _: None, **more):
    asked = options(root, model=f"compatible/test@{server.openai_url}", **more)
    return asyncio.run(run_headless(asked, HeadlessRequest(prompt), watch=watch, env=NOWHERE))


def source(number, lines=25):
    return "".join(f"def name_{number}_{line}():\n    return {number * line}\n" for line in range(lines))


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path, window=16_000)


@pytest.mark.slow
def test_fault_02_three_hundred_steps_after_one_message_in_a_small_window(root):
    for number in range(270):
        (root / f"part_{number}.py").write_text(source(number))
    steps = [says(f"Now {n}.", call("Read", f"c{n}", path=f"part_{n % 270}.py")) for n in range(300)]
    news = []
    with working(*steps, says("All read.")) as server:
        done = run_prompt(root, server, "Read all of it.", news.append, mode="auto")
    assert (done.outcome, done.text, done.spent.steps) == ("done", "All read.", 301)
    assert len(work_bodies(server)) == 301
    began = [notice for notice in news if isinstance(notice, StepBegan)]
    assert all(step.tokens <= 14_400 for step in began), "the window without room for the reply"
    assert any(isinstance(notice, FoldMade | SummaryMade) for notice in news)
    count = load_tokenizer().count
    for body in work_bodies(server)[::10]:
        assert count(json.dumps(body["messages"]) + json.dumps(body["tools"])) < 16_000
        assert body["messages"][1]["content"] == "Read all of it."


def test_a_provider_that_finds_a_request_too_long_in_mid_round_gets_a_shorter_one(root):
    for number in range(8):
        (root / f"part_{number}.py").write_text(source(number))
    reads = [says(f"Now {n}.", call("Read", f"c{n}", path=f"part_{n}.py")) for n in range(8)]
    news = []
    with working(*reads, Failure(kind="overflow"), says("Read."), says("Never asked.")) as server:
        done = run_prompt(root, server, "Read all.", news.append)
    assert (done.outcome, done.text) == ("done", "Read.")
    refused, shorter = work_bodies(server)[-2:]
    assert len(json.dumps(shorter)) < len(json.dumps(refused))
    assert shorter["messages"][1] == refused["messages"][1], "the request of the user stands"
    assert [notice.fold.reason for notice in news if isinstance(notice, FoldMade)][-1] == "overflow"


def test_several_calls_of_one_reply_are_answered_in_their_order(root):
    slow = call("Bash", "b", command="sleep 0.3; echo slow")
    calls = [slow, call("Read", "r", path="main.py"), call("Grep", "g", pattern="print"), call("Nope", "n")]
    with working(says("All at once.", *calls), says("Seen.")) as server:
        done = run_prompt(root, server, "Look.", mode="auto")
    assert done.outcome == "done"
    results = [m for m in work_bodies(server)[1]["messages"] if m["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == ["b", "r", "g", "n"]
    assert "slow" in results[0]["content"]
    assert "there is no tool `Nope`" in results[3]["content"]


def test_a_mention_of_a_missing_file_is_said(root):
    with working(says("It is not there.")) as server:
        run_prompt(root, server, "Look at @src/none.py and @main.py")
    reminder = work_bodies(server)[0]["messages"][2]["content"]
    assert "A mention leads to nothing: " in reminder
    assert "none.py" in reminder
    assert "- main.py" in reminder


def test_fifty_megabytes_of_output_take_no_more_room_than_others(root):
    prints = (
        "yes 0123456789abcdef0123456789abcdef0123456789abcdef | head -c 50000000; echo; echo the very end"
    )
    with working(says(call("Bash", "b", command=prints)), says("Long.")) as server:
        done = run_prompt(root, server, "Print it.", mode="auto")
    assert done.outcome == "done"
    result = last_content(work_bodies(server)[1])
    assert "Exit code: 0\n(The output has 1020410 lines, 50.0 MB." in result
    assert "the very end" in result
    assert len(result) < 16_000
    assert (root.parent / "store.db").stat().st_size < 2_000_000


def conversation(root, model, budget, watch=lambda _: None, **more):
    return open_coding_session(options(root, budget=budget, **more), model=model, watch=watch, env=NOWHERE)


def asked_for_summary(request):
    return not request.tools


class Clock:
    """Hours pass between two rounds, seconds between two entries."""

    def __init__(self):
        self.now = 1_790_000_000.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.mark.slow
def test_two_hundred_rounds_over_days(root, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("holdfast.log.time.time", clock)
    (root / "main.py").write_text(source(1))
    news = []
    state = {"rounds": 0}

    def reply(request):
        if asked_for_summary(request):
            return "Nothing to sum up."
        # Every fourth round does something; in a real session most do, which takes the test too long.
        if isinstance(last_message(request), ToolMessage) or state["rounds"] % 4:
            return "Done."
        return [call("Grep", f"c{clock.now}", pattern="name_1_7")]

    async def rounds():
        opened = await conversation(root, ScriptedModel(reply, repeat_last=True), 16_000, news.append)
        for number in range(200):
            clock.now += 1_300.0
            state["rounds"] = number
            said = f"Round {number}: where is it? Always answer in German. " + "Please look again. " * 20
            assert (await opened.coding.say(said)).text == "Done."
        log = opened.coding.session.log
        entries = log.entries()
        last = opened.coding.session.window
        await opened.close()
        return entries, last

    entries, window = asyncio.run(rounds())
    assert entries[-1].at - entries[0].at > 3 * 86_400
    assert len([e for e in entries if isinstance(e.event, UserSaid) and e.event.origin == "person"]) == 200
    assert len(window.transcript.rounds) == 200
    steps = [notice for notice in news if isinstance(notice, StepBegan)]
    assert len(steps) == 250
    assert all(step.tokens <= 14_400 for step in steps)
    assert any(isinstance(notice, SummaryMade | FoldMade) for notice in news)


class Reader:
    """A model that knows only what stands in a request. What it is asked for at the end it finds there, or brings
    back with Recall, following every `more`."""

    def __init__(self, mark, shape):
        self.mark = mark
        """What stands before the id of the text that it wants."""
        self.shape = shape
        """What the wanted text looks like in a message, whole."""
        self.parts = []
        self.recalled = 0

    def answer(self, request):
        texts = [
            "\n".join(p.text for p in m.parts if isinstance(p, Text))
            for m in request.messages
            if hasattr(m, "parts")
        ]
        last = last_message(request)
        if self.recalled and isinstance(last, ToolMessage):
            self.parts.append(re.sub(r"^\[recall .*?\]\n", "", last.text.split("\n[more: ")[0]))
            if more := re.search(r"\[more: Recall\((.*?)\)\]", last.text):
                return self._recall(dict(re.findall(r'(\w+)="([^"]*)"', more[1])))
            if not self.shape.search("\n".join(self.parts)) and (
                leads := re.findall(r" -> (\w+)", last.text)
            ):
                return self._recall({"id": leads[0]})
            return "\n".join(self.parts)
        for text in texts:
            if (found := self.shape.search(text)) and "[holdfast:" not in found[0]:
                return found[0]
        id_ = next(m[1] for text in texts if (m := re.search(self.mark, text, re.DOTALL)))
        return self._recall({"id": id_})

    def _recall(self, arguments):
        self.recalled += 1
        return [call("Recall", f"recall{self.recalled}", **arguments)]


def filler(request, number):
    """Work that fills the window."""
    if isinstance(last_message(request), ToolMessage):
        return "Read."
    return [call("Read", f"f{number}", path=f"part_{number}.py")]


def hold_conversation(root, first, last, reader, rounds=14, before=None):
    """A first round, work until the window has been folded and summed up, and a last question."""
    for number in range(rounds):
        (root / f"part_{number}.py").write_text(source(number, 60))
    at = {"round": 0}
    news = []

    def reply(request):
        if asked_for_summary(request):
            return "Nothing to sum up."
        if at["round"] == 0:
            return before(request) if before else "I keep it in mind."
        return filler(request, at["round"] - 1) if at["round"] <= rounds else reader.answer(request)

    async def work():
        opened = await conversation(
            root, ScriptedModel(reply, repeat_last=True), 16_000, news.append, mode="auto"
        )
        ends = []
        for text in [first, *["Go on reading."] * rounds, last]:
            ends.append(await opened.coding.say(text))
            at["round"] += 1
        await opened.close()
        return ends[-1]

    end = asyncio.run(work())
    assert any(isinstance(notice, FoldMade | SummaryMade) for notice in news)
    return end


@pytest.mark.slow
def test_the_json_of_the_first_turn_comes_back_verbatim_after_compaction(root):
    table = {f"key_{n}": {"id": f"{n * 7919:08x}", "数": [n, None, n / 3]} for n in range(160)}
    given = json.dumps(table, ensure_ascii=False, indent=1)
    reader = Reader(r'Keep this JSON.*?Recall\(id="(\w+)"', re.compile(r'\{\n "key_0".*\n\}', re.DOTALL))
    end = hold_conversation(
        root, f"Keep this JSON for later:\n{given}", "Return the JSON of my first message verbatim.", reader
    )
    assert given in end.text
    assert reader.recalled >= 1, "it is too large to have stayed on view"


@pytest.mark.slow
def test_the_last_line_of_a_truncated_log_is_to_be_had(root):
    prints = "for n in $(seq 4000); do echo \"entry $n of the log: nothing happened\"; done; echo 'last: code 7319'"
    reader = Reader(r'Bash.*?Recall\(id="(\w+)"', re.compile(r"last: code \d+"))

    def before(request):
        if isinstance(last_message(request), ToolMessage):
            assert "entry 2000 of" not in last_message(request).text, "it was cut"
            return "Printed."
        return [call("Bash", "log", command=prints)]

    end = hold_conversation(
        root, "Print the log.", "What was the last line of the log?", reader, before=before
    )
    assert "last: code 7319" in end.text


def test_a_token_limit_counts_all_tries_for_a_valid_answer(tmp_path):
    model = ScriptedModel(
        ModelReply(parts=(Text("no json"),), stop="end", usage=Usage(8, 2)), repeat_last=True
    )
    request = HeadlessRequest("List.", schema=OutputSchema({"type": "object"}, "test"))
    chosen = options(repository(tmp_path), limits=RunLimits(tokens=20))
    result = asyncio.run(run_headless(chosen, request, model=model, env=NOWHERE))
    assert (result.outcome, result.spent.usage.total, len(model.requests)) == ("schema", 20, 2)
