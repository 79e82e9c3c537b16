"""Rules and modes: what may be done, what is asked about, and what is never done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config import parse_config
from holdfast.errors import ConfigError
from holdfast.messages import ToolCall
from holdfast.tools.permissions.decision import CallContext, decide
from holdfast.tools.permissions.gate import call_context
from holdfast.tools.permissions.tool_rules import Permissions, parse_permissions, parse_tool_rule
from holdfast.tools.workspace import Workspace

ROOT = "/srv/project"
READERS = ("Read", "LS", "Glob", "Grep")
WRITERS = ("Edit", "MultiEdit", "Write")
SESSION = ("TodoWrite", "Recall", "AskUser", "Skill", "BashOutput", "BashStop")


def rules(**lists):
    return parse_permissions(lists, "holdfast.toml")


def decided(call, mode="ask", permissions=None, *, path=""):
    scene = CallContext(path or str(call.arguments.get("path", "")), call.name in READERS)
    return decide(call, mode, permissions or Permissions(), scene)


def bash(command):
    return ToolCall("c1", "Bash", {"command": command})


def on(tool, path):
    return ToolCall("c1", tool, {"path": path})


# --- Modes


@pytest.mark.parametrize(
    ("mode", "read", "edit", "look", "change"),
    [
        ("plan", "allow", "deny", "allow", "deny"),
        ("ask", "allow", "ask", "allow", "ask"),
        ("edit", "allow", "allow", "allow", "ask"),
        ("auto", "allow", "allow", "allow", "ask"),
    ],
)
def test_without_a_sandbox_only_commands_that_read_run_unasked(mode, read, edit, look, change):
    assert decided(on("Read", "src/a.py"), mode).verdict == read
    assert decided(on("Edit", "src/a.py"), mode).verdict == edit
    assert decided(bash("git show HEAD"), mode).verdict == look
    for command in ("echo x > src/a.py", "npm install left-pad", "rm -rf ../y", "cat ../y", "mypy src"):
        found = decided(bash(command), mode)
        assert (found.verdict, found.access) == (change, "full"), command


def test_a_person_who_turns_the_sandbox_off_and_chooses_auto_mode_is_asked_nothing():
    scene = CallContext(sandbox="off")
    assert decide(bash("npm install"), "auto", Permissions(), scene).verdict == "allow"
    for mode in ("ask", "edit"):
        assert decide(bash("npm install"), mode, Permissions(), scene).verdict == "ask"
    mine = rules(allow=["Bash(npm:*) with network"])
    assert decide(bash("npm install"), "ask", mine, scene).verdict == "allow"
    denied = decide(bash("npm install"), "auto", rules(deny=["Bash(npm:*)"]), scene)
    assert (denied.verdict, denied.rule) == ("deny", "Bash(npm:*)")


CONFINED = CallContext(sandbox="holds")
READ, WRITE, NETWORK, FULL = "read", "write", "network", "full"


@pytest.mark.parametrize(
    ("mode", "command", "asked_for", "verdict", "access"),
    [
        ("plan", "rm -rf /", "", "allow", READ),
        ("plan", "curl example.org", FULL, "allow", READ),
        ("ask", "git show HEAD", "", "allow", READ),
        ("ask", "git show HEAD", WRITE, "allow", READ),
        ("ask", "echo x > a", "", "ask", WRITE),
        ("ask", "rm -rf /", "", "ask", WRITE),
        ("ask", "npm test", "", "ask", WRITE),
        ("ask", "npm install", NETWORK, "ask", NETWORK),
        ("ask", "make", READ, "allow", READ),
        ("edit", "rm -rf /", "", "allow", WRITE),
        ("edit", "npm test", WRITE, "allow", WRITE),
        ("edit", "npm test", READ, "allow", READ),
        ("edit", "npm install", NETWORK, "ask", NETWORK),
        ("edit", "make install", FULL, "ask", FULL),
        ("auto", "npm install", NETWORK, "allow", NETWORK),
        ("auto", "make install", FULL, "ask", FULL),
        ("edit", "npm test", "everything", "allow", WRITE),
    ],
)
def test_in_a_sandbox_what_a_command_may_touch_decides(mode, command, asked_for, verdict, access):
    call = ToolCall("c1", "Bash", {"command": command, "access": asked_for})
    found = decide(call, mode, Permissions(), CONFINED)
    assert (found.verdict, found.access) == (verdict, access)


def test_in_a_sandbox_a_persons_rules_still_hold():
    mine = rules(deny=["Bash(git push:*)"], ask=["Bash(make deploy)"], allow=["Bash(touch:*)"])
    for mode in ("ask", "edit", "auto"):
        assert decide(bash("git push origin"), mode, mine, CONFINED).verdict == "deny"
        assert decide(bash("make deploy"), mode, mine, CONFINED).verdict == "ask"
        allowed = decide(bash("touch a"), mode, mine, CONFINED)
        assert (allowed.verdict, allowed.access, allowed.rule) == ("allow", WRITE, "Bash(touch:*)")
    assert decide(bash("npm test"), "edit", rules(network=True), CONFINED).access == NETWORK


@pytest.mark.parametrize(
    ("command", "asked_for", "verdict", "access"),
    [
        ("npm install x", "", "allow", NETWORK),
        ("npm install x", NETWORK, "allow", NETWORK),
        ("npm install x", WRITE, "allow", WRITE),
        ("npm install x", FULL, "ask", FULL),
        ("npm install x | tail -3", "", "allow", NETWORK),
        ("npm install x && make", "", "allow", WRITE),
        ("npm install x && make", NETWORK, "ask", NETWORK),
        ("npm install x && touch y", "", "ask", WRITE),
        ("make -n && npm install x", "", "ask", WRITE),
        ("npm install x && mypy src", "", "ask", WRITE),
        ("docker ps", "", "allow", FULL),
        ("docker ps && cat /etc/shadow", "", "ask", WRITE),
        ("docker ps && cat a", "", "allow", FULL),
        ("docker ps && git status -s", "", "ask", WRITE),
        ("cd sub && npm install x", "", "allow", NETWORK),
        ("git show HEAD", "", "allow", READ),
    ],
)
def test_a_rule_gives_a_command_the_access_it_names(command, asked_for, verdict, access):
    mine = rules(allow=["Bash(npm install:*) with network", "Bash(docker ps) with full", "Bash(make)"])
    call = ToolCall("c1", "Bash", {"command": command, "access": asked_for})
    found = decide(call, "ask", mine, CONFINED)
    assert (found.verdict, found.access) == (verdict, access)


@pytest.mark.parametrize("level", [NETWORK, FULL])
def test_the_offered_rule_names_the_access_that_was_asked_for(level):
    call = ToolCall("c1", "Bash", {"command": "npm install x", "access": level})
    asked = decide(call, "edit", Permissions(), CONFINED)
    # Nothing holds a command with full access, so only this very one is offered.
    words = "npm install x" if level == FULL else "npm install:*"
    assert (asked.verdict, asked.offered_rules) == ("ask", (f"Bash({words}) with {level}",))
    mine = Permissions().allowing(*asked.offered_rules)
    assert decide(call, "edit", mine, CONFINED).verdict == "allow"


@pytest.mark.parametrize("tool", [*READERS, *SESSION], ids=str)
@pytest.mark.parametrize("mode", ["plan", "ask", "edit", "auto"])
def test_looking_and_the_session_itself_are_free(mode, tool):
    assert decided(on(tool, "src/a.py"), mode).verdict == "allow"


@pytest.mark.parametrize(
    "command", ["echo x > a", "sed -i s/a/b/ a", "mkdir d", "cp a b", "tee a", "ls > a", "touch a"]
)
def test_plan_mode_refuses_commands_that_write_inside_the_root(command):
    decision = decided(bash(command), "plan", rules(allow=["Bash"]))
    assert decision.verdict == "deny"
    assert decision.reason.startswith(
        "this is plan mode, in which nothing is changed, and there is no sandbox"
    )
    assert decided(bash("ls > /dev/null 2>&1"), "plan").verdict == "allow"


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".git/config", ".envrc", "sub/.GIT/config"], ids=str
)
def test_edit_mode_asks_before_a_file_that_runs_commands(path):
    assert decided(on("Write", path), "edit").verdict == "ask"
    assert decided(on("Write", "src/git.py"), "edit").verdict == "allow"


def test_tools_nobody_knows_are_asked_about_unless_they_only_read():
    call = ToolCall("c1", "mcp__files__delete", {"what": "x"})
    assert decided(call).verdict == "ask"
    assert decided(call, "edit").verdict == "ask"
    assert decided(call, "auto").verdict == "allow"
    assert decided(call, "plan").verdict == "deny"
    assert decide(call, "plan", Permissions(), CallContext(is_read_only=True)).verdict == "allow"


# --- Rules


@pytest.mark.parametrize("mode", ["ask", "edit", "auto"])
def test_deny_beats_ask_beats_allow(mode):
    permissions = rules(
        allow=["Edit", "Bash(npm:*)", "mcp__x"],
        ask=["Edit(src/**)", "Bash(npm publish:*)", "mcp__x__write"],
        deny=["Edit(src/secret/**)", "Bash(npm publish --force)", "mcp__x__delete"],
    )
    wanted = [
        (on("Edit", "a.py"), "allow"),
        (on("Edit", "src/a.py"), "ask"),
        (on("Edit", "src/secret/a.py"), "deny"),
        (bash("npm test"), "allow"),
        (bash("npm publish"), "ask"),
        (bash("npm publish --force"), "deny"),
        (bash("npm test && npm publish"), "ask"),
        (ToolCall("c", "mcp__x__read", {}), "allow"),
        (ToolCall("c", "mcp__x__write", {}), "ask"),
        (ToolCall("c", "mcp__x__delete", {}), "deny"),
    ]
    for call, verdict in wanted:
        assert decided(call, mode, permissions).verdict == verdict, call


def test_auto_mode_still_asks_what_a_rule_asks_about():
    permissions = rules(ask=["Bash(git push:*)"])
    assert decide(bash("python x.py"), "auto", permissions, CONFINED).verdict == "allow"
    assert decide(bash("python x.py && git push origin"), "auto", permissions, CONFINED).verdict == "ask"
    assert decide(bash("eval $x"), "auto", permissions, CONFINED).verdict == "allow"


@pytest.mark.parametrize("tool", WRITERS)
def test_a_rule_for_edit_holds_for_all_that_changes_files(tool):
    assert decided(on(tool, "src/a.py"), permissions=rules(allow=["Edit(src/**)"])).verdict == "allow"
    assert decided(on(tool, "docs/a.md"), permissions=rules(allow=["Edit(src/**)"])).verdict == "ask"
    assert decided(on("Read", "src/a.py"), permissions=rules(deny=["Edit"])).verdict == "allow"
    only = decided(on(tool, "a"), permissions=rules(deny=["Write"]))
    assert only.verdict == ("deny" if tool == "Write" else "ask")


@pytest.mark.parametrize("tool", READERS)
def test_a_rule_for_read_holds_for_all_that_reads_files(tool):
    permissions = rules(deny=["Read(secret/**)", "Read(.env)"])
    assert decided(on(tool, "secret"), permissions=permissions).verdict == "deny"
    assert decided(on(tool, "secret/a/b"), permissions=permissions).verdict == "deny"
    assert decided(on(tool, "deep/down/.env"), permissions=permissions).verdict == "deny"
    assert decided(on(tool, "secrets"), permissions=permissions).verdict == "allow"
    assert decided(on(tool, "a.env"), permissions=permissions).verdict == "allow"


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("Edit(src/**)", "src/a/b.py", True),
        ("Edit(src/)", "src/a/b.py", True),
        ("Edit(/src/**)", "src/a.py", True),
        ("Edit(src/*)", "src/a/b.py", False),
        ("Edit(*.py)", "src/a/b.py", True),
        ("Edit(/*.py)", "src/a.py", False),
        ("Edit(src/*.{ts,tsx})", "src/a.tsx", True),
        ("Edit(**)", "anything", True),
        ("Edit", "anything", True),
        ("Edit(*)", "any/thing", True),
    ],
    ids=range(10),
)
def test_patterns_of_paths(rule, path, matches):
    assert parse_tool_rule(rule, "x").matches("Edit", path) is matches


@pytest.mark.parametrize(
    ("rule", "tool", "matches"),
    [
        ("mcp__files__read", "mcp__files__read", True),
        ("mcp__files__read", "mcp__files__read_all", False),
        ("mcp__files", "mcp__files__read", True),
        ("mcp__files", "mcp__files2__read", False),
        ("mcp__files__*", "mcp__files__read", True),
        ("mcp__files__read*", "mcp__other__read", False),
    ],
    ids=range(6),
)
def test_rules_for_tools_of_servers(rule, tool, matches):
    assert parse_tool_rule(rule, "x").matches(tool, "") is matches


def test_a_rule_looks_at_the_file_and_not_at_its_name(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("x")
    (tmp_path / "innocent").symlink_to(tmp_path / "secret" / "key")
    workspace = Workspace([tmp_path])
    permissions = rules(deny=["Read(secret/**)"])
    for path in ("innocent", "./secret/../secret/key", str(tmp_path / "secret" / "key")):
        call = on("Read", path)
        scene = call_context(call, workspace, ".", is_read_only=True)
        assert scene.path == "secret/key"
        assert decide(call, "ask", permissions, scene).verdict == "deny"


def test_the_folder_of_the_shell_counts_for_commands(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("x")
    (tmp_path.parent / "a.txt").write_text("x")
    workspace = Workspace([tmp_path])
    call = bash("cat ../a.txt")
    for cwd, wanted in ((".", "ask"), ("sub", "allow")):
        assert (
            decide(call, "ask", Permissions(), call_context(call, workspace, cwd, is_read_only=False)).verdict
            == wanted
        )


def test_commands_may_read_in_every_root_and_in_folders_of_the_person(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("x")
    call = bash(f"cat {tmp_path}/two/a")
    cases = (
        (["one", "two"], (), "allow"),
        (["one"], (), "ask"),
        (["one"], (str(tmp_path / "two"),), "allow"),
    )
    for roots, folders, wanted in cases:
        workspace = Workspace([tmp_path / root for root in roots])
        scene = call_context(call, workspace, ".", is_read_only=False, folders=folders)
        assert decide(call, "edit", Permissions(), scene).verdict == wanted


# --- The rule to offer


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (bash("npm install left-pad"), "Bash(npm install:*)"),
        (bash("python x.py && ls"), "Bash(python x.py)"),
        (on("Edit", "src/deep/a.py"), "Edit(src/deep/**)"),
        (on("Write", "a.py"), "Edit(/a.py)"),
        (on("Write", "odd[1]/a.py"), ""),
        (ToolCall("c1", "mcp__x__write", {}), "mcp__x__write"),
    ],
    ids=range(6),
)
def test_the_offered_rule_allows_the_call(call, pattern):
    decision = decided(call)
    assert (decision.verdict, decision.offered_rules) == ("ask", (pattern,) if pattern else ())
    if pattern:
        assert decided(call, permissions=Permissions().allowing(pattern)).verdict == "allow"


def test_no_rule_is_offered_that_would_not_help():
    assert decided(bash("npm install x"), permissions=rules(ask=["Bash(npm:*)"])).offered_rules == ()
    assert decided(on("Edit", "src/a"), permissions=rules(ask=["Edit(src/**)"])).offered_rules == ()


@given(
    st.sampled_from([*READERS, *WRITERS, "Bash", "mcp__a__b", "TodoWrite", "Nonesuch"]),
    st.text(max_size=20) | st.sampled_from(["src/a.py", ".", "/", "../x", "rm -rf /", "ls"]),
    st.sampled_from(["plan", "ask", "edit", "auto"]),
)
def test_no_call_makes_the_decision_fail_and_no_allowance_lifts_a_denial(tool, text, mode):
    call = ToolCall("c1", tool, {"command": text, "path": text})
    plain = decided(call, mode)
    generous = decided(call, mode, rules(allow=["Bash", "Read", "Edit", "mcp__a"]))
    assert plain.verdict in ("allow", "ask", "deny")
    assert (generous.verdict == "deny") == (plain.verdict == "deny")
    strict = decided(call, mode, rules(deny=["Bash", "Read", "Edit", "mcp__a"]))
    assert strict.verdict == "deny" or tool in ("TodoWrite", "Nonesuch") or tool == "Bash"


# --- The table


def test_a_table_in_the_configuration():
    config = parse_config(
        '[permissions]\nallow = ["Bash(make test)", "Edit(src/**)"]\nmode = "edit"\nsandbox = "off"\n'
        'network = true\nvariables = ["GITHUB_TOKEN"]\nfolders = ["/srv/other"]\n',
        "holdfast.toml",
    )
    permissions = parse_permissions(config.permissions, config.where)
    assert (permissions.mode, permissions.sandbox, permissions.network) == ("edit", "off", True)
    assert permissions.variables == ("GITHUB_TOKEN",)
    assert permissions.folders == ("/srv/other",)
    assert decided(bash("make test"), permissions=permissions).verdict == "allow"
    assert parse_permissions({}, "x") == Permissions()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"alow": []}, "holdfast.toml: unknown key `permissions.alow`"),
        (
            {"allow": "Bash"},
            "holdfast.toml: `permissions.allow` should be a list of texts, found the text `Bash`",
        ),
        ({"allow": [3]}, "holdfast.toml: `permissions.allow` should hold only texts, found the number 3"),
        ({"deny": ["Raed(x)"]}, "holdfast.toml: `permissions.deny`: `Raed(x)` names no tool"),
        ({"deny": ["Read(x"]}, "holdfast.toml: `permissions.deny`: `Read(x` is not a rule"),
        ({"deny": ["Read()"]}, "holdfast.toml: `permissions.deny`: `Read()` has an empty pattern"),
        (
            {"deny": ["Read(../x)"]},
            "holdfast.toml: `permissions.deny`: `Read(../x)`: a pattern may not hold `..`",
        ),
        (
            {"deny": ["Read({a)"]},
            "holdfast.toml: `permissions.deny`: `Read({a)`: the pattern is wrong: a `{`",
        ),
        (
            {"ask": ["TodoWrite(x)"]},
            "holdfast.toml: `permissions.ask`: `TodoWrite(x)`: rules for TodoWrite take no",
        ),
        ({"ask": ["mcp__a__b(x)"]}, "`mcp__a__b(x)`: rules for mcp__a__b take no pattern"),
        ({"ask": ["mcp__"]}, "`mcp__` names no tool"),
        (
            {"allow": ["Bash(a && b)"]},
            "holdfast.toml: `permissions.allow`: `Bash(a && b)` should name one command",
        ),
        (
            {"mode": "yolo"},
            "`permissions.mode` should be one of `plan`, `ask`, `edit`, `auto`, found the text `yolo`",
        ),
        ({"mode": []}, "`permissions.mode` should be one of"),
        ({"sandbox": True}, "`permissions.sandbox` should be one of"),
        ({"network": 1}, "`permissions.network` should be true or false, found the number 1"),
        ({"folders": ["x"]}, "`x` in `permissions.folders` is not the path of a folder"),
        ({"folders": ["/"]}, "`/` in `permissions.folders` is not the path of a folder"),
        ({"hidden": ["secret.txt"]}, "`secret.txt` in `permissions.hidden` is not the path"),
        ({"hidden": ["!~/*.pem"]}, "`!~/*.pem` in `permissions.hidden` is not the path"),
        ({"deny": ["Bash(a) with network"]}, "`Bash(a) with network` names an access level"),
    ],
    ids=range(21),
)
def test_a_mistake_is_named_with_its_rule_and_file(table, sentence):
    with pytest.raises(ConfigError) as caught:
        parse_permissions(table, "holdfast.toml")
    assert sentence in caught.value.message


def test_the_nearest_tool_is_named():
    with pytest.raises(ConfigError) as caught:
        parse_permissions({"deny": ["Raed(x)"]}, "holdfast.toml")
    assert "did you mean `Read`?" in caught.value.hint
    assert parse_permissions({"deny": ["Fetch"]}, "x", tools=["Fetch"]).deny[0].text == "Fetch"
