"""Items that a framework keeps: they come back as they were, whatever they hold."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.item_chain import ItemChain
from holdfast.errors import InputError
from holdfast.log import Log
from holdfast.store import MemoryStore, SqliteStore

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS | st.just("data:image/png;base64,AAAA"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("encrypted_content"), inner),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(TEXTS | st.just("encrypted_content"), VALUES), max_size=6), st.integers(0, 4))
def test_another_reader_finds_what_was_added_and_not_taken_back(items, taken) -> None:
    store = MemoryStore()
    log = Log.create(store, id="a", redact=str)
    chain = ItemChain(log)
    chain.add(items)
    back = [chain.pop() for _ in range(taken)]
    assert back == ([*reversed(items)] + [None] * taken)[:taken]
    chain.add(items[:1])
    expected = items[: max(len(items) - taken, 0)] + items[:1]
    assert chain.all() == expected
    assert ItemChain(Log.open(store, "a", redact=str)).all() == expected


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
        ItemChain(Log.create(store, id="a")).add(items)
    with SqliteStore(tmp_path / "store.db") as store:
        assert ItemChain(Log.open(store, "a")).all() == items


def test_a_secret_is_there_for_this_process_and_never_on_disk(tmp_path) -> None:
    item = {"role": "user", "content": f"The key is {SECRET}."}
    with SqliteStore(tmp_path / "store.db") as store:
        chain = ItemChain(Log.create(store, id="a"))
        chain.add([item])
        assert chain.all() == [item]
        assert ItemChain(Log.open(store, "a")).all() == [
            {"role": "user", "content": "The key is <REDACTED>."}
        ]


def test_two_writers_of_one_log_see_each_others_items(tmp_path) -> None:
    with SqliteStore(tmp_path / "store.db") as store, SqliteStore(tmp_path / "store.db") as other_store:
        one = ItemChain(Log.create(store, id="a"))
        other = ItemChain(Log.open(other_store, "a"))
        one.add([{"n": 1}])
        other.add([{"n": 2}])
        assert one.all() == other.all() == [{"n": 1}, {"n": 2}]
        assert one.pop() == {"n": 2}
        assert other.all() == [{"n": 1}]


def test_what_json_cannot_hold_is_refused_and_nothing_is_added() -> None:
    chain = ItemChain(Log.create(MemoryStore(), id="a"))
    with pytest.raises(InputError, match="JSON cannot"):
        chain.add([{"n": 1}, {"n": object()}])
    assert chain.all() == []
