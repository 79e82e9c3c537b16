"""Needs: what an action used, found in its arguments, by hand-made examples."""

from msgspec.structs import replace

from holdfast.lab.evidence.needs import DEFAULT_MEASURE, KnownText, known_from
from support.evidence import called, needs_of, result, user

READ = called("c1", "Read", file_path="src/app/main.py")
SHOWN = result("c1", "    10→def load_settings(path):\n    11→    return parse(path)\n    12→")


def test_a_line_that_stood_in_a_result_is_a_need():
    edit = called(
        "c2", "Edit", file_path="other.txt", old_string="    return parse(path)\nno such line anywhere"
    )
    assert [(n.kind, n.text) for n in needs_of(edit, READ, SHOWN)] == [("line", "return parse(path)")]


def test_short_lines_and_lines_without_letters_are_none():
    before = result("c1", "x = 1\n================================")
    edit = called("c2", "Edit", old_string="x = 1\n================================")
    assert needs_of(edit, READ, before) == []


def test_a_line_of_one_token_is_a_name():
    listing = result("c0", "src/app/first_module.py\nsrc/app/second_module.py")
    (need,) = needs_of(called("c2", "Read", file_path="src/app/second_module.py"), listing)
    assert (need.kind, need.is_line) == ("name", False)


def test_names_are_needs_where_a_result_or_the_user_introduced_them():
    asked = user("Look at the function load_settings, it fails.")
    (need,) = needs_of(called("c2", "Grep", pattern="load_settings"), asked)
    assert (need.kind, need.text) == ("name", "load_settings")


def test_what_the_agent_itself_introduced_is_state():
    before = [
        user("do it"),
        called("c1", "Bash", command="git checkout -b fix_settings"),
        result("c1", "Switched to fix_settings"),
    ]
    (need,) = needs_of(called("c2", "Bash", command="git push origin fix_settings"), *before)
    assert (need.kind, need.text) == ("state", "fix_settings")


def test_an_own_command_repeated_is_state():
    before = [called("c1", "Bash", command="make test lint all"), result("c1", "ok")]
    (need,) = needs_of(called("c2", "Bash", command="make test lint all"), *before)
    assert (need.kind, need.is_line) == ("state", True)


def test_numbers_in_arguments_count_too():
    (need,) = needs_of(called("c2", "Cancel", order=12345678), user("The order is 12345678."))
    assert need.text == "12345678"


def test_names_of_the_system_prompt_and_the_tools_are_none():
    known = known_from(["Use load_settings for it.", '{"name":"fetch_rows"}'], lambda _: False)
    before = user("load_settings and fetch_rows and other_name")
    action = called("c2", "Grep", pattern="load_settings|fetch_rows|other_name")
    assert [n.text for n in needs_of(action, before, known=known)] == ["other_name"]


def test_common_names_are_none():
    known = KnownText(frozenset(), frozenset(), {"package.json"}.__contains__)
    before = user("read package.json\nthen my_module.json")
    action = called("c2", "Bash", command="cat package.json my_module.json")
    assert [n.text for n in needs_of(action, before, known=known)] == ["my_module.json"]


def test_needs_from_one_source_line_collapse_to_one():
    before = user("rename first_name to second_name in src/third/file_name.py")
    action = called("c2", "Edit", file_path="src/third/file_name.py", old="first_name", new="second_name")
    assert len(needs_of(action, before)) == 1


def test_a_path_that_is_a_need_takes_its_last_part_along():
    before = user("see src/app/main.py\nand elsewhere main.py alone")
    assert [n.text for n in needs_of(called("c2", "Read", file_path="src/app/main.py"), before)] == [
        "src/app/main.py"
    ]


def test_a_copy_that_was_edited_since_is_no_source():
    edit = called(
        "c2", "Edit", file_path="src/app/main.py", old_string="return parse(path)", new_string="pass"
    )
    again = called("c3", "Edit", file_path="src/app/main.py", old_string="def load_settings(path):")
    before = [READ, SHOWN, edit, result("c2", "The file was updated.")]
    assert "def load_settings(path):" not in [n.text for n in needs_of(again, *before)]
    failed = [READ, SHOWN, edit, result("c2", "Error: string not found")]
    assert "def load_settings(path):" in [n.text for n in needs_of(again, *failed)]


def test_a_new_read_after_the_edit_is_a_source_again():
    edit = called(
        "c2", "Edit", file_path="src/app/main.py", old_string="return parse(path)", new_string="pass"
    )
    again = called("c3", "Read", file_path="src/app/main.py")
    before = [READ, SHOWN, edit, result("c2", "ok"), again, result("c3", SHOWN["content"])]
    action = called("c4", "Edit", file_path="src/app/main.py", old_string="def load_settings(path):")
    assert "def load_settings(path):" in [n.text for n in needs_of(action, *before)]


def test_age_and_distance_count_from_where_it_was_last_seen():
    before = [user("the name is some_name"), called("c1", "Bash", command="ls"), result("c1", "word " * 100)]
    (need,) = needs_of(called("c2", "Grep", pattern="some_name"), *before)
    assert (need.age, need.seen) == (2, 0)
    assert 100 < need.distance < 120
    mentioned = [*before, user("some_name again, with more words to it")]
    (need,) = needs_of(called("c2", "Grep", pattern="some_name"), *mentioned)
    assert (need.age, need.seen, need.distance) == (1, 3, 0)


def test_hard_means_old_and_far():
    steps = [
        m for i in range(6) for m in (called(f"s{i}", "Bash", command="ls"), result(f"s{i}", "word " * 50))
    ]
    (need,) = needs_of(called("c2", "Grep", pattern="some_name"), user("some_name it is"), *steps)
    assert need.age == 7
    assert need.is_hard(DEFAULT_MEASURE, 500)
    assert not need.is_hard(DEFAULT_MEASURE, 2_000)
    assert not need.is_hard(replace(DEFAULT_MEASURE, hard_steps=7), 500)


def test_the_lengths_are_numbers_of_the_measure():
    before = user("short_ is a name\nand this is a line of text")
    action = called("c2", "Grep", pattern="short_", text="and this is a line of text")
    assert len(needs_of(action, before, measure=replace(DEFAULT_MEASURE, name_length=7))) == 1
    assert len(needs_of(action, before, measure=replace(DEFAULT_MEASURE, line_length=60, name_length=7))) == 0
