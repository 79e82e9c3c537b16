"""`holdfast tour`: a run with nothing real missing but the model."""

import tempfile

import pytest
from command_line import holdfast


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """What the tour shows, without a key and with a folder of its own for what is temporary."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    done = holdfast("tour", "--plain")
    assert done.code == 0, done.err
    return done


def test_folding_recall_an_edit_and_the_tests_are_all_seen(shown, tmp_path, store):
    lines = shown.err.splitlines()
    starts = [line.split(" ")[0] for line in lines]
    folded, recalled = starts.index("folded"), starts.index("Recall")
    assert starts.index("Bash") < folded < recalled < starts.index("MultiEdit")
    runs = [line for line in lines if line.startswith("Bash python3 -m unittest")]
    assert ["Exit code: 1" in runs[0], "Exit code: 0" in runs[1]] == [True, True], "it failed, then it passed"
    assert "TodoWrite – [x]" in shown.err
    assert "cached), $0." in lines[-1]
    assert "log l" not in shown.err, "no id of a log that nobody can open"
    assert "the log of this tour is deleted with its scratch repository" in shown.text
    assert "status line" not in shown.err + shown.text, "there is none without a screen"
    assert shown.text.startswith("Fixed: `shop/prices.py:9`")
    assert not list(tmp_path.glob("holdfast-tour-*")), "the scratch folder is gone"
    assert not store.exists(), "the person's own store is untouched"
