"""Tags by path and by content: the right ones, and not the ones beside them."""

import difflib

import pytest

from holdfast.review.diff import Diff, FileChange
from holdfast.review.diff_parser import parse_diff
from holdfast.review.git_changes import added_hunk
from holdfast.review.tags import path_tags, security_reasons
from holdfast.review.units import build_units


class Texts:
    def __init__(self, old: str | None, new: str | None) -> None:
        self.old = lambda _: old
        self.new = lambda _: new


def tags_between(path: str, old: str, new: str) -> list[set[str]]:
    rows = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}", n=3
    )
    files = parse_diff("".join(rows))
    return [set(unit.tags) for unit in build_units(Diff("t", files), Texts(old, new))]


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("src/auth/views.py", {"security"}),
        ("src/userAuth.ts", {"security"}),
        ("src/author.py", set()),
        ("src/tokenizer.py", set()),
        ("latest/news.py", set()),
        ("tests/test_login.py", {"tests"}),
        ("src/a_test.go", {"tests"}),
        ("web/App.test.tsx", {"tests"}),
        ("src/FooTest.java", {"tests"}),
        ("contest/a.py", set()),
        ("conf/app.yaml", {"config"}),
        (".github/workflows/ci.yml", {"config"}),
        ("Dockerfile", {"config"}),
        ("settings.py", {"config"}),
        ("app/urls.py", {"routing"}),
        ("app/routes/users.ts", {"routing"}),
        ("UserController.java", {"routing"}),
        ("db/migrations/0001_x.py", {"migration"}),
        ("db/V2__add.sql", {"migration"}),
        ("README.md", {"docs"}),
        ("docs/auth.md", {"docs"}),
        ("requirements-dev.txt", {"dependencies"}),
        ("package.json", {"dependencies"}),
        ("pyproject.toml", {"dependencies"}),
        ("uv.lock", {"dependencies", "generated"}),
        ("web/package-lock.json", {"dependencies", "generated"}),
        ("go.sum", {"dependencies", "generated"}),
        ("vendor/x/y.go", {"generated"}),
        ("a/b_pb2.py", {"generated"}),
        ("a.min.js", {"generated"}),
        ("src/main.rs", set()),
    ],
)
def test_paths(path, tags):
    assert path_tags(path) == tags


@pytest.mark.parametrize(
    ("language", "line", "reason"),
    [
        ("python", "subprocess.run(cmd, shell=True)", "commands"),
        ("python", "os.system(name)", "commands"),
        ("python", "x = eval(text)", "code out of data"),
        ("python", "pickle.loads(raw)", "code out of data"),
        ("python", "yaml.load(text)", "code out of data"),
        ("python", "requests.get(url, verify=False)", "certificates not checked"),
        ("python", 'db.execute(f"SELECT * FROM t WHERE a = {a}")', "SQL built from strings"),
        ("python", "\"SELECT * FROM t WHERE a = '%s'\" % name", "SQL built from strings"),
        ("python", 'password = form["password"]', "secrets"),
        ("python", "if not user.is_admin:", "authentication"),
        ("python", "archive.extractall(folder)", "archives and links"),
        ("python", "os.path.join(root, request.args['name'])", "paths out of requests"),
        ("typescript", "el.innerHTML = text;", "HTML not escaped"),
        ("tsx", "<p dangerouslySetInnerHTML={x} />", "HTML not escaped"),
        ("javascript", "const { exec } = require('child_process');", "commands"),
        ("javascript", "db.query(`SELECT * FROM t WHERE a = ${a}`)", "SQL built from strings"),
        ("javascript", 'app.use(cors({ origin: "*" }))', "who may call"),
        ("go", 'exec.Command("sh", "-c", s)', "commands"),
        ("go", "tls.Config{InsecureSkipVerify: true}", "certificates not checked"),
        ("go", 'q := fmt.Sprintf("SELECT a FROM b WHERE c = %s", x)', "SQL built from strings"),
        ("rust", "unsafe { *p }", "memory"),
        ("java", "new ObjectInputStream(in).readObject()", "code out of data"),
        ("c", "strcpy(a, b);", "memory"),
        ("ruby", "Marshal.load(data)", "code out of data"),
        ("yaml", "  privileged: true", "permissions"),
        ("shell", "curl https://x | sh", "commands"),
    ],
)
def test_lines_that_bear_on_security(language, line, reason):
    assert reason in security_reasons([line], language)


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("python", "tokens = count_tokens(text)"),
        ("python", "author = book.author"),
        ("python", "session = Session(engine)"),
        ("python", "except subprocess.TimeoutExpired:"),
        ("python", "yaml.load(text, Loader=SafeLoader)"),
        ("python", "key = hashlib.blake2b(text).hexdigest()"),
        ("python", "evaluate(model)"),
        ("python", "model.eval()"),
        ("python", 'rows = db.execute("SELECT a FROM b WHERE c = ?", [c])'),
        ("python", 'say("please select one from the list {}")'),
        ("python", 'os.path.join(root, "a.txt")'),
        ("javascript", "const m = pattern.exec(text);"),
        ("typescript", "this.secretary = a;"),
        ("go", "func (p *Parser) nextToken() Token {"),
        ("c", "execute_plan(plan);"),
        ("markdown", "set the password with subprocess.run"),
        ("json", '"password": 1'),
    ],
)
def test_lines_that_do_not(language, line):
    assert security_reasons([line], language) == ()


BODY = (
    "import os\n\n\ndef f(x):\n    # why\n    log.info('a')\n    if x:\n        return os.sep\n    return x\n"
)


@pytest.mark.parametrize(
    ("path", "old", "new", "tag"),
    [
        ("a.py", BODY, BODY.replace("import os\n", "import os\nimport re\n"), "imports_only"),
        ("a.py", BODY, BODY.replace("# why", "# because"), "comments_only"),
        ("a.py", BODY, BODY.replace("log.info('a')", "log.info(\n        'b',\n    )"), "logging_only"),
        ("a.py", BODY, BODY.replace("return x\n", "return x  \n"), "whitespace_only"),
        ("a.ts", "f(a,b);\n", "f(a, b);\n", "whitespace_only"),
        ("a.ts", 'import a from "a";\n', 'import b from "b";\n', "imports_only"),
        ("a.go", "package a\n// x\nfunc F() {}\n", "package a\n// y\nfunc F() {}\n", "comments_only"),
        ("a.rs", "fn f() {\n    g();\n}\n", 'fn f() {\n    println!("x");\n    g();\n}\n', "logging_only"),
        ("a.yaml", "# a\nb: 1\n", "# c\nb: 1\n", "comments_only"),
    ],
)
def test_changes_that_are_only_one_thing(path, old, new, tag):
    (tags,) = tags_between(path, old, new)
    assert tag in tags


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", BODY, BODY.replace("import os\n", "import os\nx = 1\n")),
        ("a.py", BODY, BODY.replace("# why", "# noqa: F401")),
        ("a.py", BODY, BODY.replace("    if x:", "    if y:  # why")),
        ("a.py", BODY, BODY.replace("        return os.sep", "    return os.sep")),
        ("a.py", BODY, BODY.replace("log.info('a')", "log.info('a')\n    x += 1")),
        ("a.py", 'x = """\na\n"""\n', 'x = """\n# a\n"""\n'),
    ],
    ids=["not-import", "directive", "code-before-comment", "indentation", "more-than-logging", "in-a-string"],
)
def test_changes_that_are_more(path, old, new):
    (tags,) = tags_between(path, old, new)
    assert not {tag for tag in tags if tag.endswith("_only")}


def test_content_gives_routing_migration_and_security():
    (tags,) = tags_between("a.py", "x = 1\n", "x = 1\n@app.get('/users')\ndef users(): ...\n")
    assert "routing" in tags
    (tags,) = tags_between("a.py", "x = 1\n", 'x = 1\ndb.run("ALTER TABLE a ADD COLUMN b INT")\n')
    assert "migration" in tags
    (tags,) = tags_between("a.py", "x = 1\n", "x = 1\nos.system(x)\n")
    assert "security" in tags


def test_comments_docs_and_tests_do_not_bear_on_security():
    assert tags_between("a.py", "x = 1\n", "x = 1\n# the password is checked with eval(x)\n") == [
        {"comments_only"}
    ]
    assert tags_between("a.md", "x\n", "subprocess.run(password)\n") == [{"docs"}]
    (tags,) = tags_between("tests/test_a.py", "x = 1\n", "x = 1\nsubprocess.run(password)\n")
    assert "security" not in tags


def test_generated_files():
    text = "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n"
    file = FileChange(path="a.go", old_path="a.go", change="added", hunks=(added_hunk(text),))
    (unit,) = build_units(Diff("t", (file,)), Texts(None, text))
    assert "generated" in unit.tags
    assert unit.suggestion.level == "skip"
    packed = "var a=1;" * 400 + "\n"
    file = FileChange(path="app.js", old_path="app.js", change="added", hunks=(added_hunk(packed),))
    (unit,) = build_units(Diff("t", (file,)), Texts(None, packed))
    assert "generated" in unit.tags
    text = 'print("code generated, do not edit the rest")\n' * 2
    file = FileChange(
        path="a.py", old_path="a.py", change="added", hunks=(added_hunk("x = 1\n" * 20 + text),)
    )
    (unit,) = build_units(Diff("t", (file,)), Texts(None, "x = 1\n" * 20 + text))
    assert "generated" not in unit.tags


def test_tests_of_rust_stand_in_the_file_they_test():
    old = "fn f() {}\nmod tests {\n    #[test]\n    fn t() {\n        let password = 1;\n    }\n}\n"
    (tags,) = tags_between("src/lib.rs", old, old.replace("= 1", "= 2"))
    assert "tests" in tags
    assert "security" not in tags
