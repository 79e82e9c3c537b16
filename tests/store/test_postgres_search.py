"""Search in PostgreSQL gives what search in SQLite gives: the same texts, in the same order."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ids import text_id
from holdfast.store import SqliteStore, Store, open_store
from holdfast.store.protocol import Artifact, EntryDraft, LogHead
from holdfast.store.word_splitting import WordSplitter
from holdfast.store_places import parse_place
from support.postgres import PostgresServer

Pair = tuple[Store, Store]

WORDS = st.sampled_from(
    "a b parser Parser buffer_size a/main.py naïve NAIVE 上下文 压缩 下 한국어 哈哈哈 e\u0301 ² ß \0 1.5 İ".split(
        " "
    )
)
TEXTS = st.lists(WORDS, max_size=9).map(" ".join)
QUERIES = st.lists(
    WORDS | st.lists(WORDS, min_size=1, max_size=3).map(lambda words: f'"{" ".join(words)}"'),
    min_size=1,
    max_size=4,
).map(" ".join)


@pytest.fixture(scope="module")
def stores(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    file = tmp_path_factory.mktemp("search") / "store.db"
    with SqliteStore(file) as one, open_store(parse_place(postgres.url(postgres.make_database()))) as two:
        yield one, two


@given(st.lists(st.lists(TEXTS, max_size=4), max_size=4), st.lists(TEXTS, max_size=3), QUERIES)
def test_both_find_the_same_texts_in_the_same_order(
    stores: Pair, first: list[list[str]], second: list[str], query: str
) -> None:
    found = []
    batches = [sorted(texts) for texts in first]
    for store in stores:
        for log, texts in (("one", batches), ("two", [sorted(second)])):
            store.create(LogHead(log), [EntryDraft(b'{"type":"noted"}')])
            for batch in texts:
                artifacts = tuple(Artifact(text_id(text), text) for text in dict.fromkeys(batch))
                store.append(log, [EntryDraft(b'{"type":"noted"}', artifacts)])
        found.append([store.search(query), store.search(query, log="two"), store.search(query, limit=1)])
        for log in ("one", "two"):
            store.delete(log)
    assert found[0] == found[1]


def test_many_texts_rank_alike(stores: Pair) -> None:
    chance = random.Random(5)
    words = [f"w{int(chance.paretovariate(0.9))}" for _ in range(400)]
    texts = [" ".join(chance.choices(words, k=chance.randrange(1, 60))) for _ in range(300)]
    queries = [" ".join(chance.sample(words, 3)) for _ in range(30)]
    queries += [f'"{" ".join(text.split()[:2])}"' for text in texts[:30]]
    for store in stores:
        store.create(LogHead("many"), [EntryDraft(b'{"type":"noted"}')])
        artifacts = tuple(Artifact(text_id(text), text) for text in dict.fromkeys(texts))
        store.append("many", [EntryDraft(b'{"type":"noted"}', artifacts)])
    one, two = stores
    found = [(one.search(query, limit=50), two.search(query, limit=50)) for query in queries]
    assert [query for query, (in_one, in_two) in zip(queries, found, strict=True) if in_one != in_two] == []
    assert sum(len(in_one) for in_one, _ in found) > 200
    for store in stores:
        store.delete("many")


def test_words_are_those_of_the_index_of_sqlite() -> None:
    splitter = WordSplitter()
    assert splitter.split("Naïve CAFÉ: buffer_size, 上下文 x") == [
        "naive",
        "cafe",
        "buffer",
        "size",
        *"上下文",
        "x",
    ]
    assert splitter.split("") == splitter.split("… --") == []
    assert splitter.split("same again") == ["same", "again"]
    splitter.close()


def test_a_phrase_that_overlaps_with_itself_is_counted_as_often_as_it_stands_there(stores: Pair) -> None:
    texts = ["go go go home", "go go and go go", "go home go", "home"]
    for store in stores:
        store.create(LogHead("go"), [EntryDraft(b"{}", tuple(Artifact(text_id(t), t) for t in texts))])
    one, two = (store.search('"go go"') for store in stores)
    assert one == two
    assert [hit.artifact for hit in two] == [text_id(texts[0]), text_id(texts[1])]
    for store in stores:
        store.delete("go")
