"""Weights of one's own: as a value or as the file that `holdfast fit` writes, for a list and for a session."""

from pathlib import Path

import msgspec
import pytest

import holdfast
from holdfast.errors import InputError
from holdfast.lab.fit.fit_results import weights_file
from holdfast.packing.lines.features import VERSION
from holdfast.packing.lines.weights import HAND_WEIGHTS, Weights, built_in_weights
from holdfast.packing.log_walk import walk_log
from holdfast.packing.pack import pack as pack_window
from holdfast.packing.profile import CODE
from holdfast.tokenizers import counter_for_model
from holdfast.wire.openai import to_openai
from test_session import openai_conversation

TALK = openai_conversation(60)
BY_HAND = msgspec.structs.replace(CODE, worth="hand")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights.json"
    path.write_bytes(weights_file(HAND_WEIGHTS))
    return path


def messages(**given: object) -> list[dict]:
    return holdfast.pack(TALK, budget="8k", **given).messages


def sent(session: holdfast.Session, conversation: list[dict]) -> list[dict]:
    """The last pack of an agent that asks before every reply."""
    for message in conversation:
        if message["role"] == "assistant":
            session.pack()
        session.append(message)
    return session.pack().messages


@pytest.mark.slow
def test_weights_take_the_place_of_the_profiles():
    by_hand = messages(weights=HAND_WEIGHTS)
    assert by_hand == messages(profile=BY_HAND) != messages()
    assert messages() == messages(weights=built_in_weights("learned"))
    assert messages(weights=built_in_weights("learned"), profile=BY_HAND) == messages()


@pytest.mark.slow
def test_a_file_is_as_good_as_its_weights(file, monkeypatch):
    by_hand = messages(weights=HAND_WEIGHTS)
    assert messages(weights=file) == by_hand
    assert messages(weights=str(file)) == by_hand
    monkeypatch.setenv("HOME", str(file.parent))
    assert messages(weights="~/weights.json") == by_hand


@pytest.mark.slow
def test_a_session_ranks_by_them(file):
    packs = [sent(holdfast.Session(budget="8k", weights=given), TALK) for given in (HAND_WEIGHTS, file, None)]
    assert packs[0] == packs[1] != packs[2]
    assert packs[0] == sent(holdfast.Session(budget="8k", profile=BY_HAND), TALK)


@pytest.mark.slow
def test_a_session_still_has_them_after_its_log_was_read_again(file, tmp_path):
    """Opened again, and then again when another one wrote in between."""
    whole = sent(holdfast.Session(budget="8k", weights=file), TALK)
    store = tmp_path / "store.db"
    with holdfast.Session(budget="8k", weights=file, store=store, log="session") as first:
        sent(first, TALK[:40])
        with holdfast.Session(budget="8k", weights=file, store=store, log="session") as second:
            sent(second, TALK[40:80])
        first.append(TALK[80])
        assert sent(first, TALK[81:]) == whole


@pytest.mark.slow
def test_going_forward_takes_them():
    log = holdfast.Session(budget="8k")
    log.append(*TALK)
    entries = list(log.log.entries())
    profiles = CODE.scaled_to(8_000), BY_HAND.scaled_to(8_000)
    packs = [
        to_openai(pack_window(walk_log(profile, counter_for_model(""), entries, weights)[0].view()).messages)
        for profile, weights in ((profiles[0], HAND_WEIGHTS), (profiles[1], None), (profiles[0], None))
    ]
    assert packs[0] == packs[1] != packs[2]


BAD = {
    "empty": (b"", "holds no weights"),
    "no JSON": (b"weights", "holds no weights"),
    "a list": (b"[]", "holds no weights"),
    "no UTF-8": (b'{"version": 1, "lines": {"\xff": 1}, "names": {}}', "holds no weights"),
    "words": (b'{"version": 1, "lines": {"always": "much"}, "names": {}}', "holds no weights"),
    "another version": (weights_file(Weights(VERSION + 1, {}, {})), f"version {VERSION + 1}"),
    "an unknown feature": (weights_file(Weights(VERSION, {"lnog": 1.0}, {})), "do not exist: lnog"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_gets_a_sentence(what, tmp_path):
    data, sentence = BAD[what]
    path = tmp_path / "mine.json"
    path.write_bytes(data)
    refused(path, sentence, tmp_path)


def test_a_file_that_is_not_there_gets_a_sentence(tmp_path):
    refused(tmp_path / "none.json", "cannot be read: No such file", tmp_path)
    refused(tmp_path, "cannot be read: Is a directory", tmp_path)


def refused(path: Path, sentence: str, folder: Path) -> None:
    """By both, with a hint, before anything else is opened."""
    store = folder / "store.db"
    for make in (
        lambda given: holdfast.pack(TALK, weights=given),
        lambda given: holdfast.Session(weights=given, store=store),
    ):
        with pytest.raises(InputError) as raised:
            make(str(path))
        assert sentence in str(raised.value)
        assert path.name in str(raised.value)
        assert "holdfast fit" in raised.value.hint
    assert not store.exists()
