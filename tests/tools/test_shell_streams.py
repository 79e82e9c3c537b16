"""The two streams of a command: one text in the order of writing, and which of its lines are stderr."""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.tools.shell import write_order
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.command_output import MOST_RANGES, STDERR_LINES, CommandOutput
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.shell.write_order import MOST_WRITES
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


PRESSURE = Path("/proc/pressure/cpu")
MOST_WAITED = 1_000
"""Microseconds for which a program may have waited for a processor while nothing is lost by it."""


def waited():
    """Microseconds so far in which some program here waited for a processor; None where nobody counts."""
    try:
        return int(re.search(r"some .*total=(\d+)", PRESSURE.read_text())[1])
    except OSError:
        return None


def mostly_in_order(shell, root, command, wanted, times=10):
    """The results in which everything stands in the order of writing: at least a quarter of all, and where no
    program waited for a processor, all but one. On a busy machine, a writer may be stopped between a write and its
    signal, and the watching of a command may end early."""
    in_order, calm = [], []
    for _ in range(times):
        before = waited()
        envelope = run(shell, root, command)
        assert sorted(envelope.text) == sorted(wanted)
        is_in_order = envelope.text == wanted
        if is_in_order:
            in_order.append(envelope)
        if before is not None and waited() - before <= MOST_WAITED:
            calm.append(is_in_order)
    assert 4 * len(in_order) >= times
    assert calm.count(False) <= 1
    return in_order


IN_TURNS = [(1 + n % 2, f"{'err' if n % 2 else 'out'} {n}\n") for n in range(8)]


@pytest.mark.parametrize("kind", ["off", "bubblewrap", "landlock"])
def test_both_streams_come_in_the_order_of_writing_and_stderr_is_known(root, kind):
    command = prepare_writes(root, IN_TURNS)
    sandbox = None if kind == "off" else sandbox_or_skip(kind)
    wanted = "Exit code: 0\n" + "".join(text for _, text in IN_TURNS).rstrip("\n")
    with Shell(sandbox=sandbox) as shell:
        for envelope in mostly_in_order(shell, root, command, wanted, times=3):
            assert told(envelope) == ["err 1", "err 3", "err 5", "err 7"]


WRITES = st.lists(st.tuples(st.integers(1, 2), st.text("ab\n", min_size=1, max_size=6)), max_size=12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(writes=WRITES)
def test_any_writes_are_one_text_whose_stderr_lines_are_known(shell, root, writes):
    text = "".join(text for _, text in writes)
    shown = text.removesuffix("\n")
    command, wanted = prepare_writes(root, writes), f"Exit code: 0\n{shown or '(no output)'}"
    for envelope in mostly_in_order(shell, root, command, wanted, times=2):
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


TURNS = "for i in {1..20}; do echo o$i; echo e$i >&2; done"
IN_ORDER = "".join(f"\no{n}\ne{n}" for n in range(1, 21))


@pytest.fixture
def busy():
    """Two programs that compute without end."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for program in running:
        program.kill()
        program.wait()


@pytest.mark.parametrize(("kind", "times"), [("off", 30), ("bubblewrap", 10), ("landlock", 10)])
def test_the_order_is_that_of_the_writing_however_fast(root, kind, times):
    sandbox = None if kind == "off" else sandbox_or_skip(kind)
    with Shell(sandbox=sandbox) as shell:
        for envelope in mostly_in_order(shell, root, TURNS, f"Exit code: 0{IN_ORDER}", times):
            assert told(envelope) == [f"e{n}" for n in range(1, 21)]


@pytest.mark.slow
@pytest.mark.usefixtures("busy")
def test_the_order_is_that_of_the_writing_on_a_busy_machine(shell, root):
    mostly_in_order(shell, root, TURNS, f"Exit code: 0{IN_ORDER}", times=30)


@pytest.mark.slow
def test_the_order_is_kept_when_the_command_is_far_ahead(root, monkeypatch):
    """The pipes are full at times: each holds 256 writes. On a busy machine they take more than a second."""
    monkeypatch.setattr(write_order, "MOST_SECONDS", 60.0)
    wanted = "".join(f"\no{n}\ne{n}" for n in range(1, 3001))
    with Shell() as shell:
        mostly_in_order(shell, root, TURNS.replace("20", "3000"), f"Exit code: 0{wanted}")


def test_the_trace_of_a_script_stands_before_what_it_prints(shell, root):
    wanted = "Exit code: 0" + "".join(f"\n++ for i in 1 2 3\n++ echo {n}\n{n}" for n in (1, 2, 3))
    mostly_in_order(shell, root, "set -x; for i in 1 2 3; do echo $i; done", wanted)


def test_streams_that_a_command_reopens_are_in_order(shell, root):
    command = "echo a; echo b > /dev/stderr; echo c > /dev/stdout; echo d > /dev/stderr; echo e"
    for envelope in mostly_in_order(shell, root, command, "Exit code: 0\na\nb\nc\nd\ne"):
        assert told(envelope) == ["b", "d"]


@pytest.mark.parametrize("size", [2, 100, 4096, 8192, 10_000, 100_000])
def test_writes_of_any_size_are_in_order(root, size):
    program = f"import os\nfor n in range(6): os.write(1 + n % 2, b'oe'[n % 2:][:1] * {size - 1} + b'\\n')\n"
    (root / "blocks.py").write_text(program, encoding="ascii")
    with Shell() as shell:
        wanted = "Exit code: 0" + "".join(f"\n{stream * (size - 1)}" for stream in "oe" * 3)
        for envelope in mostly_in_order(shell, root, "python3 blocks.py", wanted, times=5):
            assert envelope.data["stderr"] == [[3, 3], [5, 5], [7, 7]]


def test_programs_that_write_pages_are_in_order(root):
    with Shell() as shell:
        wanted = [*range(1, 9001), "a", *range(1, 3001), "b", *range(1, 6)]
        text = "\n".join(["Exit code: 0", *map(str, wanted)])
        command = "seq 9000; echo a >&2; seq 3000; echo b >&2; seq 5"
        for envelope in mostly_in_order(shell, root, command, text):
            assert told(envelope) == ["a", "b"]


def test_commands_at_once_are_each_in_order(root):
    """On a busy machine the watching of a command may end early, so not every try need be in order."""

    def are_in_order() -> bool:
        with Shell() as shell:
            jobs = [shell.start(TURNS, Workspace([root])) for _ in range(8)]
            for job in jobs:
                job.ended.result(60)
                job.join(60)
            texts = [job.output.read().decode() for job in jobs]
        assert all(sorted(text.split()) == sorted(IN_ORDER.split()) for text in texts)
        return texts == [IN_ORDER[1:] + "\n"] * 8

    assert any(are_in_order() for _ in range(10))


def test_more_than_is_watched_is_kept_with_its_streams(shell, root):
    """Beyond the limit the order is that of arrival."""
    run(shell, root, f"for i in {{1..{MOST_WRITES}}}; do echo o$i; echo e$i >&2; done")
    output = shell.jobs["b1"].output
    lines = output.read().decode().split()
    for stream in "oe":
        of_stream = [f"{stream}{n}" for n in range(1, MOST_WRITES + 1)]
        assert [line for line in lines if line.startswith(stream)] == of_stream
    assert lines[:2000] == [f"{stream}{n}" for n in range(1, 1001) for stream in "oe"]
    last = [lines[n - 1] for first, last in output.stderr for n in range(first, last + 1)]
    assert all(line.startswith("e") for line in last)


def signals(status):
    """The masks of signals that are pending, blocked and ignored. Python ignores two for itself only."""
    masks = re.findall(r"^Sig(?:Pnd|Blk|Ign):\s*([0-9a-f]{16})$", status, re.MULTILINE)
    own = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    return [int(mask, 16) & ~own for mask in masks]


def test_a_command_has_no_signal_blocked_or_ignored(shell, root):
    """But for those that the program itself was started with."""
    found = signals(run(shell, root, "cat /proc/self/status").text)
    assert found == [0, 0, signals(Path("/proc/self/status").read_text())[2]]


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
    run(shell, root, TURNS, run_in_background=True)
    page = asyncio.run(bash_output_tool(shell).run({"id": "b1", "wait": 60}, Workspace([root]))).envelope
    assert page.text.split("\n")[1:-1] == [
        f"{n}: {text}" for n, text in enumerate(IN_ORDER[1:].split("\n"), 1)
    ]


def test_the_newest_of_very_many_runs_are_remembered(tmp_path):
    output = CommandOutput(tmp_path, "b1", 1 << 40)
    for n in range(2 * MOST_RANGES + 10):
        output.add(b"line\n", is_stderr=n % 2 == 1)
    assert len(output.stderr) == MOST_RANGES
    assert output.stderr[-1] == (2 * MOST_RANGES + 10,) * 2
    output.remove()
