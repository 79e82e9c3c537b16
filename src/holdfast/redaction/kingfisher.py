"""Kingfisher, a secret scanner with some 500 rules for other issuers, in addition to our own rules.

Rule: our own rules find everything that must be found, so a platform without Kingfisher still redacts. It only
scans, which needs no network (its validators, which do, are not imported).
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from threading import Lock
from typing import Any

from holdfast.redaction.randomness import is_random_run
from holdfast.redaction.secret_rule import SecretSpan

_loading = Lock()
_HASH = re.compile(r"[0-9a-fA-F-]{32,}")
_ASSIGNED = re.compile(
    r"[=:>|,](?<!sha1.)(?<!sha256.)(?<!sha512.)(?<!commit.)[\"'`= ]{0,5}[0-9a-fA-F-]{32,}(?![0-9A-Za-z])"
)


def find_by_kingfisher(text: str, runs: Iterable[str]) -> Iterator[SecretSpan]:
    """What Kingfisher finds in a text if one of its `runs` looks random.

    Loading takes half a second, five on a machine's first use, and few texts have such a run, so a short session
    never pays for it. Private key blocks are blanked: our own rule keeps their edges, and many of them in one
    text take Kingfisher seconds. The condition is part of the result: it never depends on what was scanned
    before.
    """
    if not needs_kingfisher(text, runs):
        return
    scanner, _ = _loaded()
    if scanner is None:
        return
    data = text.encode("utf-8", "replace").replace(b"-----BEGIN", b"          ")
    for finding in scanner.scan(data):
        first, last = (
            _position(text, data, finding.location[edge]) for edge in ("start_offset", "end_offset")
        )
        if finding.visible and first < last and not _is_document(text[first:last]):
            yield SecretSpan(first, last, "kingfisher." + finding.rule_id)


def needs_kingfisher(text: str, runs: Iterable[str]) -> bool:
    return any(map(is_random_run, runs)) or _has_assigned_hash(text, runs)


def _position(text: str, data: bytes, offset: int) -> int:
    """The index in the text of a byte of its encoding."""
    return offset if len(text) == len(data) else len(data[:offset].decode("utf-8", "ignore"))


def _has_assigned_hash(text: str, runs: Iterable[str]) -> bool:
    """Some keys are plain hashes and UUIDs; Kingfisher knows them by the name they are assigned to."""
    return any(map(_HASH.fullmatch, runs)) and _ASSIGNED.search(text) is not None


def _is_document(found: str) -> bool:
    """Some rules report the whole file around a key; the key itself is found by another rule."""
    return "\n" in found or found.startswith("{")


def kingfisher_problem() -> str:
    """Why Kingfisher cannot be used here; empty where it can. Loads it."""
    return _loaded()[1]


def is_kingfisher_loaded() -> bool:
    return bool(_load.cache_info().currsize)


def _loaded() -> tuple[Any, str]:
    """The scanner, loaded once: threads that each load it take as many times as long."""
    with _loading:
        return _load()


@cache
def _load() -> tuple[Any, str]:
    """The scanner, or None and why there is none."""
    try:
        # Loaded late: it takes half a second.
        from kingfisher_sdk import Scanner as KingfisherScanner  # noqa: PLC0415

        return KingfisherScanner(), ""
    except (ImportError, OSError, RuntimeError) as error:  # no wheel, or no such processor
        return None, f"{type(error).__name__}: {error}"
