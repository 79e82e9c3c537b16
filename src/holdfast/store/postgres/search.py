"""Full-text search as SQLite does it: the same words, the same texts, the same order.

Rule: a text ranks by BM25 with the constants of SQLite's FTS5, computed in the same order; of equals the older is
first. `words` has a text's words, each between spaces of its own, so that a phrase is a substring.
"""

from typing import Any

from holdfast.store.postgres.database import Connection
from holdfast.store.protocol import SearchHit

_SEARCH = """
WITH totals AS MATERIALIZED (
    SELECT count(*)::float8 AS texts, sum(length)::float8 / count(*)::float8 AS average FROM words
), asked AS (
    SELECT * FROM unnest(%(phrases)s::text[], %(patterns)s::text[]) WITH ORDINALITY AS a (phrase, pattern, number)
), hits AS MATERIALIZED (
    SELECT a.number, w.artifact, w.length::float8 AS length, CASE
        WHEN a.pattern IS NULL
        THEN (octet_length(w.words) - octet_length(replace(w.words, a.phrase, ''))) / octet_length(a.phrase)
        ELSE (SELECT count(*) FROM regexp_matches(w.words, a.pattern, 'g'))
    END::float8 AS found
    FROM asked a JOIN words w ON search_keys(w.words) @> search_keys(a.phrase)
), rarity AS (
    SELECT h.number, CASE WHEN ln((t.texts - count(*) + 0.5) / (count(*) + 0.5)) > 0
        THEN ln((t.texts - count(*) + 0.5) / (count(*) + 0.5)) ELSE 1e-6 END AS idf
    FROM hits h, totals t WHERE h.found > 0 GROUP BY h.number, t.texts
), ranked AS MATERIALIZED (
    SELECT h.artifact, count(*) AS matched, sum(r.idf * (
        (h.found * 2.2::float8) / (h.found + 1.2::float8 * (0.25::float8 + 0.75::float8 * h.length / t.average))
    ) ORDER BY h.number) AS score
    FROM hits h JOIN rarity r USING (number), totals t
    WHERE h.found > 0 AND (%(log)s::bigint IS NULL OR EXISTS (
        SELECT 1 FROM refs r JOIN entries e ON e.n = r.entry WHERE r.artifact = h.artifact AND e.log = %(log)s))
    GROUP BY h.artifact
), best AS (
    SELECT artifact, score FROM ranked
    WHERE matched = %(total)s OR NOT EXISTS (SELECT 1 FROM ranked WHERE matched = %(total)s)
    ORDER BY score DESC, artifact LIMIT %(limit)s
)
SELECT a.id, f.log, f.entry, f.seq FROM best b JOIN artifacts a ON a.n = b.artifact LEFT JOIN LATERAL (
    SELECT l.id AS log, e.id AS entry, e.seq
    FROM refs r JOIN entries e ON e.n = r.entry JOIN logs l ON l.n = e.log
    WHERE r.artifact = b.artifact AND (%(log)s::bigint IS NULL OR e.log = %(log)s) ORDER BY e.n LIMIT 1
) f ON true
ORDER BY b.score DESC, b.artifact
"""


def joined(words: list[str]) -> str:
    """Words as the table has them."""
    return f" {'  '.join(words)} " if words else ""


def search(db: Connection, asked: list[list[str]], log: int | None, limit: int) -> tuple[SearchHit, ...]:
    """Texts that hold all phrases, best first; those with any if none holds all. A phrase is a list of words."""
    phrases = [words for words in asked if words]
    given: dict[str, Any] = {
        "phrases": [joined(words) for words in phrases],
        "patterns": [_pattern(words) for words in phrases],
        "total": len(asked),
        "log": log,
        "limit": limit,
    }
    found = db.execute(_SEARCH, given).fetchall()
    return tuple(SearchHit(id_, *(first if first[0] else ())) for id_, *first in found)


def _pattern(words: list[str]) -> str | None:
    """What finds a phrase that may overlap with itself, such as `a a` in `a a a`; None where it cannot."""
    overlaps = any(words[:size] == words[-size:] for size in range(1, len(words)))
    return f" {words[0]} (?={joined(words[1:])})" if overlaps else None
