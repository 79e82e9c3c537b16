"""Diffs are read out of real repositories, whole, and nothing that a repository names is run."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from holdfast.errors import InputError, NotFound
from holdfast.review import repository as repository_module
from holdfast.review.diff import FileChange
from holdfast.review.git_changes import read_diff, read_diff_text
from holdfast.review.repository import open_repository
from holdfast.review.versions import (
    BATCH,
    BATCH_BYTES,
    PrefetchedTexts,
    disk_texts,
    git_texts,
    read_inside,
)
from support.review_repos import Repo

TEN = "".join(f"line {i}\n" for i in range(1, 11))


@pytest.fixture
def repo(tmp_path):
    return Repo(tmp_path / "repo")


def by_path(files) -> dict[str, FileChange]:
    return {file.path: file for file in files}


def test_working_has_tracked_staged_and_untracked_changes(repo):
    repo.commit({"a.txt": TEN, "b.txt": "b\n", "c.txt": "c\n"})
    repo.write("a.txt", TEN.replace("line 5", "line five"))
    repo.write("b.txt", "staged\n")
    repo.git("add", "b.txt")
    repo.write("new file.txt", "1\n2")
    repo.write(".gitignore", "ignored\n")
    repo.write("ignored", "x")
    (repo.folder / "c.txt").unlink()

    diff, versions = read_diff(repo.folder, "working")

    assert diff.title == "working"
    files = by_path(diff.files)
    assert {path: file.change for path, file in files.items()} == {
        "a.txt": "modified",
        "b.txt": "modified",
        "c.txt": "deleted",
        ".gitignore": "added",
        "new file.txt": "added",
    }
    assert versions.old("a.txt") == TEN
    assert versions.new("a.txt") == TEN.replace("line 5", "line five")
    assert versions.old("c.txt") == "c\n"
    assert versions.new("c.txt") is None
    assert versions.old("new file.txt") is None
    (hunk,) = files["new file.txt"].hunks
    assert [(line.text, line.end, line.new) for line in hunk.lines] == [("1", "\n", 1), ("2", "", 2)]


def test_untracked_files_look_as_git_shows_them_once_added(repo):
    repo.commit({"a.txt": "a\n"})
    repo.write("crlf.txt", "one\r\ntwo\r\nthree")
    repo.write("空 格/文件.py", "def f():\n    return '\u2028\x0c'\n")
    repo.write("empty", "")
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    repo.write("picture.png", b"\x89PNG\0\0")
    (repo.folder / "link").symlink_to("a.txt")
    untracked = read_diff(repo.folder, "working")[0].files
    repo.git("add", "-A")
    assert by_path(untracked) == by_path(read_diff(repo.folder, "staged")[0].files)


def test_what_is_not_read_is_still_there(repo):
    repo.commit({"a.txt": "a\n"})
    repo.write("large.csv", "1,2,3\n" * 300_000)
    inner = Repo(repo.folder / "inner")
    inner.commit({"x": "x\n"})
    files = by_path(read_diff(repo.folder, "working")[0].files)
    assert files["large.csv"].note.startswith("too large")
    assert files["large.csv"].hunks == ()
    assert files["inner"].is_submodule


def test_a_repository_without_commits(repo):
    repo.write("a.py", "a = 1\n")
    repo.write("b.py", "b = 1\n")
    repo.git("add", "a.py")
    diff, versions = read_diff(repo.folder, "working")
    assert [(file.path, file.change) for file in diff.files] == [("a.py", "added"), ("b.py", "added")]
    assert versions.new("a.py") == "a = 1\n"
    assert versions.old("a.py") is None
    staged, staged_versions = read_diff(repo.folder, "staged")
    assert [file.path for file in staged.files] == ["a.py"]
    assert staged_versions.new("a.py") == "a = 1\n"


def test_staged_shows_the_index_and_not_the_disk(repo):
    repo.commit({"a.txt": "one\n"})
    repo.write("a.txt", "two\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "three\n")
    diff, versions = read_diff(repo.folder, "staged")
    assert [line.text for line in diff.files[0].hunks[0].lines] == ["one", "two"]
    assert versions.new("a.txt") == "two\n"


def test_in_a_hook_the_index_of_the_commit_is_read(repo):
    repo.commit({"a.txt": "one\n"})
    repo.write("a.txt", "two\n")
    hook = repo.write(
        ".git/hooks/pre-commit",
        f"#!{sys.executable}\n"
        "import pathlib\n"
        "from holdfast.review.git_changes import read_diff\n"
        "diff, versions = read_diff(pathlib.Path.cwd(), 'staged')\n"
        "pathlib.Path('.git/seen').write_text(versions.new(diff.files[0].path))\n",
    )
    hook.chmod(0o755)
    repo.git("commit", "-q", "-a", "-m", "two")
    assert (repo.folder / ".git/seen").read_text() == "two\n"


def test_commits_ranges_and_merges(repo):
    first = repo.commit({"a.txt": "one\n", "b.txt": "b\n"})
    second = repo.commit({"a.txt": "two\n"})
    repo.git("checkout", "-q", "-b", "side", first)
    repo.commit({"side.txt": "s\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")

    def paths(spec):
        return [file.path for file in read_diff(repo.folder, spec)[0].files]

    assert paths(first) == ["a.txt", "b.txt"]
    assert paths(second) == ["a.txt"]
    assert paths("HEAD") == ["side.txt"], "a merge is compared with its first parent"
    assert paths(f"{first}..main") == ["a.txt", "side.txt"]
    assert paths(f"{second}...side") == ["side.txt"], "three dots begin at the common commit"
    assert paths(f"{second}..side") == ["a.txt", "side.txt"]
    assert paths("side..") == ["a.txt"]
    assert paths("main..main") == []
    diff, versions = read_diff(repo.folder, f"{second}...side")
    assert diff.title == f"{second}...side"
    assert versions.new("side.txt") == "s\n"
    assert versions.old("a.txt") == "one\n", "other files of the same trees can be had too"


def test_moves_copies_modes_links_binaries_and_submodules(repo, tmp_path):
    other = Repo(tmp_path / "other")
    other.commit({"x": "1\n"})
    repo.git("submodule", "--quiet", "add", str(other.folder), "lib")
    repo.write("logo.png", b"\0\1\2")
    repo.write("tool.sh", "echo\n")
    repo.commit({"old name.txt": TEN, "moved.txt": TEN * 3, "plain": "x\n"})
    other.commit({"x": "2\n"})
    repo.git("-C", "lib", "pull", "-q", "origin", "main")
    repo.write("logo.png", b"\0\1\3")
    (repo.folder / "tool.sh").chmod(0o755)
    repo.git("mv", "old name.txt", "新 名字.txt")
    (repo.folder / "dir b").mkdir()
    repo.git("mv", "moved.txt", "dir b/x.txt")
    repo.write("dir b/x.txt", (TEN * 3).replace("line 5", "LINE 5", 1))
    (repo.folder / "plain").unlink()
    (repo.folder / "plain").symlink_to("tool.sh")
    commit = repo.commit()

    files = read_diff(repo.folder, commit)[0].files
    named = by_path(files)
    assert named["lib"].is_submodule
    assert [line.kind for line in named["lib"].hunks[0].lines] == ["-", "+"]
    assert named["logo.png"].is_binary
    assert named["logo.png"].hunks == ()
    assert (named["tool.sh"].old_mode, named["tool.sh"].new_mode) == ("100644", "100755")
    moved = named["新 名字.txt"]
    assert (moved.change, moved.old_path, moved.hunks) == ("renamed", "old name.txt", ())
    assert (named["dir b/x.txt"].change, named["dir b/x.txt"].old_path) == ("renamed", "moved.txt")
    assert len(named["dir b/x.txt"].hunks) == 1
    assert [file.change for file in files if file.path == "plain"] == ["deleted", "added"]


@pytest.mark.parametrize(
    "name",
    [
        "a b/c d.txt",
        'quo"te.txt',
        "tab\there.txt",
        "back\\slash.txt",
        "中文/文件.txt",
        "x b/x",
        "b/b/b",
        "line\nfeed",
    ],
    ids=["spaces", "quote", "tab", "backslash", "cjk", "ambiguous", "prefix", "newline"],
)
def test_names_of_every_kind(repo, name):
    repo.write(name, TEN)
    repo.write("empty/" + name, "")
    repo.commit()
    repo.write(name, TEN + "more\n")
    (repo.folder / "empty" / name).chmod(0o755)
    changed = repo.commit()
    repo.git("rm", "-q", name)
    deleted = repo.commit()
    assert [file.path for file in read_diff(repo.folder, changed)[0].files] == sorted(["empty/" + name, name])
    diff, versions = read_diff(repo.folder, deleted)
    assert [(file.path, file.change) for file in diff.files] == [(name, "deleted")]
    if "\n" not in name:
        assert versions.old(name) == TEN + "more\n"


def test_deleted_files_are_not_skipped(repo):
    repo.write("picture.png", b"\0\1")
    repo.commit({"gone.py": "x = 1\n", "empty.py": ""})
    for name in ("gone.py", "empty.py", "picture.png"):
        (repo.folder / name).unlink()
    working, versions = read_diff(repo.folder, "working")
    assert {file.path: file.change for file in working.files} == dict.fromkeys(
        ["gone.py", "empty.py", "picture.png"], "deleted"
    )
    assert versions.old("gone.py") == "x = 1\n"
    assert versions.old("picture.png") is None


def test_conflicts_in_the_working_tree_and_in_the_index(repo):
    repo.commit({"a.txt": "one\n"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"a.txt": "side\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"a.txt": "main\n"})
    repo.git("merge", "-q", "side", check=False)
    (working,) = read_diff(repo.folder, "working")[0].files
    assert any(line.text.startswith("<<<<<<<") for line in working.hunks[0].lines)
    (staged,) = read_diff(repo.folder, "staged")[0].files
    assert (staged.path, staged.note) == ("a.txt", "not merged")


def test_a_persons_settings_do_not_change_the_diff(repo, tmp_path, monkeypatch):
    repo.commit({"z.txt": TEN, "a.txt": TEN})
    repo.write("z.txt", TEN.replace("line 5", "5"))
    repo.write("a.txt", TEN.replace("line 5", "5"))
    plain = read_diff(repo.folder, "working")[0]
    order = repo.write(".git/order", "z.txt\n")
    settings = (
        "[diff]\nnoprefix = true\ncontext = 0\nmnemonicPrefix = true\nalgorithm = patience\nrenames = false\n"
        f"orderFile = {order}\nrelative = true\ninterHunkContext = 40\n"
        "[color]\nui = always\n[core]\nquotepath = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text(settings + f"[safe]\ndirectory = {repo.folder}\n")
    assert read_diff(repo.folder, "working")[0] == plain


def test_nothing_that_the_repository_names_is_run(repo, tmp_path, monkeypatch):
    repo.write(".gitattributes", "*.txt diff=evil filter=evil\n")
    repo.commit({"a.txt": TEN})
    ran = tmp_path / "ran"
    program = repo.write(".git/evil", f"#!/bin/sh\necho x >> {ran}\ncat\n")
    program.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.process",
        "core.sshCommand",
    ):
        repo.git("config", name, str(program))
    repo.git("config", "filter.evil.required", "true")
    repo.git("config", "core.hooksPath", ".git")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    repo.write("a.txt", TEN + "more\n")
    for spec in ("working", "staged", "HEAD"):
        read_diff(repo.folder, spec)[1].new("a.txt")
    assert read_diff(repo.folder, "working")[0].files[0].hunks[0].added == 1
    assert not ran.exists()


def test_how_many_moved_files_are_looked_for_is_no_setting_either(repo):
    texts = [f"{number}\n" * 20 + "\nend\n" for number in range(4)]
    repo.commit({f"old/{at}.txt": text for at, text in enumerate(texts)})
    for at, text in enumerate(texts):
        (repo.folder / f"old/{at}.txt").unlink()
        repo.write(f"new/other_{at}.txt", text + "more\n")
    repo.git("add", "-A")
    plain = read_diff(repo.folder, "working")[0]
    assert [file.change for file in plain.files] == ["renamed"] * 4
    for name, value in (("renameLimit", "1"), ("renames", "false"), ("suppressBlankEmpty", "true")):
        repo.git("config", f"diff.{name}", value)
    assert read_diff(repo.folder, "working")[0] == plain


@pytest.mark.parametrize("name", [b"a=b", b"\xffx", b"a.b", b"a==b=", b"=", b"A\xc3\xa9"])
def test_no_name_of_a_filter_gets_past(repo, tmp_path, name):
    repo.commit({"a.txt": TEN})
    ran = tmp_path / "ran"
    program = repo.write(".git/evil", f"#!/bin/sh\necho x >> {ran}\ncat\n")
    program.chmod(0o755)
    repo.write(".gitattributes", b"*.txt filter=" + name + b"\n")
    with (repo.folder / ".git/config").open("ab") as settings:
        settings.write(b'[filter "%s"]\n\tclean = %s\n\trequired = true\n' % (name, bytes(program)))
    repo.write("a.txt", TEN + "more\n")
    repo.git("diff")
    was_run = ran.exists()
    ran.unlink(missing_ok=True)
    assert read_diff(repo.folder, "working")[0].files[-1].path
    assert not ran.exists()
    assert was_run, "git itself would not run this one"


def test_variables_that_point_git_elsewhere_are_not_heard(repo, tmp_path, monkeypatch):
    repo.commit({"a.txt": "a\n"})
    other = Repo(tmp_path / "other")
    other.commit({"other.txt": "o\n"})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.folder))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git/index"))
    assert [file.path for file in read_diff(repo.folder, "HEAD")[0].files] == ["a.txt"]
    assert read_diff(repo.folder, "staged")[0].files == ()


def test_a_working_tree_elsewhere_is_refused(repo, tmp_path):
    repo.commit({"a.txt": "a\n"})
    repo.git("config", "core.worktree", str(tmp_path))
    with pytest.raises(InputError, match="elsewhere"):
        read_diff(repo.folder, "working")


def test_below_the_top_paths_begin_at_the_top(repo):
    repo.commit({"src/a.py": "a = 1\n"})
    repo.write("src/a.py", "a = 2\n")
    diff, versions = read_diff(repo.folder / "src", "working")
    assert [file.path for file in diff.files] == ["src/a.py"]
    assert versions.new("src/a.py") == "a = 2\n"
    assert open_repository(repo.folder / "src").top == repo.folder.resolve()


def test_a_repository_without_working_tree(repo, tmp_path):
    commit = repo.commit({"a.txt": "a\n"})
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    assert [file.path for file in read_diff(tmp_path / "bare", commit)[0].files] == ["a.txt"]
    with pytest.raises(InputError, match="working tree"):
        read_diff(tmp_path / "bare", "working")


def test_a_shallow_clone_says_what_it_lacks(repo, tmp_path):
    repo.commit({"a.txt": "a\n"})
    repo.commit({"a.txt": "b\n"})
    repo.git("clone", "-q", "--depth=1", f"file://{repo.folder}", str(tmp_path / "shallow"))
    with pytest.raises(InputError, match="not in this clone") as caught:
        read_diff(tmp_path / "shallow", "HEAD")
    assert "deepen" in caught.value.hint


def test_mistakes_are_named(repo, tmp_path):
    repo.commit({"a.txt": "a\n"})
    with pytest.raises(NotFound, match="`nowhere`"):
        read_diff(repo.folder, "nowhere")
    with pytest.raises(NotFound, match="`nowhere`"):
        read_diff(repo.folder, "main..nowhere")
    with pytest.raises(InputError, match="begins with `-`"):
        read_diff(repo.folder, "--output=x")
    with pytest.raises(InputError, match="begins with `-`"):
        read_diff(repo.folder, "--output=x..HEAD")
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError, match="not in a readable git repository") as caught:
        read_diff(tmp_path / "plain", "working")
    assert caught.value.hint
    with pytest.raises(NotFound, match="not a folder"):
        read_diff(tmp_path / "missing", "working")
    repo.write("broken.diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n")
    with pytest.raises(InputError, match=r"`broken.diff`: line 4"):
        read_diff(repo.folder, "broken.diff")
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.commit({"b.txt": "b\n"})
    with pytest.raises(InputError, match="no common commit"):
        read_diff(repo.folder, "main...alone")


def test_a_file_that_holds_a_diff(repo):
    repo.commit({"a.txt": TEN, "b.txt": "b\n"})
    repo.write("a.txt", TEN.replace("line 5", "five"))
    repo.write("new.txt", "n\n")
    (repo.folder / "b.txt").unlink()
    repo.git("add", "-A")
    repo.write("change.diff", repo.git("diff", "--cached") + "\n")
    diff, versions = read_diff(repo.folder, "change.diff")
    assert diff.title == "change.diff"
    expected = (TEN, TEN.replace("line 5", "five"))
    assert (versions.old("a.txt"), versions.new("a.txt")) == expected, "already applied"
    assert (versions.old("b.txt"), versions.new("new.txt")) == ("b\n", "n\n")
    repo.write("a.txt", TEN)
    assert (versions.old("a.txt"), versions.new("a.txt")) == expected, "not applied yet"
    repo.write("a.txt", "something else\n")
    assert (versions.old("a.txt"), versions.new("a.txt")) == (None, None)


def test_a_revision_comes_before_a_file_of_its_name(repo):
    commit = repo.commit({"a.txt": "a\n"})
    repo.write("main", "no diff\n")
    assert read_diff(repo.folder, "main")[0].files == read_diff(repo.folder, commit)[0].files
    repo.write("named", repo.git("show") + "\n")
    assert [file.path for file in read_diff(repo.folder, "named")[0].files] == ["a.txt"]


def test_a_diff_as_text_reads_nothing_outside_of_its_folder(tmp_path):
    (tmp_path / "secret.txt").write_text("one\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    text = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-one\n+two\n"
    for path in ("../secret.txt", "link/secret.txt", str(tmp_path / "secret.txt")):
        diff, versions = read_diff_text(text.format(path), "text", root)
        assert versions.old(diff.files[0].old_path) is None
        assert versions.new(diff.files[0].path) is None
    assert read_inside(root, "link") == os.fsencode(tmp_path), "a link is where it leads, not what is there"


def test_paths_that_climb_are_not_asked_of_git(repo):
    repo.commit({"a.txt": "a\n"})
    versions = read_diff(repo.folder, "HEAD")[1]
    for path in ("../a.txt", "/etc/passwd", "./a.txt", "", "x/../a.txt"):
        assert versions.old(path) is None
        assert versions.new(path) is None
    assert versions.new("a.txt") == "a\n"


@pytest.mark.slow
def test_two_thousand_files_start_few_processes(repo, tmp_path, monkeypatch):
    for i in range(2000):
        repo.write(f"dir{i % 40}/f{i}.txt", f"{i}\nsame\n")
    repo.commit()
    for i in range(2000):
        repo.write(f"dir{i % 40}/f{i}.txt", f"{i}\nother {i}\n")
    repo.commit()
    count = tmp_path / "count"
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    shim = tmp_path / "bin/git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho >> {count}\nexec {real} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    diff, versions = read_diff(repo.folder, "HEAD")
    assert len(diff.files) == 2000
    for file in diff.files:
        number = Path(file.path).stem[1:]
        assert versions.old(file.old_path) == f"{number}\nsame\n"
        assert versions.new(file.path) == f"{number}\nother {number}\n"
    assert len(count.read_text()) <= 10 + 4 * (2000 // BATCH + 1)


def test_large_texts_are_read_a_few_at_a_time(repo):
    texts = {f"f{i:02}.txt": f"{i}\n" + "x" * 1_000_000 for i in range(20)}
    tree = repo.commit(texts)
    names = [*texts, "f99.txt"]
    for side in (partial(git_texts, open_repository(repo.folder), tree), partial(disk_texts, repo.folder)):
        read = side(names)
        assert list(read) == names[: len(read)]
        assert 1 <= len(read) <= BATCH_BYTES // 1_000_000 + 1
        chosen = PrefetchedTexts(side, names)
        assert {name: chosen.text(name) for name in names} == {**texts, "f99.txt": None}
        assert chosen.text("f00.txt") == texts["f00.txt"], "also when it was let go"
        assert side([]) == {}


def test_a_git_that_does_not_answer_is_said(repo, tmp_path, monkeypatch):
    repo.commit({"a.txt": "a\n"})
    shim = tmp_path / "bin/git"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexec sleep 60\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(repository_module, "SECONDS", 0.2)
    with pytest.raises(InputError, match="did not finish"):
        read_diff(repo.folder, "working")


def test_texts_that_are_not_utf_8(repo):
    repo.write("gbk.py", "名字 = 1\nx = 2\n".encode("gbk"))
    repo.write("latin.py", "café = 1\nx = 2\n".encode("latin-1"))
    repo.commit()
    repo.write("gbk.py", "名字 = 1\n数字 = 2\n".encode("gbk"))
    repo.write("latin.py", "café = 1\nnaïve = 2\n".encode("latin-1"))
    diff, versions = read_diff(repo.folder, "working")
    files = by_path(diff.files)
    assert [line.text for line in files["gbk.py"].hunks[0].lines] == ["名字 = 1", "x = 2", "数字 = 2"]
    assert [line.text for line in files["latin.py"].hunks[0].lines] == ["café = 1", "x = 2", "naïve = 2"]
    assert versions.old("gbk.py") == "名字 = 1\nx = 2\n"
    assert versions.new("latin.py") == "café = 1\nnaïve = 2\n"
