"""The circuit breaker: which failures count, and how a tool comes back."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from holdfast.messages import ToolCall
from holdfast.tools.breaker import Breaker, BreakerRules
from holdfast.tools.call import CallSettings
from holdfast.tools.envelope import Envelope, ToolError, build_result
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.tool import TypedTool
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

RULES = BreakerRules(failures=3, pause=60.0)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Asked(Struct, forbid_unknown_fields=True):
    how: str


async def behave(arguments, workspace):
    match arguments.how:
        case "crash":
            raise ZeroDivisionError("division\nby zero")
        case "hang":
            await asyncio.sleep(60)
        case "refuse":
            raise ToolError("NOT_FOUND", "it is not there")
        case "time out by itself":
            raise ToolError("TIMEOUT", "the command took longer than the model allowed")
    return build_result(Envelope(status="success", text="done"), "done")


TOOL = TypedTool("Odd", Asked, "Does odd things.", behave)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def toolbox(tmp_path, clock):
    settings = CallSettings(seconds_by_tool={"Odd": 0.05}, breaker=RULES)
    return Toolbox([TOOL, ls_tool()], Workspace([tmp_path]), settings=settings, clock=clock)


def ask(toolbox, *hows):
    calls = [ToolCall(str(n), "Odd", {"how": how}) for n, how in enumerate(hows)]
    return [code(result) for result in asyncio.run(toolbox.run_calls(calls))]


def code(result):
    return result.envelope.error.code if result.envelope.error else "fine"


def test_fault_07_three_mistyped_paths_do_not_disable_a_tool(tmp_path, clock):
    toolbox = Toolbox([ls_tool()], Workspace([tmp_path]), clock=clock)
    wrong = [{"path": "nowhere"}, {"path": "../.."}, {"paht": "."}, {"path": "no/where"}, {"depth": "x"}]
    calls = [ToolCall(str(n), "LS", arguments) for n, arguments in enumerate(wrong * 3)]
    results = asyncio.run(toolbox.run_calls(calls))
    assert {code(result) for result in results} == {"NOT_FOUND", "ACCESS_DENIED", "INVALID_PARAM"}
    (right,) = asyncio.run(toolbox.run_calls([ToolCall("r", "LS", {})]))
    assert code(right) == "fine"


def test_three_crashes_in_a_row_open_the_circuit_and_the_model_is_told(toolbox, clock):
    assert ask(toolbox, "crash", "crash", "crash") == ["INTERNAL_ERROR"] * 3
    clock.now += 17
    (result,) = asyncio.run(toolbox.run_calls([ToolCall("c", "Odd", {"how": "work"})]))
    assert result.envelope.text == (
        "CIRCUIT_OPEN: Odd failed 3 times in a row, the last time 17 s ago (ZeroDivisionError: division by zero) "
        "and is not called for now; it is tried again in 43 s. Until then find another way."
    )


def test_calls_that_never_end_count_and_the_time_that_a_model_set_does_not(toolbox):
    assert ask(toolbox, *["time out by itself"] * 4, "work") == ["TIMEOUT"] * 4 + ["fine"]
    assert ask(toolbox, *["hang"] * 3, "work") == ["TIMEOUT"] * 3 + ["CIRCUIT_OPEN"]


def test_a_success_between_failures_resets_the_count(toolbox):
    assert "CIRCUIT_OPEN" not in ask(toolbox, "crash", "crash", "work", "crash", "crash", "refuse", "crash")


def test_wrong_arguments_between_failures_say_nothing_about_the_tool(toolbox):
    ask(toolbox, "crash", "crash")
    asyncio.run(toolbox.run_calls([ToolCall("c", "Odd", {"what": 1})]))
    assert ask(toolbox, "crash", "work") == ["INTERNAL_ERROR", "CIRCUIT_OPEN"]


def test_after_the_pause_one_call_is_let_through_and_decides(toolbox, clock):
    ask(toolbox, *["crash"] * 3)
    clock.now += 60
    assert ask(toolbox, "crash", "work") == ["INTERNAL_ERROR", "CIRCUIT_OPEN"]
    clock.now += 60
    assert ask(toolbox, "work", "work", "crash", "crash", "work") == [
        "fine",
        "fine",
        "INTERNAL_ERROR",
        "INTERNAL_ERROR",
        "fine",
    ]


def test_half_open_lets_only_one_of_several_calls_through(tmp_path, clock):
    beside = TypedTool("Odd", Asked, "Does odd things.", behave, is_read_only=True)
    toolbox = Toolbox([beside], Workspace([tmp_path]), clock=clock)
    ask(toolbox, *["crash"] * 3)
    clock.now += 61
    assert ask(toolbox, "work", "work", "work") == ["fine", "CIRCUIT_OPEN", "CIRCUIT_OPEN"]


def test_one_circuit_open_leaves_the_other_tools_alone(toolbox):
    ask(toolbox, *["crash"] * 3)
    (result,) = asyncio.run(toolbox.run_calls([ToolCall("c", "LS", {})]))
    assert code(result) == "fine"


def test_what_to_use_instead_is_named_only_if_it_is_there(tmp_path, clock):
    crashing = [TypedTool(name, Asked, "Crashes.", behave) for name in ("Read", "Bash")]
    for tools, hint in (
        (crashing, "Until then use Bash with `sed -n`."),
        (crashing[:1], "find another way."),
    ):
        toolbox = Toolbox(tools, Workspace([tmp_path]), clock=clock)
        calls = [ToolCall(str(n), "Read", {"how": "crash"}) for n in range(4)]
        assert asyncio.run(toolbox.run_calls(calls))[-1].envelope.text.endswith(hint)


@given(st.lists(st.tuples(st.sampled_from(["worked", "failed", "left"]), st.floats(0, 100)), max_size=40))
def test_a_breaker_never_refuses_for_longer_than_its_pause(history):
    breaker, now, row = Breaker(), 0.0, 0
    for what, later in history:
        now += later
        if breaker.state(now, RULES) == "open":
            with pytest.raises(ToolError, match="is not called for now"):
                breaker.admit(now, RULES, "It")
            assert row >= RULES.failures
            assert now < breaker.failed_at + RULES.pause
            continue
        breaker = breaker.admit(now, RULES, "It")
        if what == "worked":
            breaker, row = breaker.worked(), 0
        elif what == "failed":
            breaker, row = breaker.failed(now, "x"), row + 1
        else:
            breaker = breaker.released()
        assert (breaker.state(now, RULES) == "closed") == (row < RULES.failures)
