"""A store in memory, for a stateless call and for trying things out.

Rule: it passes the same conformance suite as the store on disk. Search ranks by plain word counts.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Self

from holdfast.errors import NotFound, StoreError
from holdfast.store.protocol import (
    Artifact,
    EntryDraft,
    EntryPage,
    EntryRow,
    LogHead,
    LogInfo,
    LogSize,
    ResolvedId,
    SearchHit,
    StoreSize,
    pick_id,
    place_drafts,
)
from holdfast.store.text_search import folded, folded_phrases


class MemoryStore:
    place = None

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._heads: dict[str, LogHead] = {}
        self._rows: dict[str, list[EntryRow]] = {}
        self._entries: dict[str, EntryRow] = {}
        self._artifacts: dict[str, Artifact] = {}
        self._refs: dict[str, tuple[str, ...]] = {}
        """Artifacts by entry, in the order of entries: the first referrer is the oldest."""

    def create(self, head: LogHead, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        with self._lock:
            if head.id in self._heads:
                return ()
            rows = self._placed(head.id, [], drafts)
            self._heads[head.id] = head
            self._rows[head.id] = []
            self._add(rows, drafts)
            return rows

    def append(self, log: str, drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        with self._lock:
            rows = self._placed(log, self._of(log), drafts)
            self._add(rows, drafts)
            return rows

    def read(self, log: str, since: int = 0, limit: int | None = None) -> EntryPage:
        with self._lock:
            start = max(since, 0)
            rows = self._of(log)[start : None if limit is None else start + limit]
            return self._page(rows)

    def entry(self, entry: str) -> EntryPage:
        with self._lock:
            if entry not in self._entries:
                raise NotFound(f"no entry `{entry}` in the store")
            return self._page([self._entries[entry]])

    def info(self, log: str) -> LogInfo:
        with self._lock:
            rows = self._of(log)
            return LogInfo(self._heads[log], entries=len(rows), last_at=rows[-1].at)

    def logs(self) -> tuple[LogInfo, ...]:
        with self._lock:
            return tuple(self.info(log) for log in self._heads)

    def delete(self, *logs: str) -> None:
        with self._lock:
            for log in logs:
                gone: set[str] = set()
                for row in self._of(log):
                    gone.update(self._refs.pop(row.id))
                    del self._entries[row.id]
                for kept in self._refs.values():
                    gone.difference_update(kept)
                for artifact in gone:
                    del self._artifacts[artifact]
                del self._heads[log], self._rows[log]

    def put(self, artifact: Artifact, log: str) -> None:
        with self._lock:
            self._check(artifact)
            first = self._of(log)[0].id
            self._keep(artifact)
            self._refs[first] = tuple(dict.fromkeys((*self._refs[first], artifact.id)))

    def text(self, artifact: str) -> str:
        with self._lock:
            if artifact not in self._artifacts:
                raise NotFound(f"no text `{artifact}` in the store")
            return self._artifacts[artifact].text

    def search(self, query: str, *, log: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        phrases = folded_phrases(query)
        with self._lock:
            texts = [(hit, self._artifacts[hit.artifact].text) for hit in self._hits(log)]
        ranked = []
        for order, (hit, text) in enumerate(texts):
            words = folded(text)
            counts = [words.count(phrase) for phrase in phrases]
            if any(counts):
                ranked.append((-sum(map(bool, counts)), -sum(counts), order, hit))
        if any(-found == len(phrases) for found, *_ in ranked):
            ranked = [item for item in ranked if -item[0] == len(phrases)]
        return tuple(item[-1] for item in sorted(ranked)[:limit])

    def resolve(self, prefix: str) -> ResolvedId:
        with self._lock:
            ids = [ResolvedId("log", id_) for id_ in self._heads]
            ids += [ResolvedId("entry", id_) for id_ in self._entries]
            ids += [ResolvedId("artifact", id_) for id_ in self._artifacts]
        exact = [found for found in ids if found.id == prefix]
        return pick_id(prefix, exact, [found for found in ids if found.id.startswith(prefix)])

    def size(self) -> StoreSize:
        with self._lock:
            quiet = sorted(self._rows, key=lambda log: self._rows[log][-1].at or 0.0)
            texts = {log: {id_ for row in self._rows[log] for id_ in self._refs[row.id]} for log in quiet}
            users = Counter(chain.from_iterable(texts.values()))
            last = {id_: log for log in quiet for id_ in texts[log]}
            bytes_ = {id_: len(kept.text.encode()) for id_, kept in self._artifacts.items()}
            sizes = []
            for log in quiet:
                body = sum(len(row.body) for row in self._rows[log])
                own = body + sum(bytes_[id_] for id_ in texts[log] if users[id_] == 1)
                latest = body + sum(bytes_[id_] for id_ in texts[log] if last[id_] == log)
                sizes.append(LogSize(log, body + sum(bytes_[id_] for id_ in texts[log]), own, latest))
            return StoreSize(sum(one.last for one in sizes), 0, tuple(sizes))

    def vacuum(self) -> None:
        """There is no disk."""

    def damage(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _of(self, log: str) -> list[EntryRow]:
        if log not in self._rows:
            raise NotFound(f"no log `{log}` in the store", hint="`holdfast logs` lists what is there")
        return self._rows[log]

    def _placed(self, log: str, there: list[EntryRow], drafts: Sequence[EntryDraft]) -> tuple[EntryRow, ...]:
        """The new rows, checked before anything is written: a failure leaves the store unchanged."""
        rows = place_drafts(
            log,
            drafts,
            last=len(there),
            tip=lambda chain: next((row.id for row in reversed(there) if row.chain == chain), None),
            known=lambda id_: id_ in self._entries and self._entries[id_].log == log,
        )
        for row, draft in zip(rows, drafts, strict=True):
            if row.id in self._entries:
                raise StoreError(f"two different entries have the id `{row.id}`; the second was not stored")
            for artifact in draft.artifacts:
                self._check(artifact)
        return rows

    def _add(self, rows: Sequence[EntryRow], drafts: Sequence[EntryDraft]) -> None:
        for row, draft in zip(rows, drafts, strict=True):
            self._rows[row.log].append(row)
            self._entries[row.id] = row
            self._refs[row.id] = tuple(artifact.id for artifact in draft.artifacts)
            for artifact in draft.artifacts:
                self._keep(artifact)

    def _check(self, artifact: Artifact) -> None:
        there = self._artifacts.get(artifact.id)
        if there is not None and there.text != artifact.text:
            raise StoreError(f"two different texts have the id `{artifact.id}`; the second was not stored")

    def _keep(self, artifact: Artifact) -> None:
        if artifact.id not in self._artifacts or artifact.kind == "text":
            self._artifacts[artifact.id] = artifact

    def _page(self, rows: Sequence[EntryRow]) -> EntryPage:
        ids = {id_ for row in rows for id_ in self._refs[row.id]}
        return EntryPage(tuple(rows), {id_: self._artifacts[id_].text for id_ in ids})

    def _hits(self, log: str | None) -> list[SearchHit]:
        """Every searchable text in scope, with its first referrer."""
        found: dict[str, SearchHit] = {}
        for entry, refs in self._refs.items():
            row = self._entries[entry]
            if log is None or row.log == log:
                for id_ in refs:
                    found.setdefault(id_, SearchHit(id_, row.log, entry, row.seq))
        if log is None:
            for id_ in self._artifacts:
                found.setdefault(id_, SearchHit(id_))
        else:
            self._of(log)
        return [hit for hit in found.values() if self._artifacts[hit.artifact].kind == "text"]
