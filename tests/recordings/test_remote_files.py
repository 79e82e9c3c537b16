"""Recordings that fsspec reads, where it is installed; and what is said where it is not."""

from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.recordings.remote_files import copy_files, is_url

needs_fsspec = pytest.mark.skipif(find_spec("fsspec") is None, reason="fsspec is not installed")
copied = partial(copy_files, track=nullcontext)


@pytest.fixture
def bucket():
    from fsspec.implementations.memory import MemoryFileSystem  # noqa: PLC0415 - not installed everywhere

    files = MemoryFileSystem()
    for name in ("b.jsonl", "a.jsonl.gz", "deep/a.jsonl", "notes.md", ".hidden.jsonl"):
        files.pipe_file(f"/bucket/{name}", name.encode())
    yield files
    files.rm("/bucket", recursive=True)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("s3://bucket/a.jsonl", True),
        ("memory://a", True),
        ("a.jsonl", False),
        ("a:b", False),
        ("C://a", False),
    ],
)
def test_what_is_a_url(name, known):
    assert is_url(name) == known


@needs_fsspec
@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("memory://bucket/b.jsonl", ["b.jsonl"]),
        ("memory://bucket", ["a.jsonl.gz", "b.jsonl", "deep/a.jsonl"]),
        ("memory://bucket/*.jsonl*", [".hidden.jsonl", "a.jsonl.gz", "b.jsonl"]),
        ("memory://bucket/**/a.jsonl", ["deep/a.jsonl"]),
    ],
)
def test_a_file_a_folder_and_a_pattern_are_copied_in_order(url, names, bucket, tmp_path):
    found = copied(url, tmp_path)
    assert [file.read_text() for file in found] == names
    assert [file.name for file in found] == [Path(name).name for name in names]


@needs_fsspec
def test_a_file_of_this_machine_has_a_url_too(tmp_path):
    (tmp_path / "one.jsonl").write_text("{}")
    (file,) = copied(f"file://{tmp_path}/one.jsonl", tmp_path / "copies")
    assert (file.read_text(), file.name) == ("{}", "one.jsonl")


@needs_fsspec
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://bucket/none.jsonl", "`memory://bucket/none.jsonl` does not exist"),
        ("memory://bucket/*.txt", "there is no recording in `memory://bucket/*.txt`"),
        ("nowhere://a:secret@b/c", "`nowhere://b/c` cannot be read: Protocol not known: nowhere"),
    ],
)
def test_what_cannot_be_had_is_said(url, message, bucket, tmp_path):
    with pytest.raises(InputError) as refused:
        copied(url, tmp_path)
    assert refused.value.message == message
    assert refused.value.hint


@needs_fsspec
@pytest.mark.skipif(find_spec("s3fs") is not None, reason="s3fs is installed")
def test_a_missing_package_is_named(tmp_path):
    with pytest.raises(InputError, match=r"`s3://b/c` needs a package that is not installed: .*s3fs"):
        copied("s3://b/c", tmp_path)


@pytest.mark.skipif(find_spec("fsspec") is not None, reason="fsspec is installed")
def test_without_fsspec_it_is_named(tmp_path):
    with pytest.raises(InputError, match="`s3://b/c` needs the package fsspec") as refused:
        copied("s3://me:secret@b/c", tmp_path)
    assert "pip install fsspec" in refused.value.hint
