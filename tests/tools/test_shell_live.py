"""What a command prints while it runs, what stays of it after an interruption, and the end of background jobs."""

import asyncio
import time

import pytest

from holdfast.tools.call import JobEnded, LiveOutput, report_news
from holdfast.tools.shell.bash import LIVE_BYTES, bash_tool, live_output
from holdfast.tools.shell.bash_output import bash_output_tool, take_ended_jobs
from holdfast.tools.shell.command_output import CommandOutput
from holdfast.tools.shell.shell import LIVE_SECONDS, Shell, ShellLimits
from holdfast.tools.workspace import Workspace

WAITS = "; until [ -e go ]; do sleep 0.02; done; echo after"


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "root").mkdir()
    return Workspace([tmp_path / "root"])


@pytest.fixture
def shell():
    with Shell(limits=ShellLimits(text_bytes=100_000)) as shell:
        yield shell


def run(shell, workspace, command, told=lambda _: None, **more):
    """The result of a command, whose news `told` gets."""

    async def told_of():
        report_news.set(told)
        return (await bash_tool(shell).run({"command": command, **more}, workspace)).envelope

    return asyncio.run(told_of())


def grown(tmp_path, *chunks):
    output = CommandOutput(tmp_path, "b1", 1 << 40)
    for chunk in chunks:
        output.add(chunk)
    return live_output(output)


def test_output_is_told_while_the_command_runs(shell, workspace, tmp_path):
    told = []

    def listen(news):
        told.append(news)
        (tmp_path / "root" / "go").touch()

    # It ends only because its first line was told.
    result = run(shell, workspace, "echo before" + WAITS, listen)
    assert told[0] == LiveOutput("before\n", 1, 7)
    assert result.text == "Exit code: 0\nbefore\nafter"


@pytest.mark.slow
def test_a_flood_is_told_a_few_times_a_second_and_only_its_end(shell, workspace):
    told = []
    began = time.monotonic()
    run(shell, workspace, "head -c 300000000 /dev/zero | tr '\\0' 'y' | fold -w 99", told.append)
    took = time.monotonic() - began
    assert 0 < len(told) <= took / LIVE_SECONDS + 1
    assert all(len(news.text) <= LIVE_BYTES for news in told)
    assert told[-1].lines > told[-1].text.count("\n"), "the number is that of all lines"


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([b" 10%\r 20%\r", b" 30%"], " 30%"),
        ([b" 10%\r 20%\r"], " 20%"),
        ([b"\x1b[32mgreen\x1b[0m\n\x1b]0;title\x07x\n"], "green\nx\n"),
        ([b"done \x1b[3"], "done "),
        ([b"done \x1b]8;;http://x"], "done "),
        (["进度".encode()[:4]], "进"),
        ([b"\x07\x9b2J"], "\u2407\ufffd2J"),
    ],
    ids=[
        "bar",
        "bar that was just cleared",
        "colour",
        "half a colour",
        "half a link",
        "half a character",
        "c1",
    ],
)
def test_it_is_shown_as_a_terminal_would_show_it(tmp_path, chunks, text):
    assert grown(tmp_path, *chunks).text == text


def test_a_long_output_begins_with_a_whole_line_and_one_line_with_its_end(tmp_path):
    news = grown(tmp_path, b"".join(b"line %d\n" % n for n in range(20_000)))
    assert len(news.text) <= LIVE_BYTES
    assert all(line.startswith("line ") for line in news.text.split("\n")[:-1])
    assert (news.lines, news.size) == (20_000, 208_890)
    assert grown(tmp_path, b"x" * 100_000 + b"end").text.endswith("xend")


def test_what_was_printed_before_an_interruption_is_in_the_result(shell, workspace, tmp_path):
    async def interrupted(command):
        news = asyncio.Event()
        report_news.set(lambda _: news.set())
        work = asyncio.create_task(bash_tool(shell).run({"command": command}, workspace))
        await news.wait()
        work.cancel()
        return (await work).envelope

    envelope = asyncio.run(interrupted("echo so far; cat /dev/null >&2" + WAITS))
    assert envelope.text == "Exit code: 143 (interrupted before it ended, with all it started)\nso far"
    assert (envelope.status, envelope.data["stopped"]) == ("partial", "cancelled")
    # Of a large output the rest can still be read, and it is not searched first.
    envelope = asyncio.run(interrupted("seq -f 'error %g' 20000" + WAITS))
    assert "Here are the first and the last ones" in envelope.text
    assert envelope.text.endswith("error 20000")
    read = asyncio.run(bash_output_tool(shell).run({"id": "b2", "lines": "9999"}, workspace)).envelope
    assert "9999: error 9999" in read.text


def test_the_end_of_a_background_job_is_told_once_to_observers_and_to_the_model(shell, workspace, tmp_path):
    async def ended():
        news = asyncio.Queue()
        report_news.set(news.put_nowait)
        await bash_tool(shell).run({"command": "echo before" + WAITS, "run_in_background": True}, workspace)
        assert (len(shell.background), take_ended_jobs(shell)) == (1, [])
        (tmp_path / "root" / "go").touch()
        return await news.get()

    assert asyncio.run(ended()) == JobEnded("b1", "echo before" + WAITS, 0, "Exit code: 0, 2 lines, 13 bytes")
    assert shell.background == []
    (said,) = take_ended_jobs(shell)
    assert 'A background job has ended. Exit code: 0 of "b1"' in said
    assert take_ended_jobs(shell) == []


def test_an_end_that_the_model_has_read_is_not_told(shell, workspace):
    async def read():
        await bash_tool(shell).run({"command": "echo x", "run_in_background": True}, workspace)
        return (await bash_output_tool(shell).run({"id": "b1", "wait": 60}, workspace)).envelope

    assert asyncio.run(read()).data["exit_code"] == 0
    assert take_ended_jobs(shell) == []


def test_a_job_may_end_after_its_event_loop(shell, workspace, tmp_path):
    run(shell, workspace, "true" + WAITS, run_in_background=True)
    (tmp_path / "root" / "go").touch()
    shell.jobs["b1"].join(60)
    assert shell.jobs["b1"].ending.code == 0


def test_what_a_command_left_running_counts_as_in_the_background(shell, workspace, tmp_path):
    run(shell, workspace, f"(true{WAITS}) & echo started")
    assert [job.id for job in shell.background] == ["b1"]
    (tmp_path / "root" / "go").touch()
    shell.jobs["b1"].join(60)
    assert shell.background == []
