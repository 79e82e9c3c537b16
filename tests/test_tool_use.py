import pytest

from holdfast.messages import ToolCall
from holdfast.tool_use import recognise


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
        ("bash", {"command": "cd x && ls -la"}, "ls"),
        ("todowrite", {}, "todo"),
        ("update_plan", {}, "todo"),
        ("grep_search", {"query": "x"}, "grep"),
        ("mcp__x__y", {}, "other"),
    ],
)
def test_other_agents_names_for_the_same_tools(name, arguments, kind):
    assert recognise(ToolCall("c", name, arguments)).kind == kind


def test_ranges_are_read_in_every_spelling():
    def span(name, **arguments):
        use = recognise(ToolCall("c", name, arguments))
        return use.path, use.first, use.last

    assert span("Read", file_path="a", offset=10, limit=5) == ("a", 10, 14)
    assert span("Read", file_path="a") == ("a", 0, 0)
    assert span("view", path="a", view_range=[3, 9]) == ("a", 3, 9)
    assert span("exec_command", cmd="sed -n '5,80p' src/a.py") == ("src/a.py", 5, 80)
    assert span("read_file", path="a", start_line=2, end_line=4) == ("a", 2, 4)


def test_a_patch_names_its_file():
    call = ToolCall("c", "apply_patch", {"input": "*** Begin Patch\n*** Update File: src/x.ts\n"})
    assert recognise(call).path == "src/x.ts"


@pytest.mark.parametrize(
    "arguments", [{"path": 5}, {"offset": "x"}, {"view_range": [1]}, {"limit": -3}, {"limit": True}]
)
def test_odd_arguments_never_fail(arguments):
    assert recognise(ToolCall("c", "Read", arguments)).first == 0


def test_a_label_is_one_short_line():
    use = recognise(ToolCall("c", "Bash", {"command": "echo a\n" * 100}))
    assert "\n" not in use.label
    assert len(use.label) < 140
