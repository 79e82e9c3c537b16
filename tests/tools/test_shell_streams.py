"""The two streams of a command: one text in the order of writing, and which of its lines are stderr."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.command_output import MOST_RANGES, STDERR_LINES, CommandOutput
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.workspace import Workspace
from support.sandboxes import sandbox_or_skip
from support.stream_writer import prepare_writes, stderr_lines


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def shell():
    with Shell(limits=ShellLimits(text_bytes=20_000)) as shell:
        yield shell


def run(shell, root, command, **arguments):
    return asyncio.run(bash_tool(shell).run({"command": command, **arguments}, Workspace([root]))).envelope


def told(envelope):
    """The lines of a result that are said to be stderr."""
    lines = envelope.text.split("\n")
    return [lines[n - 1] for first, last in envelope.data["stderr"] for n in range(first, last + 1)]


IN_TURNS = [(1 + n % 2, f"{'err' if n % 2 else 'out'} {n}\n") for n in range(8)]


@pytest.mark.parametrize("kind", ["off", "bubblewrap", "landlock"])
def test_both_streams_come_in_the_order_of_writing_and_stderr_is_known(root, kind):
    command = prepare_writes(root, IN_TURNS)
    sandbox = None if kind == "off" else sandbox_or_skip(kind)
    with Shell(sandbox=sandbox) as shell:
        envelope = run(shell, root, command)
    assert envelope.text == "Exit code: 0\n" + "".join(text for _, text in IN_TURNS).rstrip("\n")
    assert told(envelope) == ["err 1", "err 3", "err 5", "err 7"]


WRITES = st.lists(st.tuples(st.integers(1, 2), st.text("ab\n", min_size=1, max_size=6)), max_size=12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(writes=WRITES)
def test_any_writes_are_one_text_whose_stderr_lines_are_known(shell, root, writes):
    envelope = run(shell, root, prepare_writes(root, writes))
    text = "".join(text for _, text in writes)
    shown = text.removesuffix("\n")
    assert envelope.text == f"Exit code: 0\n{shown or '(no output)'}"
    marked = [n - 1 for first, last in envelope.data["stderr"] for n in range(first, last + 1)]
    assert marked == (stderr_lines(writes) if shown else [])


@given(writes=WRITES)
def test_pieces_of_lines_are_marked_as_they_come(tmp_path_factory, writes):
    output = CommandOutput(tmp_path_factory.getbasetemp(), "b1", 1 << 40)
    try:
        for stream, text in writes:
            output.add(text.encode(), is_stderr=stream == 2)
        assert [n for first, last in output.stderr for n in range(first, last + 1)] == stderr_lines(writes)
    finally:
        output.remove()


def test_of_two_writes_at_once_the_first_comes_first(shell, root):
    """Both are there when the output is read: the order in which the pipes became ready decides."""
    for _ in range(10):
        assert run(shell, root, "echo e >&2; echo o").text == "Exit code: 0\ne\no"
        assert run(shell, root, "echo o; echo e >&2").text == "Exit code: 0\no\ne"


def test_stderr_after_much_stdout_stays_behind_it(shell, root):
    envelope = run(shell, root, "seq 1 100000; echo e >&2")
    assert envelope.text.endswith("\n100000\ne")
    assert told(envelope) == ["e"]


def test_lines_above_the_output_are_not_stderr(shell, root):
    envelope = run(shell, root, "mkdir sub; cd sub; echo gone >&2; echo here; exit 3")
    assert envelope.text == "Exit code: 3\nWorking directory: sub\ngone\nhere"
    assert envelope.data["stderr"] == [[3, 3]]


@pytest.mark.parametrize("command", ["true", "echo", "echo >&2"])
def test_no_output_has_no_stderr(shell, root, command):
    envelope = run(shell, root, command)
    assert (envelope.text, envelope.data["stderr"]) == ("Exit code: 0\n(no output)", [])


def test_one_stream_is_shown_alike_whichever_it_is(root):
    for command in (
        "seq 1 50",
        "seq 1 9000",
        "for i in $(seq 60); do head -c 3000 /dev/zero | tr '\\0' x; echo; done",
    ):
        texts = []
        for stream in ("", " >&2"):
            with Shell(limits=ShellLimits(text_bytes=20_000)) as shell:
                texts.append(run(shell, root, f"{{ {command}; }}{stream}").text)
        assert texts[0] == texts[1]


def test_an_excerpt_has_the_last_lines_of_stderr(shell, root):
    """They are neither among the first lines nor among the last."""
    writes = [(1, "".join(f"early {n}\n" for n in range(100)))]
    writes += [(2, f"warning {n}\n") for n in range(100)]
    writes += [(1, "".join(f"late {n}\n" for n in range(5_000)))]
    envelope = run(shell, root, prepare_writes(root, writes))
    lines = envelope.text.split("\n")
    assert f"--- stderr, {STDERR_LINES} of its last lines:" in lines
    assert told(envelope) == [f"{n + 101}: warning {n}" for n in range(100 - STDERR_LINES, 100)]
    assert lines[-1] == "late 4999"


def test_long_lines_of_stderr_take_a_part_of_an_excerpt_only(shell, root):
    writes = [(1, "early\n" * 100), (2, ("x" * 5_000 + "\n") * 50), (1, "late\n" * 5_000)]
    envelope = run(shell, root, prepare_writes(root, writes))
    assert 5 <= len(told(envelope)) <= 10


def test_a_job_in_the_background_has_both_streams(shell, root):
    run(shell, root, prepare_writes(root, IN_TURNS), run_in_background=True)
    page = asyncio.run(bash_output_tool(shell).run({"id": "b1", "wait": 60}, Workspace([root]))).envelope
    assert page.text.split("\n")[1:-1] == [f"{n}: {text[:-1]}" for n, (_, text) in enumerate(IN_TURNS, 1)]


def test_the_newest_of_very_many_runs_are_remembered(tmp_path):
    output = CommandOutput(tmp_path, "b1", 1 << 40)
    for n in range(2 * MOST_RANGES + 10):
        output.add(b"line\n", is_stderr=n % 2 == 1)
    assert len(output.stderr) == MOST_RANGES
    assert output.stderr[-1] == (2 * MOST_RANGES + 10,) * 2
    output.remove()
