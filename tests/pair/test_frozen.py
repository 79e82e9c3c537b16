"""The evaluation of a design, frozen: hashes, what changed, and the approved bytes."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.pair.clean_copy import CannotCopy, copy_folder, folder_size
from holdfast.pair.frozen import ApprovedFiles, CannotFreeze, changed_files, freeze
from holdfast.pair.handover import EvaluationPlan
from support.pair_values import layout_in

PLAN = EvaluationPlan("python3 evaluate.py {iteration}", ("evaluate.py", "cases"))


@pytest.fixture
def layout(tmp_path):
    made = layout_in(tmp_path / "work")
    (made.root / "evaluate.py").write_text("print(1)\n")
    (made.root / "cases").mkdir()
    (made.root / "cases" / "a.json").write_text("{}")
    return made


def test_a_folder_is_frozen_file_by_file(layout):
    frozen = freeze(layout, PLAN)
    assert list(frozen.files) == ["cases/a.json", "evaluate.py"]
    assert changed_files(layout, frozen) == []


def test_what_was_changed_is_named(layout):
    frozen = freeze(layout, PLAN)
    (layout.root / "evaluate.py").write_text("print(2)\n")
    (layout.root / "cases" / "a.json").unlink()
    assert changed_files(layout, frozen) == ["cases/a.json", "evaluate.py"]


def test_a_folder_holds_what_was_approved_and_nothing_else(layout, tmp_path):
    frozen, approved = freeze(layout, PLAN), ApprovedFiles(tmp_path / "approved")
    approved.keep(layout, frozen)
    (layout.root / "cases" / "easy.json").write_text("{}")
    (layout.root / "cases" / "link.json").symlink_to("a.json")
    assert changed_files(layout, frozen) == ["cases/easy.json", "cases/link.json"]
    contents = approved.contents(layout, frozen)
    clean = copy_folder(layout, tmp_path / "copy", 1, contents, folders=frozen.folders)
    assert [one.name for one in (clean.root / "cases").iterdir()] == ["a.json"]


@pytest.mark.parametrize("name", ["link.json", os.fsdecode(b"\xff.json")], ids=["link", "bytes"])
def test_a_file_that_cannot_be_frozen_in_a_folder_is_named(layout, name):
    if name == "link.json":
        (layout.root / "cases" / name).symlink_to("a.json")
    else:
        (layout.root / "cases" / name).write_text("{}")
    with pytest.raises(CannotFreeze, match="cases/") as raised:
        freeze(layout, PLAN)
    assert str(raised.value).isprintable()


def test_another_command_or_limit_is_another_evaluation(layout):
    frozen = freeze(layout, PLAN)
    for plan in (replace(PLAN, command="true"), replace(PLAN, seconds=5)):
        assert freeze(layout, plan).hash != frozen.hash


@pytest.mark.parametrize("path", ["missing", "../up", "/etc/passwd", ".", "execution_outputs/iteration_1"])
def test_what_cannot_be_frozen_is_named(layout, path):
    (layout.root / "execution_outputs" / "iteration_1").mkdir(parents=True)
    with pytest.raises(CannotFreeze, match="`"):
        freeze(layout, replace(PLAN, inputs=(path,)))


def test_the_approved_bytes_are_kept_whatever_happens_to_the_files(layout, tmp_path):
    frozen, approved = freeze(layout, PLAN), ApprovedFiles(tmp_path / "approved")
    approved.keep(layout, frozen)
    (layout.root / "evaluate.py").write_text("print(2)\n")
    assert approved.contents(layout, frozen)["evaluate.py"] == b"print(1)\n"


def test_a_kept_copy_that_was_changed_is_not_used(layout, tmp_path):
    frozen, approved = freeze(layout, PLAN), ApprovedFiles(tmp_path / "approved")
    approved.keep(layout, frozen)
    (tmp_path / "approved" / frozen.files["evaluate.py"]).write_text("print(3)\n")
    assert approved.contents(layout, frozen)["evaluate.py"] == b"print(1)\n", "the folder still has it"
    (layout.root / "evaluate.py").write_text("print(2)\n")
    with pytest.raises(CannotFreeze, match="no approved copy is left"):
        approved.contents(layout, frozen)


def test_a_copy_has_no_outputs_but_the_samples_and_follows_no_link(layout, tmp_path):
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (layout.root / "link").symlink_to(outside)
    layout.prepare(2)
    there = layout.root / layout.outputs.iteration(2)
    (there / "samples" / "s1.json").write_text("{}")
    (there / "evaluation_results" / "s1.json").write_text('{"passed": true}')
    clean = copy_folder(layout, tmp_path / "copy", 2, {})
    copied = clean.root / clean.outputs.iteration(2)
    assert (copied / "samples" / "s1.json").exists()
    assert [*(copied / "evaluation_results").iterdir()] == []
    assert (clean.root / "link").is_symlink()


@given(blocker=st.sampled_from(["link", "file", "folder", "other"]), data=st.binary(max_size=40))
def test_approved_files_stand_in_the_copy_whatever_is_in_their_way(tmp_path_factory, blocker, data):
    top = tmp_path_factory.mktemp("blocked")
    layout = layout_in(top / "work")
    outside = top / "outside"
    outside.mkdir()
    place = layout.root / "checks"
    match blocker:
        case "link":
            place.symlink_to(outside)
        case "file":
            place.write_text("in the way")
        case "folder":
            (place / "evaluate.py").mkdir(parents=True)
        case _:
            place.mkdir()
            (place / "evaluate.py").symlink_to(outside / "elsewhere")
    clean = copy_folder(layout, top / "copy", 1, {"checks/evaluate.py": data})
    target = clean.root / "checks" / "evaluate.py"
    assert not target.is_symlink()
    assert target.read_bytes() == data
    assert [*outside.iterdir()] == [], "nothing is written through a link"


def test_a_copy_leaves_out_the_folder_that_it_is_made_in(layout):
    inside = layout.root / "own" / "pairs"
    clean = copy_folder(layout, inside / "run" / "work", 1, {}, without=inside)
    assert [*(clean.root / "own").iterdir()] == []


def test_links_in_the_way_of_the_samples_are_not_followed(layout, tmp_path):
    (tmp_path / "outside" / "iteration_1" / "samples").mkdir(parents=True)
    (tmp_path / "outside" / "iteration_1" / "samples" / "s1.json").write_text("{}")
    (layout.root / "execution_outputs").symlink_to(tmp_path / "outside")
    clean = copy_folder(layout, tmp_path / "copy", 1, {})
    assert [*(clean.root / clean.outputs.iteration(1) / "samples").iterdir()] == []


def test_many_small_files_count_for_the_size_of_a_folder(tmp_path):
    for number in range(10):
        (tmp_path / str(number)).touch()
    assert folder_size(tmp_path) >= 10 * 4_096


def test_a_folder_that_is_too_large_gets_a_sentence(layout, tmp_path):
    with (layout.root / "huge").open("wb") as file:
        file.truncate(3_000_000_000)
    with pytest.raises(CannotCopy, match="too large"):
        copy_folder(layout, tmp_path / "copy", 1, {})
