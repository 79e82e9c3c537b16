import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import ToolCall
from holdfast.tool_use import FROM_END, recognize_tool
from holdfast.tool_use.shell_commands import simple_commands, without_heredocs
from holdfast.views.shell import file_effects


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


@pytest.mark.parametrize("end", ["|", "`", "\nx"])
@pytest.mark.parametrize("start", ["a", "cd x", "cd x &&", "cat f", "head -n"])
def test_commands_of_spaces_take_no_quadratic_time(start, end):
    """One of the long ones took seconds; the short ones stay below the length that is read at all."""
    for size in (1_900, 20_000):
        for _ in range(200):
            assert recognize_tool(ToolCall("c", "Bash", {"command": start + " " * size + end})).kind == "bash"


@pytest.mark.parametrize(
    "command",
    [
        "apply_patch <<" + "a" * 50_000,
        "<<a" * 20_000,
        "<<'a" * 20_000,
        "*** Add File: a" + " " * 200_000 + "x",
        ("*** Add File: a" + " " * 380 + "x\n") * 500,
    ],
    ids=["long mark", "many marks", "open marks", "one wide line", "wide lines"],
)
def test_documents_and_patches_take_no_quadratic_time(command):
    """Each took from several seconds to minutes."""
    simple_commands(command)
    without_heredocs(command)
    patch = f"*** Begin Patch\n{command}"
    assert recognize_tool(ToolCall("c", "Bash", {"command": patch})).command == patch
    list(file_effects(patch))


def test_a_string_given_to_a_command_is_no_document():
    assert [command.words for command in simple_commands("cat <<<EOF\nrm a")] == [["cat"], ["rm", "a"]]


PATCH = """*** Begin Patch
*** Update File: src/x.ts
@@
-old
+new with *** Add File: nothing.ts inside
*** Add File: src/y.ts
+text
*** Update File: a.ts
*** Move to: b.ts
*** End Patch"""
PATCHED = ("src/x.ts", "src/y.ts", "a.ts", "b.ts")


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("apply_patch", {"input": PATCH}, "multiedit"),
        ("apply_patch", {"patchText": PATCH}, "multiedit"),
        ("apply_patch", {"raw": PATCH}, "multiedit"),
        ("shell", {"command": ["apply_patch", PATCH]}, "multiedit"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, "multiedit"),
        ("exec_command", {"cmd": f"cd src && apply_patch <<'EOF'\n{PATCH}\nEOF\n"}, "multiedit"),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\nnpm test"}, "bash"),
        (
            "exec",
            {"input": f"const patch = {json.dumps(PATCH)};\ntext(await tools.apply_patch(patch));"},
            "multiedit",
        ),
    ],
)
def test_a_patch_names_all_its_files(name, arguments, kind):
    use = recognize_tool(ToolCall("c", name, arguments))
    assert (use.kind, use.path, use.patched, use.changed) == (kind, PATCHED[0], PATCHED, PATCHED)


READS = [
    ("cat a.py", "a.py", 0, 0),
    ("cd src && cat -n a.py", "src/a.py", 0, 0),
    ("cd /repo; cd src && cat ../a.py", "/repo/a.py", 0, 0),
    ("cd src && cat /a.py", "/a.py", 0, 0),
    ('cd "$ROOT" && sed -n 3,5p a.py', "", 0, 0),
    ("cd - >/dev/null; cat a.py", "", 0, 0),
    ("cat a.py 2>/dev/null", "a.py", 0, 0),
    ("cat 'my file.py'", "my file.py", 0, 0),
    ("nl -ba a.py", "a.py", 0, 0),
    ("nl -ba a.py | sed -n '1,80p'", "a.py", 1, 80),
    ("nl -b a a.py | sed -n 5,80p", "a.py", 5, 80),
    ("cat a.py | head -50", "a.py", 1, 50),
    ("cat a.py | head -n 50 | cat", "a.py", 1, 50),
    ("head -n 50 a.py", "a.py", 1, 50),
    ("head -50 a.py", "a.py", 1, 50),
    ("head -n50 a.py", "a.py", 1, 50),
    ("head --lines=50 a.py", "a.py", 1, 50),
    ("cd src && head a.py", "src/a.py", 1, 10),
    ("head -n -5 a.py", "", 0, 0),
    ("head -c 100 a.py", "", 0, 0),
    ("head -5 a.py b.py", "", 0, 0),
    ("head -n 0 a.py", "", 0, 0),
    ("head -5", "", 0, 0),
    ("head", "", 0, 0),
    ("tail -n +20 a.py", "a.py", 20, 0),
    ("tail -n +20 a.py | head -n 30", "a.py", 20, 49),
    ("sed -n '10,90p' a.py | head -20", "a.py", 10, 29),
    ("sed -n '10,20p' a.py | head -200", "a.py", 10, 20),
    ("sed -n '7p' a.py", "a.py", 7, 7),
    ("sed -n '7,+5p' a.py", "a.py", 7, 12),
    ("sed -n '7,$p' a.py", "a.py", 7, 0),
    ("tail -n 20 a.py", "a.py", FROM_END, 0),
    ("tail -20 a.py", "a.py", FROM_END, 0),
    ("tail a.py", "a.py", FROM_END, 0),
    ("git show HEAD~2:src/a.py", "HEAD~2:src/a.py", 0, 0),
    ("git show main:a.py | sed -n '3,9p'", "main:a.py", 3, 9),
    ("bash -lc 'sed -n 1,5p app/[id]/page.tsx'", "app/[id]/page.tsx", 1, 5),
]


@pytest.mark.parametrize(("command", "path", "first", "last"), READS)
def test_commands_that_read_a_file(command, path, first, last):
    for arguments in ({"cmd": command}, {"command": ["bash", "-lc", command]}):
        use = recognize_tool(ToolCall("c", "exec_command", arguments))
        assert (use.kind, use.path, use.first, use.last) == ("read", path, first, last)
        assert not use.is_mixed


@pytest.mark.parametrize(
    ("command", "kind", "path", "span"),
    [
        ("sed -n '1,40p' a && sed -n '5,9p' b", "read", "a", (1, 40)),
        ("cat a b", "read", "a", (0, 0)),
        ("echo '== a'; cat a", "read", "a", (0, 0)),
        ("sed -n '1,5p;9,12p' a", "read", "a", (1, 5)),
        ("head -50 a | tail -5", "read", "a", (FROM_END, 0)),
        ("git diff -- src/a.py", "read", "src/a.py", (0, 0)),
        ("git diff main...HEAD -- a.py b.py | head -90", "read", "a.py", (0, 0)),
        ("rg -n foo a b", "grep", "a", (0, 0)),
    ],
)
def test_what_shows_more_than_lines_of_one_file_is_mixed(command, kind, path, span):
    use = recognize_tool(ToolCall("c", "bash", {"command": command}))
    assert (use.kind, use.path, (use.first, use.last), use.is_mixed) == (kind, path, span, True)
    assert not use.names_lines, "nobody asked for all of it by number"


@pytest.mark.parametrize(
    ("command", "kind", "pattern", "path"),
    [
        ("rg -n 'foo|bar' src | head", "grep", "foo|bar", "src"),
        ('grep -rn --include="*.go" -A 3 "func x" internal/', "grep", "func x", "internal/"),
        ("grep -e foo -e bar a.py", "grep", "foo", "a.py"),
        ("cat a.py | grep -n foo", "grep", "foo", "a.py"),
        ("git grep -n foo", "grep", "foo", ""),
        ("rg --files src | rg test", "glob", "", "src"),
        ("find src -name '*.ts' | sort | head -20", "glob", "*.ts", "src"),
        ("ls -la docs", "ls", "", "docs"),
        ("ls | head", "ls", "", ""),
    ],
)
def test_searches_and_listings_in_a_shell(command, kind, pattern, path):
    use = recognize_tool(ToolCall("c", "bash", {"command": command}))
    assert (use.kind, use.pattern, use.path) == (kind, pattern, path)


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py > b.py",
        "cat <<'EOF' > a.py\ntext\nEOF",
        "sed -i 's/a/b/' a.py",
        "sed 's/a/b/' a.py",
        "sed -n 'w out' a.py",
        "find . -name '*.pyc' -delete",
        "find . -exec rm {} +",
        "find . -okdir rm {} +",
        "find . -fprintf list %p",
        "fd foo --exec rm",
        "cat a.py > /dev/null",
        "cat a.py >/dev/null 2>&1 && echo there",
        "bash -lc 'cat a.py' > b.py",
        "cat a.py && make",
        "cat a.py; ls",
        "cat $(git ls-files)",
        "for f in a b; do cat $f; done",
        "cat a.py | python3",
        "rg foo | xargs sed -i s/a/b/",
        "git diff --stat -- a.py",
        "git status && cat a.py",
    ],
)
def test_commands_that_do_more_than_read_stay_commands(command):
    assert recognize_tool(ToolCall("c", "bash", {"command": command})).kind == "bash"


@given(st.text(alphabet="catsedg -n'\"|&;<>$`\n\\123,p(){}*/.", max_size=80))
def test_no_command_makes_recognition_fail(command):
    use = recognize_tool(ToolCall("c", "bash", {"command": command}))
    assert use.command == command
    assert "\n" not in use.label


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "place"),
    [
        ("Read", {"file_path": "a", "offset": "10", "limit": "5"}, "read", ("a", 10, 14)),
        ("view", {"path": "a", "view_range": ["3", "9"]}, "read", ("a", 3, 9)),
        ("view", {"path": "a", "view_range": "[3, -1]"}, "read", ("a", 3, 0)),
        ("read_file", {"absolute_path": "/a", "offset": 100, "limit": 50}, "read", ("/a", 101, 150)),
        ("read_file", {"file_path": "/a", "start_line": 2, "end_line": 4}, "read", ("/a", 2, 4)),
        ("read_file", {"target_file": "a", "offset": 100, "limit": 50}, "read", ("a", 100, 149)),
        ("read", {"filePath": "/a", "offset": 660, "limit": 90}, "read", ("/a", 660, 749)),
        ("ReadFile", {"path": "a", "line_offset": 5, "n_lines": 10}, "read", ("a", 5, 14)),
        ("read_many_files", {"paths": ["a", "b"]}, "read", ("a", 0, 0)),
        ("rg", {"pattern": "x", "paths": ["src"], "output_mode": "content"}, "grep", ("src", 0, 0)),
        ("grep", {"pattern": "x", "paths": "src"}, "grep", ("src", 0, 0)),
        ("search_file_content", {"pattern": "x", "dir_path": "src"}, "grep", ("src", 0, 0)),
        ("list_directory", {"dir_path": "."}, "ls", (".", 0, 0)),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "edit", ("a", 0, 0)),
        ("edit", {"path": "a", "old_str": "x", "new_str": "y"}, "edit", ("a", 0, 0)),
        ("create", {"path": "a", "file_text": "x"}, "write", ("a", 0, 0)),
        ("StrReplaceFile", {"path": "a"}, "edit", ("a", 0, 0)),
        ("write_todos", {"todos": []}, "todo", ("", 0, 0)),
        ("PowerShell", {"command": "Get-ChildItem"}, "bash", ("", 0, 0)),
        ("read_powershell", {"shellId": "1"}, "bash", ("", 0, 0)),
        ("wait", {"cell_id": "25"}, "bash", ("", 0, 0)),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, "todo", ("", 0, 0)),
        ("get_method_info", {"method_name": "A.b"}, "read", ("", 0, 0)),
    ],
)
def test_the_places_of_other_agents_tools(name, arguments, kind, place):
    use = recognize_tool(ToolCall("c", name, arguments))
    assert (use.kind, (use.path, use.first, use.last)) == (kind, place)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "label"),
    [
        ("Agent", {"subagent_type": "Explore", "prompt": "Find it", "description": "Find the parser"}, "other",
         "Agent Find the parser"),
        ("TaskCreate", {"subject": "Fix it", "description": "long"}, "todo", "TaskCreate Fix it"),
        ("AskUserQuestion", {"questions": [{"question": "Which one?"}]}, "other", "AskUserQuestion Which one?"),
        ("ExitPlanMode", {"plan": "# Plan\n\nFirst this."}, "other", "ExitPlanMode # Plan First this."),
        ("WebFetch", {"url": "https://example.com", "prompt": "Read"}, "other", "WebFetch https://example.com"),
        ("TaskUpdate", {"taskId": "1"}, "todo", "TaskUpdate"),
        ("get_symbol_info", {"symbol_name": "parse"}, "grep", 'get_symbol_info "parse"'),
    ],
)  # fmt: skip
def test_calls_without_a_place_say_what_they_are_about(name, arguments, kind, label):
    use = recognize_tool(ToolCall("c", name, arguments))
    assert (use.kind, use.label) == (kind, label)


def test_a_program_that_runs_a_command_is_that_command():
    program = (
        'const r = await tools.exec_command({"cmd":"sed -n \'1,9p\' a.py","workdir":"/x"}); text(r.output);'
    )
    use = recognize_tool(ToolCall("c", "exec", {"input": program}))
    assert (use.kind, use.command, use.path, use.last) == ("read", "sed -n '1,9p' a.py", "a.py", 9)


@pytest.mark.parametrize(
    "arguments", [{"path": 5}, {"offset": "x"}, {"view_range": [1]}, {"limit": -3}, {"limit": True}]
)
def test_odd_arguments_never_fail(arguments):
    assert recognize_tool(ToolCall("c", "Read", arguments)).first == 0


def test_a_label_is_one_short_line():
    use = recognize_tool(ToolCall("c", "Bash", {"command": "echo a\n" * 100}))
    assert "\n" not in use.label
    assert len(use.label) < 140
