"""The checks on real changes: what they find, and what they let pass."""

from random import Random

import pytest
from redaction_planted import SEED, issued_keys, named_secrets

from holdfast.review.checks import MODULES, RULES
from support.review_values import check

TOKEN = "ghp_" + "R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo"
CODE = "def area(w, h):\n    return w * h\n"


def rules(findings):
    return [finding.rule for finding in findings.ranked()]


def lines(findings):
    return [(finding.path, finding.line) for finding in findings.ranked()]


def test_names_of_rules_are_their_own_and_every_rule_is_explained():
    assert len(RULES) == sum(len(module.RULES) for module in MODULES) == 22
    assert all(rule.name == name and rule.title and rule.help.endswith(".") for name, rule in RULES.items())


def test_an_ordinary_change_has_no_findings(tmp_path):
    found = check(tmp_path, {"area.py": CODE}, {"area.py": CODE.replace("w * h", "h * w")})
    assert found.kept == ()
    assert found.dropped == {}


# secrets


def test_an_added_secret_is_found_and_not_repeated(tmp_path):
    after = CODE + f'TOKEN = "{TOKEN}"\n'
    found = check(tmp_path, {"area.py": CODE}, {"area.py": after})
    assert rules(found) == ["secret"]
    assert lines(found) == [("area.py", 3)]
    assert found.kept[0].evidence == ('TOKEN = "<REDACTED>"',)
    assert found.kept[0].severity == "high"
    assert TOKEN not in repr(found)


def test_a_secret_that_was_there_or_only_moved_is_not_new(tmp_path):
    before = f'TOKEN = "{TOKEN}"\n\n\n' + CODE
    after = CODE + f'\n\n    TOKEN = "{TOKEN}"\n'
    assert rules(check(tmp_path, {"area.py": before}, {"area.py": after}, "secrets")) == []


def test_a_made_up_password_in_a_test_is_let_pass_and_a_token_is_not(tmp_path):
    after = f'def test_login():\n    login(password="hunter22")\n    login("{TOKEN}")\n'
    found = check(tmp_path, {"tests/test_login.py": "\n"}, {"tests/test_login.py": after}, "secrets")
    assert lines(found) == [("tests/test_login.py", 3)]
    assert found.kept[0].severity == "medium"


def test_a_password_in_code_is_found(tmp_path):
    found = check(tmp_path, {"a.py": "\n"}, {"a.py": 'db = connect(password="hunter22xy")\n'}, "secrets")
    assert rules(found) == ["secret"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("pnpm-lock.yaml", "      '@inquirer/password': 4.0.15(@types/node@22.13.8)"),
        (".env.example", "DB_PASSWORD=kJ8fhQ2mZx4Lw9"),
        ("src/lang/translations/br-FR.yaml", "resolve_sso_admin_password: Ger-tremen1"),
        ("src/lang/he-IL.yaml", "INVALID_TOKEN: אסימון לא תקין"),
        ("src/a.py", 'engine = connect("postgres://postgres:postgres1@localhost/db")'),
        ("src/a.py", 'key = "AKIAIOSFODNN7EXAMPLE"'),
        ("src/a.py", 'key = "sk-proj-1234567890abcdefghijklmn"'),
        ("src/a.py", 'API_TOKEN = "your-secret-token"'),
        ("src/a.c", 'auth = "AWS_SIGV4";'),
        ("src/a.vue", '<Input :value="password" :disabled="isLoading" @input="password = $event" />'),
        ("src/a.ts", "const columns = { user_password: 'u.password' };"),
        ("docs/a.md", "Authorization: Bearer kJ8fhQ2mZx4Lw9pR7tVbN3cY6sD1gH5a"),
    ],
)
def test_what_only_looks_like_a_secret_is_not_reported(tmp_path, path, line):
    assert rules(check(tmp_path, {path: "\n"}, {path: f"\n{line}\n"}, "secrets")) == []


@pytest.mark.parametrize(("path", "severity"), [("src/app.py", "high"), ("tests/test_a.py", "low")])
def test_a_private_key_is_one_finding(tmp_path, path, severity):
    body = "\n".join("kJ8fhQ2mZx4Lw9pR7tVbN3cY6sD1gH5aWq0EuXiOyPzKvMnB2jFrTlGc" for _ in range(4))
    key = f'KEY = """-----BEGIN PRIVATE KEY-----\n{body}x1\n-----END PRIVATE KEY-----"""\n'
    found = check(tmp_path, {path: "\n"}, {path: "\n" + key}, "secrets")
    assert [(one.line, one.severity) for one in found.kept] == [(3, severity)]


def test_every_key_of_a_known_issuer_is_still_reported(tmp_path):
    rng = Random(SEED)
    keys = [*issued_keys(rng), *(one for one in named_secrets(rng) if one.kind != "flag")]
    text = "\n\n\n".join(f'x = "{one.lead}{one.value}{one.tail}"' for one in keys)
    found = check(tmp_path, {"src/app.py": "\n"}, {"src/app.py": "\n\n\n" + text + "\n"}, "secrets")
    missed = {one.kind for at, one in enumerate(keys) if 4 + 3 * at not in {line for _, line in lines(found)}}
    assert missed == set()


# conflicts

CONFLICT = "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> other\n"


def test_conflict_markers_are_found(tmp_path):
    found = check(tmp_path, {"a.js": "x\n"}, {"a.js": "x\n" + CONFLICT})
    assert rules(found) == ["conflict-marker"]
    assert found.kept[0].severity == "critical"
    assert (found.kept[0].line, found.kept[0].last_line) == (2, 6)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rst", "Title\n=======\n\ntext\n"),
        ("a.md", "Title\n=======\n"),
        ("a.md", f"How a conflict looks:\n\n```\n{CONFLICT}```\n"),
        ("test_merge.py", f'TEXT = """\n{CONFLICT}"""\n'),
        ("a.js", "<<<<<<< HEAD\nnever ended\n"),
        ("a.txt", ">>>>>>> quoted\n>>>>>>> mail\n"),
    ],
    ids=["rst-title", "md-title", "md-fence", "python-string", "start-alone", "mail"],
)
def test_what_only_looks_like_a_conflict_is_let_pass(tmp_path, path, text):
    assert rules(check(tmp_path, {path: "\n"}, {path: text}, "leftovers")) == []


def test_a_python_file_that_does_not_parse_has_a_conflict(tmp_path):
    assert rules(check(tmp_path, {"a.py": "\n"}, {"a.py": CONFLICT}, "leftovers")) == ["conflict-marker"]


# leftovers


@pytest.mark.parametrize(
    ("path", "line", "rule"),
    [
        ("a.py", "    breakpoint()", "breakpoint"),
        ("a.py", "    import pdb; pdb.set_trace()", "breakpoint"),
        ("a.py", "    print(w, h)", "debug-print"),
        ("a.py", "    pass  # TODO: the other case", "note"),
        ("a.js", "  debugger;", "breakpoint"),
        ("a.ts", "  console.log(value)", "debug-print"),
        ("a.rs", "    let x = dbg!(compute(y));", "breakpoint"),
        ("a.rb", "  binding.pry", "breakpoint"),
        ("a.go", '\tfmt.Println("here", x)', "debug-print"),
        ("A.java", '    System.out.println("here");', "debug-print"),
        ("a.go", "\t// FIXME: leaks", "note"),
    ],
)
def test_leftovers_are_found(tmp_path, path, line, rule):
    head = "def area(w, h):\n" if path.endswith(".py") else "one\n"
    found = check(tmp_path, {path: head + "    x = 1\n"}, {path: head + line + "\n    x = 1\n"}, "leftovers")
    assert rules(found) == [rule]
    assert found.kept[0].line == 2


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "    print(w, file=log)"),
        ("cli/a.py", "    print(w)"),
        ("tests/test_a.py", "    print(w)"),
        ("scripts/a.js", "  console.log(value)"),
        ("a.py", '    """\n    breakpoint()\n    print(x)\n    """'),
        ("a.py", "    s = 'TODO: not a comment'"),
        ("a.md", "TODO: write this"),
        ("a.py", "    todo = []  # todos of the user"),
        ("a.js", "  // the debugger; is not here"),
    ],
)
def test_what_is_no_leftover_is_let_pass(tmp_path, path, line):
    head = "def area(w, h):\n" if path.endswith(".py") else "one\n"
    after = {path: head + line + "\n    x = 1\n"}
    assert rules(check(tmp_path, {path: head + "    x = 1\n"}, after, "leftovers")) == []


def test_in_a_file_that_prints_one_more_print_is_no_leftover(tmp_path):
    before = "def show(x):\n    print(x)\n"
    assert (
        rules(check(tmp_path, {"a.py": before}, {"a.py": before + "    print(x + 1)\n"}, "leftovers")) == []
    )


def test_a_program_may_print(tmp_path):
    after = 'def main():\n    print(1)\n\n\nif __name__ == "__main__":\n    main()\n'
    assert rules(check(tmp_path, {"b.py": "\n"}, {"b.py": "\n", "a.py": after}, "leftovers")) == []


# dangers


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("a.py", "try:\n    f()\nexcept Exception:\n    pass\n", "swallowed-error"),
        ("a.py", "try:\n    f()\nexcept:\n    pass\n", "swallowed-error"),
        ("a.py", "requests.get(url, verify=False)\n", "certificate-check-off"),
        ("a.py", "requests.get(\n    url,\n    verify=False,\n)\n", "certificate-check-off"),
        ("a.py", "context.verify_mode = ssl.CERT_NONE\n", "certificate-check-off"),
        ("a.py", "ssl._create_unverified_context()\n", "certificate-check-off"),
        ("a.py", "eval(text)\n", "text-as-code"),
        ("a.py", 'subprocess.run(f"ls {name}", shell=True)\n', "text-as-code"),
        ("a.js", "const agent = new Agent({ rejectUnauthorized: false })\n", "certificate-check-off"),
        ("a.js", "eval(code)\n", "text-as-code"),
        ("a.ts", "try { f() } catch (e) {}\n", "swallowed-error"),
        ("a.go", "\tconf := &tls.Config{InsecureSkipVerify: true}\n", "certificate-check-off"),
    ],
)
def test_dangers_are_found(tmp_path, path, text, rule):
    assert rules(check(tmp_path, {path: "\n"}, {path: "\n" + text}, "unsafe_code")) == [rule]
    assert rules(check(tmp_path / "t", {"x": ""}, {"x": "", "tests/" + path: text}, "unsafe_code")) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "try:\n    f()\nexcept KeyError:\n    pass\n"),
        ("a.py", "try:\n    f()\nexcept Exception:\n    log()\n"),
        ("a.py", "check(signature, verify=False)\n"),
        ("a.py", 'eval("1 + 1")\n'),
        ("a.py", "ast.literal_eval(text)\n"),
        ("a.py", 'subprocess.run("ls", shell=True)\n'),
        ("a.py", "model.eval()\n"),
        ("a.js", "// never eval(code)\n"),
        ("a.js", "this.eval(code)\n"),
    ],
)
def test_what_is_no_danger_is_let_pass(tmp_path, path, text):
    assert rules(check(tmp_path, {path: "\n"}, {path: "\n" + text}, "unsafe_code")) == []


# hidden characters and files


def test_characters_that_turn_or_hide_text_are_found(tmp_path):
    after = {"a.py": "is_admin = 1 # \u202e } if\u2066\n", "b.py": "us\u200ber = 1\n", "c.md": "\u202e\n"}
    found = check(tmp_path, {"x": ""}, {"x": ""} | after, "unsafe_code")
    assert sorted(rules(found)) == ["hidden-direction", "invisible-character"]


def test_files_that_a_tool_left_are_found(tmp_path):
    after = {
        "x": "",
        "a/__pycache__/b.pyc": b"\0\1",
        "c.py.orig": "x\n",
        ".env": "A=1\n",
        ".env.example": "A=\n",
    }
    found = check(tmp_path, {"x": ""}, after, "leftovers")
    assert {f.path: f.rule for f in found.kept} == {
        "a/__pycache__/b.pyc": "stray-file",
        "c.py.orig": "stray-file",
        ".env": "environment-file",
    }


def test_a_mode_is_found_where_the_file_is_no_program(tmp_path):
    files = {"a.py": "x = 1\n", "b.py": "#!/usr/bin/env python3\n"}
    found = check(tmp_path, files, files, "leftovers", executable=("a.py", "b.py"))
    assert [(f.rule, f.path, f.line) for f in found.kept] == [("executable-mode", "a.py", 0)]


# lock files that need no change


def test_a_template_that_is_no_member_of_the_workspace_has_no_lock_file(tmp_path):
    lock = "importers:\n  packages/core:\n    dependencies: {}\n"
    for folder, expected in (("packages/template", []), ("packages/core", ["lock-not-updated"])):
        path = f"{folder}/package.json"
        before = {"pnpm-lock.yaml": lock, path: '{"dependencies": {"vite": "^8.1.0"}}\n'}
        after = {**before, path: '{"dependencies": {"vite": "^8.2.0"}}\n'}
        assert rules(check(tmp_path / folder.replace("/", "-"), before, after, "dependencies")) == expected


def test_a_version_that_go_sum_has_already_needs_no_change_of_it(tmp_path):
    before = {"go.mod": "require example.org/a v1.0.0\n", "go.sum": "example.org/a v1.1.0 h1:x=\n"}
    after = {**before, "go.mod": "require example.org/a v1.1.0\n"}
    assert rules(check(tmp_path / "known", before, after, "dependencies")) == []
    after["go.mod"] = "require example.org/a v1.2.0\n"
    assert rules(check(tmp_path / "new", before, after, "dependencies")) == ["lock-not-updated"]
