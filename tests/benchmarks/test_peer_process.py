"""A policy in a process of its own: a tiny adapter under this interpreter stands for a peer."""

import os
import sys
from pathlib import Path

import pytest
from peers.adapter import Adapter, PeerError, close_idle
from peers.process import LIVES, ProcessPolicy

from holdfast.lab.policy import ModelCall, Task

TINY = """
import os
import sys
import time

print("printed while loading the library", file=sys.stderr)

from peers.adapters.serve import Answer, Bill, serve


class Tiny:
    def __init__(self, variant, budget):
        self.about = f"tiny 1.0; {variant} at {budget}"
        self.variant = variant
        self.history = []

    def pack(self, new, at):
        self.history += new
        print("a library that prints")
        os.system("echo a program that prints")
        last = new[-1]["content"] if new else ""
        if last == "raise":
            raise RuntimeError("no luck\\nat all")
        if last == "die":
            print("so long", file=sys.stderr)
            os._exit(7)
        if last == "hang":
            time.sleep(60)
        if last == "garble":
            return Answer(None)
        if last == "where":
            return Answer([{"role": "user", "content": f"{os.getpid()} {sorted(os.environ)} {os.listdir()}"}])
        return Answer(self.history[-2:], (Bill(len(self.history), 3),))


def start(variant, budget):
    if variant == "unknown":
        raise ValueError("there is no variant `unknown`")
    return Tiny(variant, budget)


serve(start)
"""


@pytest.fixture
def command(tmp_path):
    """The command of the tiny adapter; what it leaves waiting is ended."""
    script = tmp_path / "tiny.py"
    script.write_text(TINY)
    yield [sys.executable, str(script)]
    close_idle()


@pytest.fixture
def policy(command):
    policy = ProcessPolicy(TASK, command, "plain")
    yield policy
    policy.close()


TASK = Task(16_000, len)


def user(text):
    return {"role": "user", "content": text}


def scripted(tmp_path, source):
    """A policy whose process runs this source instead of a loop."""
    script = tmp_path / "scripted.py"
    script.write_text(source)
    return ProcessPolicy(TASK, [sys.executable, str(script)], "plain", timeout=20)


def said(policy, *texts):
    return [message["content"] for message in policy.pack([user(text) for text in texts], None).messages]


def test_messages_go_there_and_back(policy):
    call = {"id": "c1", "name": "Read", "arguments": {"path": "ä.py", "lines": [1, 2]}}
    result = {"role": "tool", "tool_call_id": "c1", "name": "Read", "content": "half \ud800 of a pair\n"}
    history = [user("read"), {"role": "assistant", "content": "", "tool_calls": [call]}, result]
    sent = policy.pack(history, 12.5)
    assert sent.messages == history[-2:]
    assert sent.calls == (ModelCall(3, 3),)
    assert policy.about == "tiny 1.0; plain at 16000"


def test_only_what_is_new_is_sent(policy):
    history = [user("one")]
    policy.pack(history, None)
    history += [user("two"), user("three")]
    assert policy.pack(history, None).calls == (ModelCall(3, 3),)
    assert policy.pack(history, None).calls == (ModelCall(3, 3),)


def test_an_empty_history_is_a_request_too(policy):
    assert policy.pack([], None).messages == []


def test_an_error_is_told_in_one_line_and_the_next_request_goes_on(policy):
    with pytest.raises(PeerError, match=r"^RuntimeError: no luck at all$"):
        said(policy, "raise")
    assert said(policy, "raise", "again") == ["raise", "again"]


def test_an_answer_that_cannot_be_written_is_an_error(policy):
    with pytest.raises(PeerError, match="answered without messages"):
        said(policy, "garble")


def test_a_death_is_told_with_last_words_and_the_next_request_has_the_whole_history(policy):
    with pytest.raises(PeerError, match=r"ended with code 7; its last words: .*so long"):
        said(policy, "one", "die")
    assert policy.pack([user(text) for text in ("one", "die", "two")], None).calls == (ModelCall(3, 3),)


def test_a_process_that_keeps_dying_is_given_up_with_its_reason(policy):
    for _ in range(LIVES):
        with pytest.raises(PeerError, match="ended with code 7"):
            said(policy, "die")
    with pytest.raises(PeerError, match=r"ended with code 7.*given up after 3 times"):
        said(policy, "fine")


def test_no_answer_in_time_ends_the_process(command):
    policy = ProcessPolicy(TASK, command, "plain", timeout=20)
    policy.start()
    adapter = policy._adapter
    adapter.timeout = 0.2
    with pytest.raises(PeerError, match=r"gave no answer in 0\.2 s"):
        said(policy, "hang")
    assert not adapter.is_idle


def test_a_request_that_is_never_read_ends_in_time_too(tmp_path):
    policy = scripted(tmp_path, "import time\ntime.sleep(60)")
    policy._timeout = 0.5
    policy._opening["variant"] = "x" * 1_000_000
    with pytest.raises(PeerError, match=r"gave no answer in 0\.5 s"):
        policy.start()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("print('Welcome to the library!')\ninput()", "wrote what is no answer: b'Welcome to the library!"),
        ("print('[1, 2]')\ninput()", "wrote what is no answer"),
        ("print('{', end='')", "broke off an answer"),
        ("raise SystemExit('no such library')", "ended with code 1; its last words: no such library"),
    ],
    ids=["words", "list", "half a line", "no start"],
)
def test_what_is_no_answer_is_quoted(tmp_path, source, reason):
    policy = scripted(tmp_path, source)
    with pytest.raises(PeerError) as caught:
        policy.pack([user("one")], None)
    assert reason in caught.value.message


def test_a_variant_that_does_not_exist_fails_every_request_alike(command):
    policy = ProcessPolicy(TASK, command, "unknown")
    for _ in range(2):
        with pytest.raises(PeerError, match="does not start: ValueError: there is no variant `unknown`"):
            said(policy, "one")


def test_big_messages_pass(policy):
    text = "a line of some length, with ümlauts\n" * 200_000
    assert said(policy, text) == [text]


def test_the_process_sees_no_keys_and_an_empty_home(policy, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    (where,) = said(policy, "where")
    assert "SOME_API_KEY" not in where
    assert "'HOME'" in where
    assert where.endswith("[]")


def test_a_process_serves_the_next_recording_where_it_may(command):
    def process_of(*, reuse):
        policy = ProcessPolicy(TASK, command, "plain", reuse=reuse)
        (where,) = said(policy, "where")
        calls = policy.pack([user("where"), user("two")], None).calls
        policy.close()
        return where.split()[0], calls

    first, again, other = process_of(reuse=True), process_of(reuse=True), process_of(reuse=False)
    assert first == again
    assert first[1] == (ModelCall(2, 3),)
    assert process_of(reuse=False)[0] != other[0]


def test_a_forgotten_policy_ends_its_process(command):
    policy = ProcessPolicy(TASK, command, "plain")
    policy.start()
    adapter = policy._adapter
    home = Path(f"/proc/{adapter._process.pid}/cwd").resolve() if Path("/proc/self").exists() else None
    assert adapter.is_idle
    del policy
    assert not adapter.is_idle
    assert adapter._process.poll() is not None
    assert home is None or not home.exists()


def test_a_forked_child_leaves_the_process_of_its_parent_alone(command, monkeypatch):
    adapter = Adapter(command, 20)
    _, end, arguments, _ = adapter._closing.peek()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        adapter.close()
    assert adapter.ask({"do": "start", "variant": "plain", "budget": 1})["about"] == "tiny 1.0; plain at 1"
    end(*arguments)
    assert adapter._process.poll() is not None
