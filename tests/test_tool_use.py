import pytest

from holdfast.messages import ToolCall
from holdfast.tool_use import recognize_tool


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("Read", {"file_path": "a"}, "read"),
        ("view", {"path": "a"}, "read"),
        ("read_file", {"path": "a"}, "read"),
        ("str_replace_editor", {"command": "view", "path": "a"}, "read"),
        ("str_replace_editor", {"command": "create", "path": "a"}, "write"),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a"}, "edit"),
        ("apply_patch", {"input": "*** Begin Patch"}, "multiedit"),
        ("exec_command", {"cmd": "pytest"}, "bash"),
        ("shell", {"command": ["bash", "-lc", "make"]}, "bash"),
        ("exec_command", {"cmd": "rg -n foo src"}, "grep"),
        ("exec_command", {"cmd": "cat a.py"}, "read"),
        ("exec_command", {"cmd": "cat a.py | wc -l"}, "bash"),
        ("exec_command", {"cmd": "ls\nrm -rf build"}, "bash"),
        ("exec_command", {"cmd": "cat " + "a" * 2_000}, "bash"),
        ("bash", {"command": "cd x&& ls -la"}, "ls"),
        ("bash", {"command": "cd x && ls -la"}, "ls"),
        ("todowrite", {}, "todo"),
        ("update_plan", {}, "todo"),
        ("grep_search", {"query": "x"}, "grep"),
        ("mcp__x__y", {}, "other"),
    ],
)
def test_other_agents_names_for_the_same_tools(name, arguments, kind):
    assert recognize_tool(ToolCall("c", name, arguments)).kind == kind


def test_ranges_are_read_in_every_spelling():
    def span(name, **arguments):
        use = recognize_tool(ToolCall("c", name, arguments))
        return use.path, use.first, use.last

    assert span("Read", file_path="a", offset=10, limit=5) == ("a", 10, 14)
    assert span("Read", file_path="a") == ("a", 0, 0)
    assert span("view", path="a", view_range=[3, 9]) == ("a", 3, 9)
    assert span("exec_command", cmd="sed -n '5,80p' src/a.py") == ("src/a.py", 5, 80)
    assert span("exec_command", cmd="/bin/sed -n 5,80p src/a.py") == ("src/a.py", 5, 80)
    assert span("read_file", path="a", start_line=2, end_line=4) == ("a", 2, 4)
    assert span("read_file", filePath="a", startLine=2, endLine=4) == ("a", 2, 4)
    ends = {"start_line_one_indexed": 2, "end_line_one_indexed_inclusive": 4}
    assert span("read_file", target_file="a", **ends) == ("a", 2, 4)


@pytest.mark.parametrize(
    ("command", "span"),
    [
        ("head -n 50 a.py", ("a.py", 1, 50)),
        ("head -50 a.py", ("a.py", 1, 50)),
        ("head -n50 a.py", ("a.py", 1, 50)),
        ("head --lines=50 a.py", ("a.py", 1, 50)),
        ("cd src && head a.py", ("a.py", 1, 10)),
        ("tail -n +20 a.py", ("a.py", 20, 0)),
        ("tail -n 20 a.py", ("", 0, 0)),
        ("tail -20 a.py", ("", 0, 0)),
        ("tail a.py", ("", 0, 0)),
        ("head -n -5 a.py", ("", 0, 0)),
        ("head -c 100 a.py", ("", 0, 0)),
        ("head -5 a.py b.py", ("", 0, 0)),
        ("head -n 0 a.py", ("", 0, 0)),
        ("head -5", ("", 0, 0)),
        ("head", ("", 0, 0)),
    ],
)
def test_head_and_tail_read_the_lines_they_show(command, span):
    use = recognize_tool(ToolCall("c", "exec_command", {"cmd": command}))
    assert (use.kind, (use.path, use.first, use.last)) == ("read", span)


@pytest.mark.parametrize("end", ["|", "`", "\nx"])
@pytest.mark.parametrize("start", ["a", "cd x", "cd x &&", "cat f", "head -n"])
def test_commands_of_spaces_take_no_quadratic_time(start, end):
    """One of the long ones took seconds; the short ones stay below the length that is read at all."""
    for size in (1_900, 20_000):
        for _ in range(200):
            assert recognize_tool(ToolCall("c", "Bash", {"command": start + " " * size + end})).kind == "bash"


def test_a_patch_names_its_file():
    call = ToolCall("c", "apply_patch", {"input": "*** Begin Patch\n*** Update File: src/x.ts\n"})
    assert recognize_tool(call).path == "src/x.ts"


@pytest.mark.parametrize(
    "arguments", [{"path": 5}, {"offset": "x"}, {"view_range": [1]}, {"limit": -3}, {"limit": True}]
)
def test_odd_arguments_never_fail(arguments):
    assert recognize_tool(ToolCall("c", "Read", arguments)).first == 0


def test_a_label_is_one_short_line():
    use = recognize_tool(ToolCall("c", "Bash", {"command": "echo a\n" * 100}))
    assert "\n" not in use.label
    assert len(use.label) < 140
