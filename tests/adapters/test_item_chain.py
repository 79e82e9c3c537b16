"""Items that a framework keeps: they come back as they were, whatever they hold."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.adapters.item_chain import ItemChain
from holdfast.errors import InputError
from holdfast.packing.profile import BUILT_IN
from holdfast.session import Session
from holdfast.store import MemoryStore, SqliteStore

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS | st.just("data:image/png;base64,AAAA"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("encrypted_content"), inner),
    max_leaves=8,
)

BARE = replace(BUILT_IN["code"], redact=False)


def chain_in(store, **settings) -> ItemChain:
    return ItemChain(Session(store=store, log="a", tools=None, **settings))


@given(st.lists(st.dictionaries(TEXTS | st.just("encrypted_content"), VALUES), max_size=6), st.integers(0, 4))
def test_another_reader_finds_what_was_added_and_not_taken_back(items, taken) -> None:
    store = MemoryStore()
    chain = chain_in(store, profile=BARE)
    chain.add(items)
    back = [chain.pop() for _ in range(taken)]
    assert back == ([*reversed(items)] + [None] * taken)[:taken]
    chain.add(items[:1])
    expected = items[: max(len(items) - taken, 0)] + items[:1]
    assert chain.all() == expected
    assert chain_in(store, profile=BARE).all() == expected


def test_opaque_parts_are_never_taken_for_secrets(tmp_path) -> None:
    random_ = random.Random(1)
    blobs = [base64.urlsafe_b64encode(random_.randbytes(3000)).decode() for _ in range(100)]
    images = [
        f"data:image/png;base64,{base64.b64encode(random_.randbytes(3000)).decode()}" for _ in range(50)
    ]
    items = [{"type": "reasoning", "id": "rs", "encrypted_content": blob} for blob in blobs]
    items += [{"type": "computer_call_output", "output": {"image_url": image}} for image in images]
    items += [{"type": "image_generation_call", "result": image.partition(",")[2]} for image in images]
    with SqliteStore(tmp_path / "store.db") as store:
        chain_in(store).add(items)
    with SqliteStore(tmp_path / "store.db") as store:
        assert chain_in(store).all() == items


def test_a_secret_is_there_for_this_process_and_never_on_disk(tmp_path) -> None:
    item = {"role": "user", "content": f"The key is {SECRET}."}
    with SqliteStore(tmp_path / "store.db") as store:
        chain = chain_in(store)
        chain.add([item])
        assert chain.all() == [item]
        assert chain_in(store).all() == [{"role": "user", "content": "The key is <REDACTED>."}]


def test_two_writers_of_one_log_see_each_others_items(tmp_path) -> None:
    with SqliteStore(tmp_path / "store.db") as store, SqliteStore(tmp_path / "store.db") as other_store:
        one = chain_in(store)
        other = chain_in(other_store)
        one.add([{"n": 1}])
        other.add([{"n": 2}])
        assert one.all() == other.all() == [{"n": 1}, {"n": 2}]
        assert one.pop() == {"n": 2}
        assert other.all() == [{"n": 1}]


def test_what_json_cannot_hold_is_refused_and_nothing_is_added() -> None:
    chain = chain_in(MemoryStore())
    with pytest.raises(InputError, match="JSON cannot"):
        chain.add([{"n": 1}, {"n": object()}])
    assert chain.all() == []


def test_items_are_beside_the_conversation_and_never_in_a_pack() -> None:
    session = Session(budget="16k", store=MemoryStore(), log="a")
    session.append({"role": "user", "content": "Hello."})
    before = session.pack().messages
    ItemChain(session).add([{"role": "user", "content": "An item."}])
    window = session.window
    session.catch_up()
    assert session.window is window, "there is nothing that the session does not know"
    assert session.pack().messages == before
    assert Session.resume(session.store, "a").pack().messages == before
