"""Shell scripts: their simple commands, what they do to files, and which of them only look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tool_use.shell_commands import simple_commands, without_heredocs
from holdfast.views.shell import file_effects, only_reads


def effects(script, **how):
    return [(effect.path, effect.effect) for effect in file_effects(script, **how)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo hi > a.txt", [("a.txt", "written")]),
        ("echo hi >> logs/a.txt 2>&1", [("logs/a.txt", "changed")]),
        ("make 2>/dev/null >out.log", [("out.log", "written")]),
        ("cat > src/x.py << 'EOF'\nrm y.py > z\nEOF\n", [("src/x.py", "written")]),
        ("git commit -m \"$(cat <<'EOF'\nBy: A <a@example.com>\nEOF\n)\"", []),
        ("rm -rf build old.py", [("build", "deleted"), ("old.py", "deleted")]),
        (
            "cd /repo && rm a.py && cd sub; rm b.py",
            [("/repo/a.py", "deleted"), ("/repo/sub/b.py", "deleted")],
        ),
        ("mv a.py b.py", [("a.py", "deleted"), ("b.py", "written")]),
        (
            "git mv a.py b.py lib/",
            [("a.py", "deleted"), ("lib/a.py", "written"), ("b.py", "deleted"), ("lib/b.py", "written")],
        ),
        ("cp 'my file.txt' to.txt", [("to.txt", "written")]),
        ("sed -i '' 's/a > b/c/' x.ts y.ts", [("x.ts", "changed"), ("y.ts", "changed")]),
        ("sed -i -e s/a/b/ -e s/c/d/ x.ts", [("x.ts", "changed")]),
        ("perl -pi -e 's/rm x/y/' z.pl", [("z.pl", "changed")]),
        ("sed -n '1,5p' x.ts", []),
        ("make | tee -a build.log", [("build.log", "changed")]),
        ("touch new.py", [("new.py", "written")]),
        ("curl -s -o page.html https://example.com", [("page.html", "written")]),
        ("rm *.pyc $FILE", []),
        ("# rm this\nls", []),
        ("grep 'a > b' x", []),
        ("git rm --cached x.py", []),
        ("python3 - <<'PY'\nopen('gen.py', 'w').write(x)\nopen('in.py').read()\nPY", [("gen.py", "written")]),
        (
            "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n*** End Patch\nE",
            [("a.py", "written"), ("b.py", "deleted")],
        ),
        (
            'const p = "*** Begin Patch\\n*** Update File: /t/w.json\\n@@\\n*** End Patch";',
            [("/t/w.json", "changed")],
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_a_script_does_to_files(script, expected):
    assert effects(script) == expected


def test_of_a_script_that_failed_the_last_command_did_nothing():
    assert effects("sed -i s/a/b/ x.py && rm y.py && pytest > log", is_failed=True) == [
        ("x.py", "changed"),
        ("y.py", "deleted"),
    ]
    assert effects("rm y.py", is_failed=True) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat a.py | grep x | head -5", True),
        ("cd src && git log --oneline", True),
        ("git diff; git status", True),
        ("gh pr view 12", True),
        ("sed -n '1,9p' a.py", True),
        ("cat > a.py <<EOF\nx\nEOF", False),
        ("ls && rm a.py", False),
        ("git commit -m x", False),
        ("gh pr create", False),
        ("echo x > a", False),
        ("pytest | tail", False),
        ("", False),
    ],
    ids=str,
)
def test_what_only_looks(script, expected):
    assert only_reads(script) == expected


def test_commands_lose_their_quotes_and_what_leads_up_to_them():
    commands = simple_commands("sudo FOO=1 echo \"a b\" 'c d' e\\ f && (time ls)")
    assert [command.words for command in commands] == [["echo", "a b", "c d", "e f"], ["ls"]]


def test_documents_are_left_out():
    assert without_heredocs("cat <<A > x\n1\n2\nA\nls") == "cat <<A > x\nls"


@given(st.text(st.sampled_from("ab/.'\"\\$<>|&;()`\n#- EOF*{}=rmv"), max_size=300))
def test_no_script_is_too_odd(script):
    for path, _ in effects(script):
        assert path
        assert not set(path) & set("$`*<>|;&\n")
    only_reads(script)
