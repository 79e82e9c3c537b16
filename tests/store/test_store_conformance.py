"""What every store must do. A new store joins by one more line in `STORES`."""

import threading
from collections.abc import Callable, Iterator

import pytest

from holdfast.errors import InputError, NotFound, StoreError
from holdfast.ids import entry_id, text_id
from holdfast.store import MemoryStore, SqliteStore, Store, open_store, verify
from holdfast.store.protocol import (
    Artifact,
    ArtifactKind,
    EntryDraft,
    EntryRow,
    LogHead,
    ResolvedId,
)
from holdfast.store_places import parse_place
from support.postgres import PostgresServer

STORES: dict[str, Callable[[pytest.FixtureRequest], Store]] = {
    "sqlite": lambda asked: SqliteStore(asked.getfixturevalue("tmp_path") / "store.db"),
    "memory": lambda _: MemoryStore(),
    "postgres": lambda asked: postgres_store(asked.getfixturevalue("postgres")),
}


def postgres_store(server: PostgresServer) -> Store:
    return open_store(parse_place(server.url(server.make_database())))


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with STORES[request.param](request) as opened:
        yield opened


def artifact(text: str, kind: ArtifactKind = "text") -> Artifact:
    return Artifact(text_id(text), text, kind)


def draft(*texts: str, chain: str = "", parent: str | None = None, after: int | None = None) -> EntryDraft:
    """A note that refers to the texts."""
    refs = ",".join(f'"t{i}":{{"$a":"{text_id(text)}"}}' for i, text in enumerate(texts))
    body = f'{{"type":"noted","kind":"k","text":"","data":{{{refs}}}}}'
    return EntryDraft(body.encode(), tuple(artifact(t) for t in texts), chain, 1.5, parent, after)


def start(store: Store, log: str = "one", *texts: str) -> EntryRow:
    return store.create(LogHead(log, title=f"title of {log}", at=1.0), [draft(*texts)])[0]


def test_entries_get_numbers_parents_and_ids_in_order(store: Store) -> None:
    first = start(store)
    second, third = store.append("one", [draft("a"), draft("b")])
    assert [row.seq for row in (first, second, third)] == [1, 2, 3]
    assert [row.parent for row in (first, second, third)] == [None, first.id, second.id]
    assert third.id == entry_id("one", 3, second.id, third.body)
    assert store.read("one").rows == (first, second, third)


def test_a_page_holds_whole_entries_with_their_texts(store: Store) -> None:
    start(store)
    rows = store.append("one", [draft("a", "b"), draft("c")])
    page = store.read("one", since=1)
    assert page.rows == rows
    assert dict(page.texts) == {text_id(t): t for t in "abc"}
    assert store.read("one", since=1, limit=1).rows == rows[:1]
    assert set(store.read("one", since=2).texts.values()) == {"c"}
    assert store.read("one", since=3).rows == ()
    assert store.entry(rows[1].id).rows == rows[1:]
    assert set(store.entry(rows[1].id).texts.values()) == {"c"}


def test_chains_keep_apart_and_start_at_the_main_chain(store: Store) -> None:
    root = start(store)
    (side,) = store.append("one", [draft("s1", chain="side")])
    (main,) = store.append("one", [draft("m2")])
    (more,) = store.append("one", [draft("s2", chain="side")])
    assert (side.parent, main.parent, more.parent) == (root.id, root.id, side.id)
    assert [row.chain for row in store.read("one").rows] == ["", "side", "", "side"]


def test_parents_may_be_named_or_lie_in_the_same_batch(store: Store) -> None:
    root = start(store)
    store.append("one", [draft("a")])
    (rewound,) = store.append("one", [draft("b", parent=root.id)])
    assert rewound.parent == root.id
    x, y, z = store.append("one", [draft("x"), draft("y", after=0), draft("z", after=0)])
    assert (x.parent, y.parent, z.parent) == (rewound.id, x.id, x.id)


def test_an_unknown_parent_writes_nothing(store: Store) -> None:
    start(store)
    other = start(store, "two")
    for parent in ("e00000000000", other.id):
        with pytest.raises(NotFound, match=parent):
            store.append("one", [draft("fine"), draft("text", parent=parent)])
    assert store.info("one").entries == 1
    with pytest.raises(NotFound):
        store.text(text_id("fine"))


def test_unknown_logs_entries_and_texts_are_not_found(store: Store) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.append("none", [draft()]),
        lambda: store.read("none"),
        lambda: store.info("none"),
        lambda: store.delete("none"),
        lambda: store.search("word", log="none"),
        lambda: store.entry("enone"),
        lambda: store.text("anone"),
    ]
    for call in calls:
        with pytest.raises(NotFound, match="none"):
            call()


def test_creating_a_log_that_is_there_writes_nothing(store: Store) -> None:
    start(store)
    assert store.create(LogHead("one", title="other"), [draft("new"), draft()]) == ()
    assert store.info("one").entries == 1
    assert store.info("one").head.title == "title of one"


def test_logs_are_listed_in_order_with_counts(store: Store) -> None:
    assert store.logs() == ()
    start(store, "b")
    start(store, "a")
    store.append("a", [draft("x")])
    infos = store.logs()
    assert [(i.head.id, i.head.title, i.entries, i.last_at) for i in infos] == [
        ("b", "title of b", 1, 1.5),
        ("a", "title of a", 2, 1.5),
    ]
    assert infos[1] == store.info("a")


def test_a_text_is_kept_byte_for_byte(store: Store) -> None:
    start(store)
    texts = ["", "a\0b", "line\r\nline\n", "\ufeff", "多行\n文本", "x" * 300_000, "\U0010ffff"]
    store.append("one", [draft(*texts)])
    for text in texts:
        assert store.text(text_id(text)) == text


def test_the_same_id_with_another_text_is_an_error(store: Store) -> None:
    start(store, "one", "original")
    forged = Artifact(text_id("original"), "forged")
    with pytest.raises(StoreError, match=forged.id):
        store.put(forged, "one")
    with pytest.raises(StoreError, match=forged.id):
        store.append("one", [draft("before"), EntryDraft(b'{"type":"noted"}', (forged,))])
    assert store.text(forged.id) == "original"
    assert store.info("one").entries == 1


def test_deleting_a_log_keeps_texts_that_others_refer_to(store: Store) -> None:
    start(store, "one", "shared", "only one")
    start(store, "two", "shared", "only two")
    gone = store.read("one").rows[0].id
    assert store.search("only one")
    store.delete("one")
    assert [i.head.id for i in store.logs()] == ["two"]
    assert store.text(text_id("shared")) == "shared"
    for missing in (text_id("only one"), gone):
        with pytest.raises(NotFound):
            store.resolve(missing)
    assert [hit.artifact for hit in store.search('"only one"')] == []
    assert {hit.log for hit in store.search("shared")} == {"two"}
    assert verify(store) == []
    store.delete("two")
    with pytest.raises(NotFound):
        store.text(text_id("shared"))


def test_several_logs_are_deleted_in_one_call(store: Store) -> None:
    for name in ("one", "two", "three"):
        start(store, name, "shared", f"only {name}")
    store.delete("one", "two")
    assert [info.head.id for info in store.logs()] == ["three"]
    assert store.text(text_id("shared")) == "shared"
    assert {hit.log for hit in store.search("only")} == {"three"}
    assert verify(store) == []


def test_sizes_say_what_deletion_frees(store: Store) -> None:
    start(store, "old", "shared by both", "only in the old one")
    start(store, "new", "shared by both")
    sizes = {size.log: size for size in store.size().logs}
    body = {log: len(store.read(log).rows[0].body) for log in sizes}
    shared, only = len("shared by both"), len("only in the old one")
    assert [size.log for size in store.size().logs] == ["old", "new"]
    assert sizes["old"].all == body["old"] + shared + only
    assert (sizes["old"].own, sizes["old"].last) == (body["old"] + only, body["old"] + only)
    assert (sizes["new"].all, sizes["new"].own) == (body["new"] + shared, body["new"])
    assert sizes["new"].last == body["new"] + shared
    store.delete("old")
    assert store.size().logs[0].own == body["new"] + shared


def test_vacuum_changes_nothing_that_can_be_read(store: Store) -> None:
    long = "many words in a long text\n" * 200
    start(store, "one", "gone")
    start(store, "two", "kept", long)
    before = store.read("two")
    store.delete("one")
    store.vacuum()
    assert store.read("two") == before
    assert [hit.log for hit in store.search("words")] == ["two"]
    assert verify(store) == []


def test_a_long_text_takes_a_fraction_of_its_length_on_a_disk(store: Store) -> None:
    if isinstance(store, MemoryStore):
        pytest.skip("memory is no disk")
    long = "many words in a long text\n" * 1_000
    start(store, "one", long)
    start(store, "two", long)
    assert [size.all < len(long) / 10 for size in store.size().logs] == [True, True]
    assert store.text(text_id(long)) == long


def test_a_log_may_come_back_after_deletion(store: Store) -> None:
    start(store, "one", "words here")
    store.search("words")
    store.delete("one")
    start(store, "one", "other words")
    assert [hit.artifact for hit in store.search("words")] == [text_id("other words")]
    assert store.search("here") == ()


def test_a_text_kept_for_a_log_is_found_and_deleted_with_the_log(store: Store) -> None:
    start(store)
    store.put(artifact("put alone"), "one")
    store.put(artifact("put alone"), "one")
    assert store.text(text_id("put alone")) == "put alone"
    assert [(hit.artifact, hit.log) for hit in store.search("alone")] == [(text_id("put alone"), "one")]
    assert verify(store) == []
    start(store, "two")
    store.delete("two")
    assert store.text(text_id("put alone")) == "put alone"
    store.delete("one")
    with pytest.raises(NotFound):
        store.text(text_id("put alone"))
    with pytest.raises(NotFound):
        store.put(artifact("put alone"), "one")


def test_ids_resolve_by_unique_prefix(store: Store) -> None:
    row = start(store, "my-session", "text")
    id_ = text_id("text")
    assert store.resolve(id_) == store.resolve(id_[:6]) == ResolvedId("artifact", id_)
    assert store.resolve(row.id[:8]) == ResolvedId("entry", row.id)
    assert store.resolve("my-ses") == ResolvedId("log", "my-session")
    with pytest.raises(NotFound, match="nothing in the store") as short:
        store.resolve(id_[:5])
    assert "6 characters" in short.value.hint
    for odd in ("", "a%", "a_____________", "a\0", "a\ud800aaaaa", "a" * 10_000):
        with pytest.raises(NotFound):
            store.resolve(odd)


def test_an_ambiguous_prefix_names_the_candidates_and_an_exact_id_wins(store: Store) -> None:
    for name in ("session", "session-2", "session-3"):
        start(store, name)
    assert store.resolve("session") == ResolvedId("log", "session")
    with pytest.raises(InputError, match="`session-2`, `session-3`"):
        store.resolve("session-")


def search(store: Store, query: str, log: str | None = None) -> list[str]:
    return [store.text(hit.artifact) for hit in store.search(query, log=log)]


def test_search_asks_for_all_words_and_falls_back_to_any(store: Store) -> None:
    start(store, "one", "the parser failed", "the lexer failed", "all is well")
    assert search(store, "parser FAILED") == ["the parser failed"]
    assert set(search(store, "parser lexer")) == {"the parser failed", "the lexer failed"}
    assert search(store, "nothing") == []


def test_search_finds_names_cjk_accents_and_phrases(store: Store) -> None:
    texts = [
        "def buffer_size(self):",
        "上下文压缩在这里",
        "压下上文",
        "naïve café",
        "see src/app/main.py",
        "한국어 텍스트",
    ]
    start(store, "one", *texts)
    assert search(store, "buffer_size") == [texts[0]]
    assert search(store, "上下文") == [texts[1]]
    assert search(store, "压缩 上下文") == [texts[1]]
    assert search(store, "naive cafe\u0301") == [texts[3]]
    assert search(store, "app/main.py") == [texts[4]]
    assert search(store, '"buffer size"') == [texts[0]]
    assert search(store, "한국") == [texts[5]]


def test_more_of_the_words_ranks_first(store: Store) -> None:
    start(store, "one", "alpha " + "filler " * 50, "alpha alpha alpha", "beta")
    assert search(store, "alpha")[0] == "alpha alpha alpha"


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "AND",
        "a OR",
        "NOT x",
        "NEAR(",
        "col:x",
        "*",
        "^a",
        "a-b",
        "{",
        "\0",
        "\ud800",
        "''; DROP",
        "",
        "( ) ! ?",
    ],
)
def test_no_query_is_a_syntax_error(store: Store, query: str) -> None:
    start(store, "one", "some text")
    assert store.search(query) == ()
    assert search(store, query + " some text") == ["some text"]


def test_a_query_of_thousands_of_words_is_answered(store: Store) -> None:
    start(store, "one", "w3 is here")
    assert search(store, " ".join(f"w{i}" for i in range(5000))) == ["w3 is here"]


def test_search_within_one_log_and_with_a_limit(store: Store) -> None:
    start(store, "one", "word in one", "shared word")
    start(store, "two", "word in two", "shared word")
    assert set(search(store, "word", "two")) == {"word in two", "shared word"}
    assert {hit.log for hit in store.search("word", log="two")} == {"two"}
    assert len(store.search("word", limit=2)) == 2


def test_pictures_and_echoes_are_not_found_until_they_are_said(store: Store) -> None:
    start(store)
    for kind in ("image", "opaque", "echo"):
        store.put(artifact(f"hidden {kind}", kind), "one")
    assert search(store, "hidden") == []
    store.put(artifact("hidden echo", "text"), "one")
    assert search(store, "hidden") == ["hidden echo"]
    store.put(artifact("hidden echo", "echo"), "one")
    assert search(store, "hidden") == ["hidden echo"]


def test_threads_of_one_process_share_a_store(store: Store) -> None:
    start(store)
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for i in range(25):
                store.append("one", [draft(f"{name} {i} first"), draft(f"{name} {i} second")])
                store.search(name)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    page = store.read("one")
    assert [row.seq for row in page.rows] == list(range(1, 202))
    firsts = [page.rows[i].body for i in range(1, 201, 2)]
    seconds = [page.rows[i].body for i in range(2, 201, 2)]
    for one, two in zip(firsts, seconds, strict=True):
        told = [next(t for id_, t in page.texts.items() if id_.encode() in body) for body in (one, two)]
        assert told[0].removesuffix("first") == told[1].removesuffix("second")
    assert verify(store) == []
