"""Skills: found, listed within a budget, loaded on use; and a bad one never spoils the others."""

import asyncio
import contextlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.skill import fill_placeholders, list_skills, skill_tool
from holdfast.tools.skill_files import (
    FrontmatterError,
    Skill,
    SkillFolder,
    Skills,
    is_name,
    parse_document,
    project_folders,
    read_text,
    read_texts,
)
from holdfast.tools.workspace import Workspace


@pytest.fixture
def root(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def put(folder, name, text):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(text, "utf-8")
    return folder / name


def skill_text(name, description="Does things.", body="Do it.", more=""):
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n"


def use(skills, root, name, arguments=""):
    tool = skill_tool(skills)
    return asyncio.run(tool.run({"name": name, "arguments": arguments}, Workspace([root])))


def test_a_skill_is_listed_and_loaded_only_on_use(root):
    folder = put(root / ".claude/skills", "pdf", skill_text("pdf", body="Fill in $ARGUMENTS carefully."))
    (folder / "scripts").mkdir()
    (folder / "scripts" / "fill.py").write_text("pass")
    (folder / "forms.md").write_text("# Forms")
    (folder / ".hidden").write_text("")
    skills = Skills(project_folders(root))
    description = skill_tool(skills).definition.description
    assert description.endswith("Skills:\n- pdf: Does things.")
    assert "carefully" not in description
    result = use(skills, root, "pdf", "form 7.pdf")
    assert result.envelope.text == (
        "Skill `pdf`, in .claude/skills/pdf\nFiles that belong to it: forms.md, scripts/fill.py\n\n"
        "Fill in form 7.pdf carefully."
    )
    assert result.envelope.data == {
        "name": "pdf",
        "folder": ".claude/skills/pdf",
        "files": 2,
        "allowed_tools": [],
    }


def test_a_changed_or_new_or_removed_skill_is_seen_at_the_next_use(root):
    folder = put(root / ".holdfast/skills", "one", skill_text("one", body="old text"))
    skills = Skills(project_folders(root))
    tool = skill_tool(skills)
    before = tool.definition.description
    assert "old text" in use(skills, root, "one").envelope.text
    (folder / "SKILL.md").write_text(skill_text("one", body="new text"))
    put(root / ".holdfast/skills", "two", skill_text("two", body="a second"))
    assert "new text" in use(skills, root, "one").envelope.text
    assert "a second" in use(skills, root, "two").envelope.text
    assert tool.definition.description == before
    (folder / "SKILL.md").unlink()
    gone = use(skills, root, "one")
    assert gone.envelope.error.code == "NOT_FOUND"
    assert "There are: two." in gone.envelope.text


def test_bad_skills_are_warnings_with_their_line_and_the_rest_work(root):
    folder = root / ".claude/skills"
    put(folder, "good", skill_text("good"))
    put(folder, "no-head", "# Just text\n")
    put(folder, "open-head", "---\nname: x\n")
    put(folder, "bad-line", "---\nname: bad-line\ndescription: ok\nwhat is this\n---\ntext")
    put(folder, "bad-name", skill_text("Bad Name"))
    put(folder, "quote", '---\nname: quote\ndescription: "never closed\n---\ntext')
    put(folder, "anchor", "---\nname: anchor\ndescription: *other\n---\ntext")
    put(folder, "silent", "---\nname: silent\n---\n# Title\n")
    put(folder, "bytes", "")
    (folder / "bytes" / "SKILL.md").write_bytes(b"---\nname: bytes\n\xff\n---\n")
    put(folder, "huge", skill_text("huge", body="x" * 300_000))
    (folder / "empty").mkdir()
    skills = Skills(project_folders(root))
    assert list(skills.by_name) == ["good"]
    said = {w.split("skills/")[1].split("/")[0]: w.split("SKILL.md")[1] for w in skills.warnings}
    assert said == {
        "no-head": ", line 1: the file does not begin with `---`; the skill is left out",
        "open-head": ", line 1: the head is not closed by a second `---`; the skill is left out",
        "bad-line": ", line 4: `what is this` is not a `key: value`; the skill is left out",
        "bad-name": ", line 2: the name `Bad Name` does not fit: 1 to 64 lowercase letters, digits and single "
        "hyphens; the skill is left out",
        "quote": ", line 3: a quoted text has no closing quote; the skill is left out",
        "anchor": ", line 3: a reference is not understood here; quote the text; the skill is left out",
        "silent": ", line 1: there is no `description`; the skill is left out",
        "bytes": ": byte 16 is not UTF-8; the skill is left out",
        "huge": ": the file is larger than 262144 bytes; the skill is left out",
    }


def test_of_two_with_one_name_the_first_folder_counts(root):
    put(root / ".holdfast/skills", "a", skill_text("same", body="ours"))
    put(root / ".claude/skills", "b", skill_text("same", body="theirs"))
    skills = Skills(project_folders(root))
    assert "ours" in use(skills, root, "same").envelope.text
    assert len(skills.warnings) == 1
    assert "is already given by" in skills.warnings[0]


def test_a_link_in_a_project_never_shows_what_lies_outside(root, tmp_path):
    put(tmp_path / "secret", "x", skill_text("leak", body="outside"))
    put(root / "shared", "inner", skill_text("inner", body="inside"))
    (root / ".claude" / "skills").mkdir(parents=True)
    (root / ".claude/skills/leak").symlink_to(tmp_path / "secret" / "x")
    (root / ".claude/skills/inner").symlink_to(root / "shared" / "inner")
    (root / ".claude/skills/file").mkdir()
    (root / ".claude/skills/file/SKILL.md").symlink_to(tmp_path / "secret/x/SKILL.md")
    skills = Skills(project_folders(root))
    assert list(skills.by_name) == ["inner"]
    assert all("lies outside the workspace" in warning for warning in skills.warnings)
    assert len(skills.warnings) == 2


def test_a_folder_of_the_users_own_may_have_links_and_is_named_whole(root, tmp_path):
    put(tmp_path / "dotfiles", "mine", skill_text("mine", body="see ${CLAUDE_SKILL_DIR}/x.md"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mine").symlink_to(tmp_path / "dotfiles" / "mine")
    skills = Skills([SkillFolder(tmp_path / "home")])
    text = use(skills, root, "mine").envelope.text
    assert f"see {tmp_path}/home/mine/x.md" in text


def test_a_pipe_or_a_folder_named_like_a_skill_is_left_out(root):
    for name in ("pipe", "folder"):
        (root / ".claude/skills" / name).mkdir(parents=True)
    os.mkfifo(root / ".claude/skills/pipe/SKILL.md")
    (root / ".claude/skills/folder/SKILL.md").mkdir()
    assert len(Skills(project_folders(root)).warnings) == 2


def test_what_only_people_may_start_is_neither_listed_nor_loaded(root):
    text = skill_text("deploy", more="disable-model-invocation: true\n")
    put(root / ".claude/skills", "deploy", text)
    skills = Skills(project_folders(root))
    assert "There are no skills." in skill_tool(skills).definition.description
    assert use(skills, root, "deploy").envelope.error.code == "ACCESS_DENIED"


def test_commands_in_a_skill_are_never_run_and_the_model_is_told(root):
    body = f"Now: !`touch {root}/made`"
    put(
        root / ".claude/skills",
        "run",
        skill_text("run", body=body, more="allowed-tools: Bash(git:*), Read\n"),
    )
    result = use(Skills(project_folders(root)), root, "run")
    assert body in result.envelope.text
    assert "were not run" in result.envelope.text
    assert "Tools it is written for: Bash(git:*), Read" in result.envelope.text
    assert not (root / "made").exists()


@given(
    st.lists(st.tuples(st.text("ab c", max_size=400), st.text("[x]", max_size=200)), max_size=30),
    st.integers(0, 6000),
)
def test_the_list_fits_the_budget_and_says_what_it_leaves_out(tmp_path_factory, given_skills, budget):
    path = tmp_path_factory.getbasetemp()
    skills = [
        Skill(f"skill-{n}", f"d{text}", path, "", argument_hint=hint)
        for n, (text, hint) in enumerate(given_skills)
    ]
    listed = list_skills(skills, budget)
    rows = [row for row in listed.split("\n") if row.startswith("- ")]
    names = sum(len(f"- {skill.name}") + 3 for skill in skills)
    hints = sum(len(f" {skill.argument_hint}") for skill in skills if skill.argument_hint)
    assert sum(map(len, rows)) + len(rows) <= budget
    assert len(rows) == len(skills) or (names > budget and listed.endswith(f"fit {budget} characters.)"))
    heads = [f"- {skill.name}{' ' if skill.argument_hint else ''}{skill.argument_hint}" for skill in skills]
    is_whole = rows == [f"{head}: {skill.description}" for head, skill in zip(heads, skills, strict=True)]
    assert is_whole or listed.endswith(")") or hints
    assert not is_whole or names + hints + sum(len(skill.description) for skill in skills) <= budget


def test_a_thousand_skills_of_a_stranger_do_not_fill_the_window(root):
    for number in range(300):
        more = f"argument-hint: {'[x]' * 60}\n"
        put(root / ".claude/skills", f"s{number}", skill_text(f"name-{'x' * 50}-{number}", more=more))
    skills = Skills(project_folders(root))
    assert len(skills.by_name) == 300
    assert len(skill_tool(skills).definition.description) < 12_000
    last = list(skills.by_name)[-1]
    assert last not in skill_tool(skills).definition.description
    assert use(skills, root, last).envelope.status == "success"


@pytest.mark.parametrize(
    "head",
    [
        f"description: a{' ' * 200_000}b",
        f"description: ok\nallowed-tools: a{chr(9) * 200_000}b",
        f"description: ok\nallowed-tools: [ x{chr(34) + chr(39)}" + "\"'" * 100_000 + "]",
        f"description: ok\narguments: [{', '.join(f'n{n}' for n in range(20_000))}]",
    ],
    ids=["blanks", "tabs", "quotes", "names"],
)
def test_a_head_made_to_take_long_is_read_at_once(root, head):
    """Each took from seconds to hours: looked at again from every blank, or joined again for every letter."""
    put(root / ".claude/skills", "slow", f"---\nname: slow\n{head}\n---\n$n7 and $n99\n")
    skills = Skills(project_folders(root))
    assert list(skills.by_name) == ["slow"]
    assert use(skills, root, "slow", "a b c d e f g h").envelope.status == "success"


def test_a_text_does_not_grow_without_bounds(root):
    put(root / ".claude/skills", "bomb", skill_text("bomb", body="$ARGUMENTS" * 20_000))
    skills = Skills(project_folders(root))
    assert "more than 1000000 characters" in use(skills, root, "bomb", "x" * 20_000).envelope.text
    assert use(skills, root, "bomb", "x" * 20).envelope.status == "success"


def test_an_argument_without_a_name_takes_no_dollar_sign():
    assert fill_placeholders("costs $ 5, $b", "one two", ["", "b"], "f") == "costs $ 5, two"


def test_what_is_not_shown_does_not_stand_in_the_list(root):
    put(root / ".claude/skills", "odd", '---\nname: odd\ndescription: "a\\e[2J\\u200bb\\0c"\n---\nx\n')
    assert "- odd: a[2Jbc" in skill_tool(Skills(project_folders(root))).definition.description


def test_a_folder_that_became_a_link_shows_no_names_of_elsewhere(root, tmp_path):
    folder = put(root / ".claude/skills", "one", skill_text("one"))
    skills = Skills(project_folders(root))
    elsewhere = put(tmp_path / "elsewhere", "one", "")
    (elsewhere / "SKILL.md").unlink()
    # The very file, so that nothing seems to have changed.
    os.link(folder / "SKILL.md", elsewhere / "SKILL.md")
    (elsewhere / "secret.txt").write_text("")
    folder.rename(root / "aside")
    folder.symlink_to(elsewhere)
    assert "secret" not in use(skills, root, "one").envelope.text


def test_what_does_not_fit_is_cut_where_it_is_long_and_said(tmp_path):
    skills = [Skill("short", "brief", tmp_path, ""), Skill("long", "word " * 100, tmp_path, "")]
    listed = list_skills(skills, 120)
    assert "- short: brief" in listed
    assert "…\n(1 of 2 descriptions are cut to 96 characters.)" in listed
    assert "The descriptions of 2 skills are left out" in list_skills(skills, 40)


@pytest.mark.parametrize(
    ("text", "arguments", "filled"),
    [
        ("fix $ARGUMENTS now", "a b", "fix a b now"),
        ("$0 and $1, $ARGUMENTS[0]", "'a b' c", "a b and c, a b"),
        ("costs $5, awk '{print $1}'", "only", "costs $5, awk '{print $1}'\n\nARGUMENTS: only"),
        ("costs $5", "", "costs $5"),
        ("$issue by $issue-owner", "12 me", "12 by me"),
        ("$issue by $issue-owner", "", " by "),
        (r"keep \$ARGUMENTS and \$0, $HOME", "a", "keep $ARGUMENTS and $0, $HOME\n\nARGUMENTS: a"),
        ("$ARGUMENTSX $0", "a", "$ARGUMENTSX a"),
        ("$ARGUMENTS", "$0 $ARGUMENTS !`rm`", "$0 $ARGUMENTS !`rm`"),
        ("$0", "it's", "it's"),
        ("run ${CLAUDE_SKILL_DIR}/x and ${OTHER}", "", "run the/folder/x and ${OTHER}"),
        ("$10", "a b c d e f g h i j k", "k"),
    ],
)  # fmt: skip
def test_placeholders(text, arguments, filled):
    assert fill_placeholders(text, arguments, ["issue", "issue-owner"], "the/folder") == filled


@given(st.text("$ARGUMENTS[0]{}\\1a ", max_size=60))
def test_what_was_put_in_is_never_looked_at_again(arguments):
    filled = fill_placeholders("<$ARGUMENTS>", arguments, ["a"], "f")
    assert filled == f"<{arguments}>"


HEAD = """---
# a comment
name: "quoted \\"name\\" \\u00e9"
single: 'it''s'
plain: Use when: the user asks # a comment
long: first
  second
folded: >-
  one
  two

  three
literal: |
  a
    b
flow: [Read, "Grep, too", Bash(git add:*, git commit)]
dashes:
  - one   # c
  - 'two'
margin:
- three
words: one two
commas: a, b c, Bash(x, y)
metadata:
  author: somebody
  deep: {a: 1}
empty:
---
body --- here
---
end
"""


def test_the_forms_that_heads_are_written_in():
    document = parse_document(HEAD)
    texts = {
        key: read_text(document.field(key))
        for key in ("name", "single", "plain", "long", "folded", "literal", "empty")
    }
    assert texts == {
        "name": 'quoted "name" é',
        "single": "it's",
        "plain": "Use when: the user asks",
        "long": "first second",
        "folded": "one two\n\nthree",
        "literal": "a\n  b",
        "empty": "",
    }
    lists = {
        key: read_texts(document.field(key))
        for key in ("flow", "dashes", "margin", "words", "commas", "nothing")
    }
    assert lists == {
        "flow": ["Read", "Grep, too", "Bash(git add:*, git commit)"],
        "dashes": ["one", "two"],
        "margin": ["three"],
        "words": ["one", "two"],
        "commas": ["a", "b c", "Bash(x, y)"],
        "nothing": [],
    }
    assert document.body == "body --- here\n---\nend"


@given(st.text(max_size=200))
def test_no_head_makes_the_reader_fail_otherwise_than_by_saying_so(text):
    with contextlib.suppress(FrontmatterError):
        document = parse_document(f"---\n{text}\n---\nbody")
        for key in document.fields:
            read_text(document.field(key))
            read_texts(document.field(key))


@pytest.mark.parametrize(
    ("name", "fits"),
    [("pdf", True), ("a-b-2", True), ("翻译", True), ("A", False), ("-a", False), ("a--b", False), ("", False),
     ("a_b", False), ("a/b", False), ("x" * 65, False)],
)  # fmt: skip
def test_names(name, fits):
    assert is_name(name) is fits
