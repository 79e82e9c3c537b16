"""The calls of one reply: beside each other or alone, in order, interrupted, refused, and always answered."""

import asyncio
import logging

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from holdfast.messages import Text, ToolCall
from holdfast.tools.call import CallFinished, CallSettings, CallStarted
from holdfast.tools.envelope import Envelope, EnvelopeError, ToolError, build_result, error_result
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.tool import TypedTool
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace


def refusal(reason, hint=""):
    return error_result(ToolError("ACCESS_DENIED", reason, hint=hint), {})


class Step(Struct, forbid_unknown_fields=True):
    name: str
    waits: str = ""
    fails: bool = False
    stubborn: bool = False


class Scene:
    """Tools that note when they begin and end, and that can wait for one another by name."""

    def __init__(self):
        self.notes: list[str] = []
        self.ended: dict[str, asyncio.Event] = {}
        self.running = 0
        self.most = 0

    def event(self, name):
        return self.ended.setdefault(name, asyncio.Event())

    def note(self, note):
        self.notes.append(note)
        self.event(note).set()

    async def act(self, step, _workspace):
        self.note(f"+{step.name}")
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self._wait(step)
        except asyncio.CancelledError:
            self.note(f"x{step.name}")
            raise
        finally:
            self.running -= 1
        if step.fails:
            raise RuntimeError(f"{step.name} broke")
        self.note(f"-{step.name}")
        self.event(step.name).set()
        return build_result(Envelope(status="success", text=step.name, data={"name": step.name}), step.name)

    async def _wait(self, step):
        await asyncio.sleep(0)
        if step.waits:
            await self.event(step.waits).wait()
        while step.stubborn:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.event(f"{step.name} was asked to stop").set()
                if self.event("let go").is_set():
                    raise

    def tools(self):
        reads = TypedTool("Look", Step, "Looks.", self.act, is_read_only=True)
        return [reads, TypedTool("Change", Step, "Changes.", self.act)]


@pytest.fixture
def scene():
    return Scene()


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


def look(name, **more):
    return ToolCall(name, "Look", {"name": name, **more})


def change(name, **more):
    return ToolCall(name, "Change", {"name": name, **more})


def texts(results):
    return [result.envelope.text for result in results]


def test_definitions_are_the_same_bytes_in_whatever_order_tools_are_given(scene, workspace):
    one = Toolbox([*scene.tools(), ls_tool()], workspace).definitions
    other = Toolbox([ls_tool(), *reversed(scene.tools())], workspace).definitions
    assert [d.name for d in one] == ["Change", "LS", "Look"]
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_calls_that_only_read_run_beside_each_other_and_answer_in_order(scene, workspace):
    calls = [look("a", waits="c"), look("b", waits="a"), look("c")]
    results = asyncio.run(Toolbox(scene.tools(), workspace).run_calls(calls))
    assert texts(results) == ["a", "b", "c"]
    assert scene.notes == ["+a", "+b", "+c", "-c", "-a", "-b"]


def test_a_call_that_changes_waits_for_those_before_it_and_runs_alone(scene, workspace):
    calls = [look("a", waits="b"), look("b"), change("c"), change("d"), look("e"), look("f")]
    results = asyncio.run(Toolbox(scene.tools(), workspace).run_calls(calls))
    assert texts(results) == list("abcdef")
    assert scene.notes[:8] == ["+a", "+b", "-b", "-a", "+c", "-c", "+d", "-d"]
    assert sorted(scene.notes[8:]) == ["+e", "+f", "-e", "-f"]


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30), st.integers(1, 4))
def test_whatever_the_mixture_each_call_has_its_own_result(tmp_path_factory, kinds, parallel):
    scene = Scene()
    toolbox = Toolbox(
        scene.tools(),
        Workspace([tmp_path_factory.getbasetemp()]),
        settings=CallSettings(parallel=parallel),
        clock=lambda: 0.0,
    )
    calls = [(look if reads else change)(str(n), fails=fails) for n, (reads, fails) in enumerate(kinds)]
    logging.disable()
    try:
        results = asyncio.run(toolbox.run_calls(calls))
    finally:
        logging.disable(logging.NOTSET)
    assert len(results) == len(calls)
    for number, result in enumerate(results):
        fault = result.envelope.error
        if fault is None:
            assert result.envelope.data == {"name": str(number)}
        else:
            assert fault.code == "CIRCUIT_OPEN" or f"{number} broke" in fault.message
    assert scene.most <= parallel
    changing = [n for n, (reads, _) in enumerate(kinds) if not reads and f"+{n}" in scene.notes]
    for number in changing:
        at = scene.notes.index(f"+{number}")
        assert all(int(note[1:]) < number for note in scene.notes[:at])
        fails = kinds[number][1]
        assert fails or scene.notes[at + 1] == f"-{number}"
        assert all(int(note[1:]) > number for note in scene.notes[at + 2 - fails :])


def test_one_failing_call_never_loses_the_others(scene, workspace, caplog):
    calls = [look("a"), look("b", fails=True), look("c"), change("d", fails=True), change("e")]
    results = asyncio.run(Toolbox(scene.tools(), workspace).run_calls(calls))
    assert [result.is_error for result in results] == [False, True, False, True, False]
    assert texts(results)[1] == (
        "INTERNAL_ERROR: Look itself failed: RuntimeError: b broke. "
        "This is a fault of the tool, not of your arguments; try another way."
    )
    assert "Traceback" in caplog.text
    assert "Traceback" not in texts(results)[1]


def test_a_tool_that_cancels_itself_is_a_failed_call_and_no_interruption(workspace, scene, caplog):
    async def give_up(step, workspace):
        raise asyncio.CancelledError

    odd = TypedTool("Odd", Step, "Gives up.", give_up)
    calls = [ToolCall("o", "Odd", {"name": "o"}), look("a")]
    first, second = asyncio.run(Toolbox([odd, *scene.tools()], workspace).run_calls(calls))
    assert first.envelope.error.code == "INTERNAL_ERROR"
    assert second.envelope.text == "a"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("look", "Did you mean `Look`? There are: Change, Look."),
        ("Chnage", "Did you mean `Change`? There are: Change, Look."),
        ("Browser", "there is no tool `Browser`. There are: Change, Look."),
    ],
)
def test_an_unknown_tool_gets_the_nearest_name(scene, workspace, name, said):
    (result,) = asyncio.run(Toolbox(scene.tools(), workspace).run_calls([ToolCall("x", name, {})]))
    assert result.envelope.error.code == "NOT_FOUND"
    assert said in result.envelope.text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('{"name": "a", ', "at line 1 column 15, of 14 characters"),
        ("[1, 2]", "they are a list"),
        ('"name"', "they are the text `name`"),
        ("[" * 100_000, "cannot be read"),
    ],
    ids=["cut off", "list", "text", "deep"],
)
def test_arguments_that_are_no_json_object_are_answered_with_the_place(scene, workspace, raw, said):
    calls = [ToolCall("x", "Change", {}, raw=raw), look("a")]
    wrong, right = asyncio.run(Toolbox(scene.tools(), workspace).run_calls(calls))
    assert wrong.envelope.error.code == "INVALID_PARAM"
    assert said in wrong.envelope.text
    assert right.envelope.text == "a"
    assert scene.notes == ["+a", "-a"]


def test_the_gate_is_asked_one_call_at_a_time_and_its_reason_reaches_the_model(scene, workspace):
    asked = []

    async def gate(call, tool):
        asked.append(f"?{call.id}")
        await asyncio.sleep(0)
        asked.append(f"!{call.id}")
        reason, hint = "the person said no: not on a Friday", "Ask again on Monday"
        return refusal(reason, hint) if call.id == "b" else None

    calls = [look("a"), look("b"), change("c")]
    results = asyncio.run(Toolbox(scene.tools(), workspace, gate=gate).run_calls(calls))
    assert asked == ["?a", "!a", "?b", "!b", "?c", "!c"]
    assert texts(results) == [
        "a",
        "ACCESS_DENIED: the person said no: not on a Friday. Ask again on Monday.",
        "c",
    ]
    assert "+b" not in scene.notes


def test_a_gate_that_fails_refuses(scene, workspace, caplog):
    async def gate(call, tool):
        raise KeyError("rules")

    (result,) = asyncio.run(Toolbox(scene.tools(), workspace, gate=gate).run_calls([change("a")]))
    assert result.envelope.error.code == "INTERNAL_ERROR"
    assert "whether Change may be called could not be decided: KeyError" in result.envelope.text
    assert scene.notes == []


def test_the_listener_hears_of_every_call(scene, workspace):
    heard = []
    calls = [look("a"), change("b"), ToolCall("x", "Nothing", {})]
    results = asyncio.run(Toolbox(scene.tools(), workspace).run_calls(calls, listener=heard.append))
    assert [type(news) for news in heard] == [
        CallStarted,
        CallFinished,
        CallStarted,
        CallFinished,
        CallFinished,
    ]
    assert [news.result for news in heard if isinstance(news, CallFinished)] == results
    assert all(result.envelope.stats["seconds"] >= 0 for result in results)


def test_a_listener_that_fails_costs_no_result(scene, workspace, caplog):
    def listener(news):
        raise BrokenPipeError("the terminal went away")

    results = asyncio.run(Toolbox(scene.tools(), workspace).run_calls([look("a")], listener=listener))
    assert texts(results) == ["a"]
    assert "a listener failed" in caplog.text


async def interrupt(toolbox, scene, calls, when, how, listener=None):
    """Run calls and interrupt them as soon as a note stands there."""
    stop = asyncio.Event()
    running = asyncio.create_task(toolbox.run_calls(calls, stop=stop, listener=listener))
    await scene.event(when).wait()
    if how == "stop":
        stop.set()
    else:
        running.cancel()
    await asyncio.wait({running})
    return running


@pytest.mark.parametrize("how", ["stop", "cancel"])
def test_when_interrupted_every_call_still_gets_its_result(scene, workspace, how):
    heard = []
    toolbox = Toolbox(scene.tools(), workspace)
    calls = [look("a"), change("b", waits="never"), change("c"), look("d")]
    running = asyncio.run(interrupt(toolbox, scene, calls, "+b", how, heard.append))
    finished = {news.call.id: news.result for news in heard if isinstance(news, CallFinished)}
    assert [news.call.id for news in heard if isinstance(news, CallFinished)] == ["a", "b", "c", "d"]
    assert scene.notes == ["+a", "-a", "+b", "xb"]
    assert finished["a"].envelope.text == "a"
    assert finished["b"].envelope.text == (
        "EXECUTION_ERROR: Change was interrupted before it ended; what it did is uncertain. "
        "Look at the state of things before you try again."
    )
    assert "was not started" in finished["c"].envelope.text
    assert "nothing was done" in finished["d"].envelope.text
    if how == "stop":
        assert running.result() == list(finished.values())
    else:
        assert running.cancelled()


def test_an_interrupted_look_changed_nothing(scene, workspace):
    toolbox = Toolbox(scene.tools(), workspace)
    calls = [look("a", waits="never"), look("b")]
    first, second = asyncio.run(interrupt(toolbox, scene, calls, "-b", "stop")).result()
    assert "nothing was changed" in first.envelope.text
    assert second.envelope.text == "b"


def test_an_interruption_while_a_person_is_asked_starts_nothing(scene, workspace):
    async def gate(call, tool):
        scene.note("asking")
        await asyncio.Event().wait()

    toolbox = Toolbox(scene.tools(), workspace, gate=gate)
    results = asyncio.run(interrupt(toolbox, scene, [change("a"), look("b")], "asking", "stop")).result()
    assert ["was not started" in text for text in texts(results)] == [True, True]


@pytest.mark.parametrize("how", ["stop", "cancel"])
@pytest.mark.parametrize("then", ["opens", "refuses", "fails", "hangs"])
def test_a_gate_that_hears_no_interruption_opens_to_nobody(scene, workspace, caplog, how, then):
    heard = []

    async def gate(call, tool):
        scene.note("asking")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if then == "fails":
                raise KeyError("rules") from None
            if then == "hangs":
                await scene.event("let go").wait()
        return refusal("no") if then == "refuses" else None

    async def scenario():
        settings = CallSettings(seconds_to_stop=0.05)
        toolbox = Toolbox(scene.tools(), workspace, gate=gate, settings=settings)
        running = await interrupt(toolbox, scene, [change("a"), look("b")], "asking", how, heard.append)
        scene.event("let go").set()
        return running

    running = asyncio.run(scenario())
    assert scene.notes == ["asking"]
    assert ["was not started" in news.result.envelope.text for news in heard] == [True, True]
    assert running.cancelled() == (how == "cancel")
    assert ("the gate before Change does not stop" in caplog.text) == (then == "hangs")


def test_a_gate_that_cancels_itself_refuses_that_call_alone(scene, workspace, caplog):
    async def gate(call, tool):
        if call.id == "a":
            raise asyncio.CancelledError

    calls = [change("a"), change("b")]
    first, second = asyncio.run(Toolbox(scene.tools(), workspace, gate=gate).run_calls(calls))
    assert first.envelope.error.code == "INTERNAL_ERROR"
    assert second.envelope.text == "b"


def test_a_call_that_ran_while_the_next_is_asked_about_keeps_its_result(scene, workspace):
    async def gate(call, tool):
        if call.id == "b":
            await scene.event("-a").wait()
            scene.note("asking")
            await asyncio.Event().wait()

    toolbox = Toolbox(scene.tools(), workspace, gate=gate)
    results = asyncio.run(interrupt(toolbox, scene, [look("a"), look("b")], "asking", "stop")).result()
    assert results[0].envelope.text == "a"
    assert "was not started" in results[1].envelope.text


def test_calls_with_one_id_have_a_result_each(scene, workspace):
    heard = []
    calls = [ToolCall("same", "Look", {"name": name}) for name in "abc"]
    calls.insert(1, ToolCall("same", "Change", {"name": "d", "fails": True}))
    logging.disable()
    try:
        results = asyncio.run(Toolbox(scene.tools(), workspace).run_calls(calls, listener=heard.append))
    finally:
        logging.disable(logging.NOTSET)
    assert [result.envelope.data.get("name") for result in results] == ["a", None, "b", "c"]
    assert "d broke" in results[1].envelope.text
    assert len([news for news in heard if isinstance(news, CallFinished)]) == 4


@pytest.mark.parametrize("how", ["stop", "cancel"])
def test_a_tool_that_will_not_stop_is_left_behind(scene, workspace, caplog, how):
    async def scenario():
        settings = CallSettings(seconds_to_stop=0.05)
        toolbox = Toolbox(scene.tools(), workspace, settings=settings)
        running = await interrupt(toolbox, scene, [change("a", stubborn=True), change("b")], "+a", how)
        scene.event("let go").set()
        return running

    running = asyncio.run(scenario())
    assert "does not stop and is left behind" in caplog.text
    assert scene.notes == ["+a", "xa"]
    if how == "stop":
        assert "was interrupted" in running.result()[0].envelope.text


def test_a_call_has_a_limit_in_time_which_a_setting_lifts(scene, workspace):
    settings = CallSettings(seconds=0.05, seconds_by_tool={"L*": 0.0})
    toolbox = Toolbox(scene.tools(), workspace, settings=settings)
    (result,) = asyncio.run(toolbox.run_calls([change("a", waits="never")]))
    assert result.envelope.text == (
        "TIMEOUT: Change was stopped: it did not end within 0.05 s. Ask for less at once."
    )
    assert scene.notes == ["+a", "xa"]
    assert settings.limit("Look") is None
    assert CallSettings().limit("Bash") is None
    assert CallSettings().limit("mcp__x__y") is None
    assert CallSettings().limit("Read") == 120.0


def test_an_interruption_while_a_call_is_being_stopped_is_not_lost(scene, workspace, caplog):
    async def scenario():
        settings = CallSettings(seconds=0.02, seconds_to_stop=0.3)
        toolbox = Toolbox(scene.tools(), workspace, settings=settings)
        calls = [change("a", stubborn=True), change("b")]
        running = await interrupt(toolbox, scene, calls, "a was asked to stop", "stop")
        scene.event("let go").set()
        return running.result()

    first, second = asyncio.run(scenario())
    assert first.envelope.error.code == "TIMEOUT"
    assert "was not started" in second.envelope.text
    assert "+b" not in scene.notes


def test_half_characters_never_reach_the_log(workspace):
    async def speak(step, workspace):
        data = {"deep": [{"ke\udc80y": step.name + "\ud800"}]}
        envelope = Envelope(status="success", text="a\udcffb", data=data, context={"path": "p\udcff"})
        return build_result(envelope, "shown \udcff")

    tool = TypedTool("Speak", Step, "Speaks.", speak)
    (result,) = asyncio.run(Toolbox([tool], workspace).run_calls([ToolCall("x", "Speak", {"name": "n"})]))
    msgspec.json.encode(result)
    assert result.parts == (Text("a?b"),)
    assert result.envelope.data == {"deep": [{"ke?y": "n?"}]}
    assert result.envelope.context == {"path": "p?"}


@pytest.mark.parametrize("where", ["name", "gate", "error", "fault"])
def test_half_characters_in_a_refusal_never_reach_the_log_either(workspace, where):
    async def gate(call, tool):
        return refusal("not \udcff") if where == "gate" else None

    async def speak(step, workspace):
        if where == "error":
            raise RuntimeError("broke at \udcff")
        fault = EnvelopeError("EXECUTION_ERROR", "no \udcff")
        return build_result(Envelope(status="error", text="no", error=fault), "no")

    tool = TypedTool("Speak", Step, "Speaks.", speak)
    call = ToolCall("x", "Sp\udcffeak" if where == "name" else "Speak", {"name": "n"})
    logging.disable()  # What pytest would catch of it has the half character too.
    try:
        (result,) = asyncio.run(Toolbox([tool], workspace, gate=gate).run_calls([call]))
    finally:
        logging.disable(logging.NOTSET)
    assert result.is_error
    msgspec.json.encode(result)


def test_two_tools_of_one_name_are_a_mistake(scene, workspace):
    with pytest.raises(AssertionError, match="two tools"):
        Toolbox([*scene.tools(), *scene.tools()], workspace)
