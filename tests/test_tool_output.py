"""What agents write around the output of their tools, and that nothing keeps it for content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lab.evidence.indexed_message import line_keys
from holdfast.messages import ToolCall
from holdfast.packing.lines.features import line_facts, line_key
from holdfast.packing.lines.weights import built_in_vectors
from holdfast.packing.presence import lines_read
from holdfast.packing.profile import CODE
from holdfast.packing.rendering.digests import choose_lines
from holdfast.packing.rendering.first_sight import reduce_new_result
from holdfast.tool_use import recognize_tool
from holdfast.tool_use.output import exit_code, output_rows, output_text
from support.packing_runs import counter

CODEX = (
    "Chunk ID: 7e55c6\nWall time: 0.0520 seconds\nProcess exited with code {}\n"
    "Original token count: 682\nOutput:\n"
)
BODY = "alpha = parse(line)\nbeta = parse(line)\n\ngamma = parse(line)"

WRAPPERS = [
    (CODEX.format(0), ""),
    ("Exit code: 0\nWall time: 0 seconds\nOutput:\n", ""),
    ("Script completed\nWall time 0.1 seconds\nOutput:\n\n", ""),
    (
        CODEX.format(1)
        + "Warning: truncated output (original token count: 66384)\nTotal output lines: 2292\n\n",
        "",
    ),
    ("<returncode>0</returncode>\n<output>\n", "\n</output>"),
    (
        "<path>/code/a.py</path>\n<type>file</type>\n<content>\n",
        "\n\n(End of file - total 4 lines)\n</content>",
    ),
    (
        "Command: make\nDirectory: (root)\n",
        "\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: 61",
    ),
    ("Command: cat <<EOF\nx\nEOF\nDirectory: src\n", "\nExit Code: 2"),
    ("[File: setup.py (94 lines total)]\n", "\n(12 more lines below)"),
    ("", "\n<shellId: 36 completed with exit code 0>"),
    ("", "\n<exited with exit code 1>"),
    ("", "\n(Open file: /testbed/a.py)\n(Current directory: /testbed)\nbash-$"),
    ("", "\n[The command completed with exit code 0.]\n[Current working directory: /code]"),
    ("", "\n\n\n<system-reminder>\nNever mind.\n</system-reminder>\n"),
    ("<retrieval_status>success</retrieval_status>\n\n<task_id>b5</task_id>\n\n<output>\n", "\n</output>"),
    ("", "\n\nCommand exited with code 1"),
]


@pytest.mark.parametrize(("head", "foot"), WRAPPERS)
def test_wrappers_are_not_part_of_the_output(head, foot):
    assert output_text(f"{head}{BODY}{foot}") == BODY


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        BODY + "\n",
        "",
        "Output:\nof the parser",
        "<content>\n<p>text</p>\n</content>",
        "Command: make\nis what you type",
        "<file>\n<name>x</name>\n</file>",
        "<system-reminder>\n",
        "text\n</system-reminder>",
    ],
)
def test_what_only_looks_like_a_wrapper_is_the_output(text):
    assert output_text(text) == text


@given(
    st.lists(st.sampled_from([*"abc", "", "Output:", "bash-$", "</output>", "<system-reminder>", CODEX[:16]]))
)
def test_the_output_is_a_part_of_the_result(lines):
    rows = output_rows(lines)
    assert 0 <= rows.start <= rows.stop <= len(lines)
    assert all(lines[row] != "a" for row in range(len(lines)) if row not in rows)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CODEX.format(2) + BODY, 2),
        ("<returncode>1</returncode>\n<output>\n</output>", 1),
        (
            "Command: x\nDirectory: .\nOutput: y\nExit Code: 3\nSignal: (none)\nBackground PIDs: (none)",
            3,
        ),
        (f"{BODY}\n<shellId: 36 completed with exit code 4>", 4),
        (f"{BODY}\n<exited with exit code 5>", 5),
        (f"{BODY}\n\nCommand exited with code 6", 6),
        ('{"output":"no such hunk","metadata":{"exit_code":1,"duration_seconds":0.1}}', 1),
        (BODY, None),
    ],
)
def test_exit_codes_of_every_agent(text, code):
    assert exit_code(text) == code


def use_of(command):
    return recognize_tool(ToolCall("c", "exec_command", {"cmd": command}))


@pytest.mark.parametrize("command", ["sed -n '1,400p' a.py", "make", "rg -n parse"])
def test_a_digest_shows_no_wrapper_but_a_failure(command):
    rows = [f"a.py:{n}: parse(value_{n})" for n in range(400)]
    lines = (CODEX.format(0) + "\n".join(rows)).split("\n")
    chosen = choose_lines(use_of(command), lines, CODE)
    assert chosen
    assert min(chosen) >= 5
    failed = (CODEX.format(1) + "\n".join(rows)).split("\n")
    assert choose_lines(use_of(command), failed, CODE)[0] == failed.index("Process exited with code 1")


def test_first_sight_shows_no_wrapper_but_a_failure():
    body = "\n".join(f"step {n}: parse_value_{n} of the file" for n in range(2_000))
    for code, wanted in ((0, []), (1, ["Process exited with code 1"])):
        text = CODEX.format(code) + body
        shown = reduce_new_result(use_of("make"), text, 800, counter(), built_in_vectors(CODE.worth)).split(
            "\n"
        )
        assert [line for line in shown if line in CODEX.format(code).split("\n")] == wanted


def test_lines_of_a_file_are_counted_below_a_wrapper():
    text = CODEX.format(0) + "\n".join(f"line {n}" for n in range(5, 81))
    found = lines_read(use_of("sed -n '5,80p' a.py"), text)
    assert found.spans == ((5, 80),)
    assert found.lines[5] == "line 5"


CUT = "The file content has been truncated."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("read_file", f"IMPORTANT: {CUT}\nStatus: Showing 6 of 90.\n\n--- FILE CONTENT (truncated) ---\n{{}}"),
        ("open", "[File: a.py (90 lines total)]\n{}\n(84 more lines below)"),
    ],
)  # fmt: skip
def test_a_file_that_is_cut_by_its_tool_is_not_read_to_its_end(name, text):
    use = recognize_tool(ToolCall("c", name, {"path": "a.py"}))
    rows = [f"{n}:line {n}" if name == "open" else f"line {n}" for n in range(1, 7)]
    found = lines_read(use, text.format("\n".join(rows)))
    assert (found.spans, found.is_open, found.end) == (((1, 6),), False, 0)


def test_lines_of_several_files_are_counted_for_none():
    text = "\n".join(f"line {n}" for n in range(50))
    assert not lines_read(use_of("sed -n '1,40p' a && sed -n '5,9p' b"), text).lines


def test_the_numbers_of_a_view_are_those_of_the_file():
    use = recognize_tool(ToolCall("c", "view", {"path": "a.md", "view_range": [306, 312]}))
    text = "\n".join(f"{n}. text {n}" for n in range(306, 313))
    assert lines_read(use, text).spans == ((306, 312),)
    steps = recognize_tool(ToolCall("c", "read", {"path": "a.md", "offset": 20}))
    assert lines_read(steps, "1. First\n2. Then\n\n3. Next\n4. Last").spans == ((20, 24),)


LISTED = [
    "   12→{}",
    "12→{}",
    "12:{}",
    "12: {}",
    "12. {}",
    "00012| {}",
    "12\t{}",
    "    12\t{}",
    "12-{}",
    "L12: {}",
]
LISTED += ["  Line 12: {}", "src/app.go:12:{}", "src/app.go:12: {}"]


@pytest.mark.parametrize("shape", LISTED)
@given(
    code=st.sampled_from(["return parse_value(x)", "def parse_value(x):", "parse_value = 5", '"""Text."""'])
)
def test_a_listed_line_is_known_as_the_line_itself(shape, code):
    listed = shape.format(code)
    assert line_key(listed) == line_key(code) == code
    assert code in line_keys(listed)
    names = {name for name in line_facts(listed).names if "app.go" not in name}
    assert names == set(line_facts(code).names)


@pytest.mark.parametrize("line", ["1.5 seconds of it", "2024-01-02 10:00:01 started", "v1.2.3 of it"])
def test_other_numbers_stay_names(line):
    assert line_facts(line).names == tuple(name for name in line.split(None, 1)[:1] if len(name) >= 5)
