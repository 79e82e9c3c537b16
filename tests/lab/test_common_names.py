"""Names that many projects share: counted by project, never by the one that is measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.lab.case import RecordedTurn, ReplayCase
from holdfast.lab.evidence.common_names import (
    CommonNames,
    count_names,
    read_names,
    shipped_names,
    write_names,
)
from holdfast.lab.evidence.indexed_message import names_in
from holdfast.lab.evidence.needs import DEFAULT_MEASURE
from support.evidence import called, result, user


def case(project: str, *messages: dict, stable: str = "") -> ReplayCase:
    return ReplayCase(
        "r", project, (stable,), tuple(RecordedTurn(n, m, None) for n, m in enumerate(messages))
    )


def common(names: CommonNames, project: str, name: str, **measure: float) -> bool:
    return names.above(replace(DEFAULT_MEASURE, **measure), project)(name)


def test_what_is_shipped_can_be_read_and_is_in_order():
    names = shipped_names()
    listed = list(names.found)
    assert listed == sorted(listed)
    assert list(names.projects) == sorted(names.projects)
    assert len(names.projects) >= 8
    assert len(listed) > 100
    assert read_names("\n".join(write_names(names)), "again") == names
    assert names.about == f"{len(listed)} names shared by 2 or more of {len(names.projects)} projects"


def test_what_is_shipped_holds_names_of_several_projects_and_no_addresses():
    names = shipped_names()
    every = (1 << len(names.projects)) - 1
    for name, bits in names.found.items():
        assert bits & ~every == 0, name
        assert bits.bit_count() >= 2, name
        assert "://" not in name, name
        assert "@" not in name, name
        assert name in names_in(name) | names_in(f"x/{name}"), name


def test_a_name_is_common_in_more_projects_than_the_limit():
    names = CommonNames(("a", "b", "c", "d"), {"two_of_them": 0b0011, "three_of_them": 0b0111})
    assert not common(names, "other", "two_of_them")
    assert common(names, "other", "three_of_them")
    assert not common(names, "other", "unheard_of")
    assert common(names, "other", "two_of_them", common_projects=1)


@pytest.mark.parametrize("project", ["a", "b", "c"])
def test_a_project_does_not_count_for_itself(project):
    names = CommonNames(("a", "b", "c", "d"), {"three_of_them": 0b0111})
    assert not common(names, project, "three_of_them")
    assert common(names, "d", "three_of_them")


@pytest.mark.parametrize(
    ("projects", "most", "own"), [(8, 2, 2), (66, 2, 2), (67, 2, 2), (134, 4, 3), (200, 6, 5)]
)
def test_the_limit_is_a_share_once_there_are_many_projects(projects, most, own):
    shared = {f"in_{n}": (1 << n) - 1 for n in range(1, 10)}
    found = CommonNames(tuple(f"p{n:03}" for n in range(projects)), shared)
    assert next(n for n in range(1, 10) if common(found, "other", f"in_{n}")) == most + 1
    # The project itself is one of those that a name is in, and one fewer counts towards the share.
    assert next(n for n in range(1, 10) if common(found, "p000", f"in_{n}")) == own + 2


def test_names_of_one_project_are_left_out_however_often_it_has_them():
    many = [case("one", user("see src/app/settings.py")) for _ in range(5)]
    assert count_names(many) == CommonNames(("one",), {})


def test_names_are_counted_by_project():
    cases = [
        case("b", user("see package_lock and only_here_1")),
        case("a", result("c1", "package_lock")),
        case("c", called("c1", "Read", file_path="lib/package_lock")),
        case("b", {"role": "assistant", "content": "package_lock"}, user("shared_by_two")),
        case("c", user("nothing but shared_by_two")),
    ]
    names = count_names(cases)
    assert names.projects == ("a", "b", "c")
    assert names.found == {"package_lock": 0b111, "shared_by_two": 0b110}


def test_addresses_and_what_is_no_message_are_not_counted():
    text = user("mail some_body@example.org, see https://example.org/page_1 for some_name")
    cases = [case(name, text, stable="in_the_system_prompt") for name in "ab"]
    silent = ReplayCase("r", "c", (), (RecordedTurn(0, None, None),))
    names = count_names([*cases, silent])
    assert "some_name" in names.found
    assert "in_the_system_prompt" not in names.found
    assert not [name for name in names.found if "@" in name or "://" in name]
    assert names.projects == ("a", "b", "c")


def test_nothing_counts_to_nothing():
    assert count_names([]) == CommonNames((), {})
    assert list(write_names(CommonNames((), {}))) == ["projects"]


names = st.from_regex(r"[a-z]{3}_[a-z0-9]{2,6}", fullmatch=True)


@pytest.mark.slow
@given(st.dictionaries(names, st.integers(3, 255)))
def test_what_is_written_reads_back(found):
    common_names = CommonNames(tuple("abcdefgh"), found)
    lines = list(write_names(common_names))
    assert lines[1:] == sorted(lines[1:])
    assert read_names("\n".join(lines), "x") == common_names


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("some_name\t3\n", 1),
        ("projects\ta\tb\nsome_name\n", 2),
        ("projects\ta\tb\nsome_name\t3\nother_name\tq\n", 3),
        ("projects\ta\tb\nsome_name\t\n", 2),
        ("projects\ta\tb\nsome_name\t7\n", 2),
        ("projects\ta\tb\nsome_name\t-1\n", 2),
    ],
    ids=["empty", "no projects", "no bits", "no number", "nothing", "too many", "negative"],
)
def test_a_broken_file_is_refused_with_its_line(text, line):
    with pytest.raises(InputError, match=f"`names.tsv` line {line} ") as caught:
        read_names(text, "names.tsv")
    assert "python -m holdfast.lab.evidence.common_names" in caught.value.hint
