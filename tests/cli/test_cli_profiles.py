"""`holdfast profiles`: what `pack` would use here, and why."""

import json
import re
from pathlib import Path

import pytest
from command_line import holdfast

from holdfast.config import SETTINGS
from holdfast.packing.profile import BUILT_IN


def test_the_built_in_profiles() -> None:
    text = holdfast("profiles").text
    for profile in BUILT_IN.values():
        assert re.search(rf"^{profile.name} .* built in$", text, re.MULTILINE)
    assert re.search(r"^code +200,000 +190,000 +56,000 +10 rounds, floor 2 +built in$", text, re.MULTILINE)
    assert max(map(len, text.split("\n"))) <= 80


def test_every_setting_of_one_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "holdfast.toml").write_text('[profile.house]\nextends = "review"\nkeep = 7\nwindow = "90k"\n')
    monkeypatch.setenv("HOLDFAST_GREP_MATCHES", "9")
    found = holdfast("profiles", "house", "--json").json
    assert set(found["from"]) == set(SETTINGS)
    assert found["settings"]["keep"] == 7
    sources = {name: found["from"][name] for name in ("keep", "window", "grep_matches", "max_messages")}
    assert sources == {
        "keep": "house (holdfast.toml)",
        "window": "house (holdfast.toml)",
        "grep_matches": "HOLDFAST_GREP_MATCHES",
        "max_messages": "review",
    }
    shown = holdfast("profiles", "house").text
    assert re.search(r"^window +90,000 +house \(holdfast\.toml\)", shown, re.MULTILINE)
    assert "house" in holdfast("profiles").text


def test_an_unknown_name_gives_the_nearest() -> None:
    done = holdfast("profiles", "reviw")
    assert done.code == 2
    assert "hint: did you mean `review`?" in done.err


def test_a_setting_says_whether_it_is_from_your_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config" / "holdfast").mkdir(parents=True)
    (tmp_path / "config" / "holdfast" / "holdfast.toml").write_text(
        "[profile.house]\nkeep = 9\nwindow = '64k'\n"
    )
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "holdfast.toml").write_text("[profile.house]\nkeep = 7\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path / "project")
    origins = json.loads(holdfast("profiles", "house", "--json").text)["from"]
    assert origins["keep"] == "house (holdfast.toml)"
    assert origins["window"] == "house (your own holdfast.toml)"
