"""Outputs: files that are indexed by line, read page by page, and shown as a person would have seen them."""

import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compaction.facts.call_results import exit_code
from holdfast.messages import ToolCall
from holdfast.packing.profile import CODE
from holdfast.packing.rendering.digests import choose_lines
from holdfast.tool_use import recognize_tool
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import PAGE_LINES, bash_output_tool
from holdfast.tools.shell.command_output import (
    LONGEST_LINE,
    STRIDE,
    WINDOW,
    CommandOutput,
    clean_line,
    clean_output,
    format_size,
)
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "root").mkdir()
    return Workspace([tmp_path / "root"])


@pytest.fixture
def shell():
    with Shell(limits=ShellLimits(text_bytes=20_000)) as shell:
        yield shell


def run(shell, workspace, command, **arguments):
    return asyncio.run(bash_tool(shell).run({"command": command, **arguments}, workspace)).envelope


def read(shell, workspace, **arguments):
    return asyncio.run(bash_output_tool(shell).run(arguments, workspace)).envelope


def filled(tmp_path, data, *, step=70_000, most=1 << 40):
    output = CommandOutput(tmp_path, "b1", most)
    for start in range(0, len(data), step):
        output.add(data[start : start + step])
    return output


# --- Fault 8: one line of 228 907 characters that no page reached the end of, and spills that overwrote each other


def test_fault_8_every_page_of_a_spilled_line_can_be_read_to_its_end(shell, workspace, tmp_path):
    line = json.dumps({"items": ["价值 " + "x" * 90] * 2308})[:228_900] + '"the end'
    (tmp_path / "root" / "one.json").write_text(line, "utf-8")
    envelope = run(shell, workspace, "cat one.json")
    assert f"[cut: the line has {len(line.encode())} bytes]" in envelope.text
    name, pages, asked = envelope.data["output"], [], "0-"
    while asked:
        page = read(shell, workspace, id=name, bytes=asked)
        pages.append("\n".join(page.text.split("\n")[1:-1]))
        going_on = re.search(r'continue with `bytes` "(\d+-)"', page.text)
        asked = going_on[1] if going_on else ""
    assert "".join(pages) == line


def test_fault_8_paging_by_lines_reaches_the_very_end(shell, workspace):
    envelope = run(shell, workspace, "for i in $(seq 1 3000); do echo line $i; done; printf 'no end'")
    assert envelope.data["lines"] == 3001
    seen, asked = [], "1-"
    while asked:
        page = read(shell, workspace, id="b1", lines=asked)
        seen += page.text.split("\n")[1:-1]
        going_on = re.search(r'continue with `lines` "(\d+-)"', page.text)
        asked = going_on[1] if going_on else ""
    assert seen == [*(f"{n}: line {n}" for n in range(1, 3001)), "3001: no end"]


@pytest.mark.slow
def test_fault_8_spills_at_the_same_time_have_files_of_their_own(workspace):
    async def many():
        shells = [Shell(limits=ShellLimits(text_bytes=1000)) for _ in range(4)]
        try:
            tools = [bash_tool(shell) for shell in shells]
            calls = [
                tool.run({"command": f"for i in $(seq 500); do echo {n} $i; done"}, workspace)
                for n, tool in enumerate(tools)
            ]
            await asyncio.gather(*calls)
            again = [await tool.run({"command": "seq 500"}, workspace) for tool in tools]
            assert all(result.envelope.status == "partial" for result in again)
            jobs = [job for shell in shells for job in shell.jobs.values()]
            assert len({job.output.path for job in jobs}) == len({job.output.path.name for job in jobs}) == 8
            for number, shell in enumerate(shells):
                wanted = "".join(f"{number} {i}\n" for i in range(1, 501))
                assert shell.jobs["b1"].output.path.read_text() == wanted
        finally:
            for shell in shells:
                shell.close()

    asyncio.run(many())


# --- Large outputs


def test_a_large_output_shows_failures_beginning_and_end_with_true_counts(shell, workspace):
    command = (
        "for i in $(seq 1 5000); do case $i in 2500) echo 'src/a.c:7: error: boom';; "
        "2600) echo 'found 0 errors';; *) echo line $i;; esac; done; exit 2"
    )
    envelope = run(shell, workspace, command)
    assert envelope.status == "partial"
    lines = envelope.text.split("\n")
    assert lines[0] == "Exit code: 2"
    assert lines[1].startswith("(The output has 5000 lines, ")
    assert '`id` "b1"' in lines[1]
    assert lines[2:4] == [
        "--- lines that tell of failures, 1:",
        "2500: src/a.c:7: error: boom",
    ]
    assert lines[4:6] == ["--- lines 1-60 of 5000:", "line 1"]
    assert lines[-1] == "line 5000"
    assert "--- lines 4701-5000 of 5000:" in lines
    assert envelope.data["truncated"]
    assert (envelope.data["lines"], envelope.data["bytes"]) == (5000, shell.jobs["b1"].output.size)
    assert exit_code(envelope.text) == 2
    use = recognize_tool(ToolCall("c", "Bash", {"command": command}))
    kept = [lines[n] for n in choose_lines(use, lines, CODE)]
    assert {"Exit code: 2", "2500: src/a.c:7: error: boom", "line 5000"} <= set(kept)


def test_twenty_megabytes_are_kept_whole_and_shown_in_part(workspace):
    with Shell() as shell:
        envelope = run(shell, workspace, "seq 1 2600000", timeout=60)
        assert envelope.data["lines"] == 2_600_000
        assert envelope.data["bytes"] == 19_688_896
        assert len(envelope.text) < 60_000
        assert envelope.text.endswith("\n2600000")
        page = read(shell, workspace, id="b1", lines="1299999-1300001")
        assert page.text.split("\n")[1:4] == ["1299999: 1299999", "1300000: 1300000", "1300001: 1300001"]
        found = read(shell, workspace, id="b1", grep="^25999.9$")
        assert found.text.split("\n")[1] == "2599909: 2599909"
        assert found.data["total_matches"] == 10
        assert read(shell, workspace, id="b1", lines="-1").text.split("\n")[1] == "2600000: 2600000"


def test_up_to_the_limit_all_of_it_stands_in_the_result(workspace):
    with Shell(limits=ShellLimits(text_bytes=1000)) as shell:
        whole = run(shell, workspace, "head -c 1000 /dev/zero | tr '\\0' x")
        assert whole.text == "Exit code: 0\n" + "x" * 1000
        assert whole.status == "success"
        assert shell.jobs == {}
        assert run(shell, workspace, "head -c 1001 /dev/zero | tr '\\0' x").status == "partial"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"lines": "x"}, "`lines` of BashOutput is not a range: `x`"),
        ({"bytes": "1-2-3"}, "`bytes` of BashOutput is not a range"),
        ({"lines": "1-2", "grep": "x"}, "`lines` and `grep` of BashOutput exclude each other"),
        ({"grep": "("}, "`grep` is not a valid regular expression"),
    ],
    ids=["lines", "bytes", "two", "pattern"],
)
def test_a_question_that_makes_no_sense_is_said(shell, workspace, arguments, sentence):
    run(shell, workspace, "seq 9000")
    envelope = read(shell, workspace, id="b1", **arguments)
    assert envelope.error is not None
    assert envelope.error.code == "INVALID_PARAM"
    assert sentence in envelope.text


def test_lines_beyond_the_end_are_none(shell, workspace):
    run(shell, workspace, "seq 9000")
    assert read(shell, workspace, id="b1", lines="9001-").text.endswith("(there are 9000 lines)")
    assert len(read(shell, workspace, id="b1", lines="1-9000").text.split("\n")) == PAGE_LINES + 2


# --- The file and its index

LINES = st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=60)


@given(lines=LINES, is_ended=st.booleans(), step=st.integers(1, 50), first=st.integers(1, 70))
def test_lines_are_read_as_they_were_written(tmp_path_factory, lines, is_ended, step, first):
    data = b"\n".join(lines) + (b"\n" if is_ended and lines else b"")
    wanted = data.split(b"\n")
    wanted = wanted[:-1] if wanted[-1] == b"" else wanted
    output = filled(tmp_path_factory.getbasetemp(), data, step=step)
    try:
        assert output.read() == data
        assert output.lines == len(wanted)
        found = list(output.read_lines(first, 10))
        assert [line.number for line in found] == list(range(first, len(wanted) + 1))
        assert [line.start for line in found] == [line[:10] for line in wanted[first - 1 :]]
        assert [line.size for line in found] == [len(line) for line in wanted[first - 1 :]]
        assert [data[line.offset :][: line.size] for line in found] == wanted[first - 1 :]
    finally:
        output.remove()


def test_lines_longer_than_every_window_have_their_numbers(tmp_path):
    sizes = [5, 3 * STRIDE, 0, WINDOW, WINDOW - 1, WINDOW + 1, 2 * STRIDE, 7]
    data = b"\n".join(bytes([97 + n]) * size for n, size in enumerate(sizes))
    output = filled(tmp_path, data)
    assert output.lines == len(sizes)
    for first in range(1, len(sizes) + 1):
        found = list(output.read_lines(first, 4))
        assert [line.size for line in found] == sizes[first - 1 :]
        assert all(line.start == bytes([96 + line.number]) * min(4, line.size) for line in found)
    output.remove()


def test_an_output_beyond_its_limit_says_so_and_keeps_what_it_has(tmp_path):
    output = filled(tmp_path, b"12345\n" * 10, step=7, most=20)
    assert output.read() == (b"12345\n" * 4)[:20]
    assert output.trouble == "the limit of 20 bytes was reached"
    assert output.lines == 4
    output.remove()
    assert not output.path.exists()


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (2 * 10**9, "2.0 GB"),
    ],
    ids=str,
)
def test_sizes_in_words(size, words):
    assert format_size(size) == words


# --- What is shown


@given(st.binary(max_size=200) | st.text("\x1b[]0;m\\P\r\n\x08\x07ab\x9b", max_size=60).map(str.encode))
def test_what_is_shown_holds_no_control_characters_and_as_many_lines(data):
    shown = clean_output(data)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert shown.count("\n") == data.count(b"\n")
    assert clean_output(shown.encode()) == shown


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=100))
def test_plain_text_is_shown_as_it_is(text):
    assert clean_output(text.encode()) == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPbinary without an end", "binary without an end"),
        (b"\x1b[2K\x1b[1Gdone", "done"),
        (b"a\x1b", "a␛"),
        (b"1%\r2%\r3%", "3%"),
        (b"dos\r\nlines\r\n", "dos\nlines\n"),
        (b"N\x08NA\x08AME", "NAME"),
        ("价值 ✓ é".encode(), "价值 ✓ é"),
        (b"\xe4\xbb half", "\ufffd half"),
    ],
    ids=range(11),
)
def test_a_terminals_bytes_as_text(raw, shown):
    assert clean_output(raw) == shown


def test_a_hostile_line_takes_linear_time():
    for piece in (b"\x1b[", b"\x1b]", b"\x1bP", b"\r", b"a\x08", b"\x1b[0", b"\x1b "):
        clean_output(piece * 200_000)


def test_a_cut_line_says_how_long_it_is():
    assert clean_line(b"x" * 3000, 3000) == "x" * LONGEST_LINE + "… [cut: the line has 3000 bytes]"
    assert clean_line(b"x" * 10, 10) == "x" * 10
    assert clean_line(b"x" * 10, 99).endswith("[cut: the line has 99 bytes]")
