"""Telling writes to two pipes apart: what the system tells, and what follows when it does not."""

import subprocess
import sys
from mmap import PAGESIZE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.shell.write_order import SIGNAL, is_used, share_out

PAGE = b"p" * PAGESIZE


@pytest.mark.parametrize(
    ("packets", "count", "wanted"),
    [
        ([], 0, []),
        ([b"a", b"b"], 2, [[b"a"], [b"b"]]),
        ([PAGE, PAGE], 2, [[PAGE], [PAGE]]),
        ([PAGE, b"a"], 1, [[PAGE, b"a"]]),
        ([b"a", PAGE, PAGE, b"b"], 2, [[b"a"], [PAGE, PAGE, b"b"]]),
        ([PAGE, PAGE, PAGE, PAGE], 2, [[PAGE, PAGE], [PAGE, PAGE]]),
        ([PAGE, PAGE, b"a"], 2, [[PAGE], [PAGE, b"a"]]),
        ([b"a\nb\n"], 2, [[b"a\n"], [b"b\n"]]),
        ([b"a\nb\nc\n"], 2, [[b"a\nb\nc\n"]]),
        ([b"a", b"b"], 1, [[b"a"], [b"b"]]),
    ],
)
def test_each_write_gets_what_it_wrote(packets, count, wanted):
    assert share_out(packets, count) == wanted


@given(packets=st.lists(st.sampled_from([b"a", b"a\nb\n", b"\n", PAGE])), count=st.integers(-1, 12))
def test_nothing_is_lost_or_moved_within_a_stream(packets, count):
    shares = share_out(packets, count)
    assert b"".join(packet for share in shares for packet in share) == b"".join(packets)


HOST = """
import asyncio, resource, signal, sys, threading
from holdfast.tools.shell.shell import Shell
from holdfast.tools.shell.write_order import SIGNAL, is_used
from holdfast.tools.workspace import Workspace

{setup}
command = "for i in {{1..300}}; do echo o$i; echo e$i >&2; done"
with Shell() as shell:
    job = shell.start(command, Workspace([sys.argv[1]]))
    job.ended.result(60)
    job.join(60)
    lines = job.output.read().decode().split()
for stream in "oe":
    assert [one for one in lines if one[0] == stream] == [f"{{stream}}{{n}}" for n in range(1, 301)]
is_in_order = lines == [f"{{stream}}{{n}}" for n in range(1, 301) for stream in "oe"]
{check}
"""


def run_host(folder, setup, check):
    """What a program of its own prints that runs a command: it could be killed by a signal."""
    program = HOST.format(setup=setup, check=check)
    ended = subprocess.run(
        [sys.executable, "-c", program, folder], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.strip()


@pytest.mark.parametrize("most", [0, 1, 5, 100])
def test_no_byte_is_lost_if_the_system_keeps_few_signals(tmp_path, most):
    run_host(tmp_path, f"resource.setrlimit(resource.RLIMIT_SIGPENDING, ({most}, {most}))", "")


def test_a_program_that_uses_the_signal_keeps_it(tmp_path):
    setup = """
seen = []
signal.signal(SIGNAL, lambda number, frame: seen.append(number))
signal.signal(signal.SIGIO, lambda number, frame: seen.append(number))
assert is_used(SIGNAL)
"""
    run_host(tmp_path, setup, "assert not seen")


def test_other_threads_have_no_signal_blocked_and_get_none(tmp_path):
    setup = """
seen, masks, may_end = [], [], threading.Event()
signal.signal(signal.SIGIO, lambda number, frame: seen.append(number))

def look():
    may_end.wait(60)
    masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))

thread = threading.Thread(target=look)
thread.start()
"""
    check = """
may_end.set()
thread.join(60)
assert masks == [set()] and not signal.pthread_sigmask(signal.SIG_BLOCK, []) and not signal.sigpending()
assert not seen
signal.raise_signal(signal.SIGIO)
assert seen == [signal.SIGIO]
print(is_in_order)
"""
    # On a busy machine the watching may end early, and the signals with it.
    assert any(run_host(tmp_path, setup, check) == "True" for _ in range(10))


def test_a_program_that_waits_for_the_signal_elsewhere_keeps_it(tmp_path):
    setup = "signal.pthread_sigmask(signal.SIG_BLOCK, [SIGNAL])"
    check = """
signal.raise_signal(SIGNAL)
assert signal.sigwait([SIGNAL]) == SIGNAL
"""
    run_host(tmp_path, setup, check)


def test_the_signal_is_free_here():
    assert not is_used(SIGNAL)
