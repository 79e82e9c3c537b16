"""How often redaction takes what is no secret, and how fast it is.

Runs over the text files of the folders that are named, or over the recordings (`*.jsonl.gz`) in the folder that
HOLDFAST_RECORDINGS names. Folders of tests and of installed packages are skipped. Code has no keys, and recorders
had already replaced those in recordings, so nearly every hit is a false positive. Prints the speed with and without
kingfisher, then hits per MB and rule, with samples shortened to their first four characters.

    python benchmarks/redaction_false_positives.py [--context] FOLDER...
    HOLDFAST_RECORDINGS=folder python benchmarks/redaction_false_positives.py [--context]

A folder of ordinary code that every machine has is Python's standard library:
`python -c "import sysconfig; print(sysconfig.get_path('stdlib'))"` prints where it is.
"""

import gzip
import json
import os
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from holdfast.redaction import SecretSpan, find_secrets, redact_value

SAMPLES = 5
AROUND = 24
NOT_ORDINARY = frozenset(("test", "tests", "idle_test", "site-packages", "__pycache__"))
"""Tests have made-up passwords; installed packages have folders of their own to name."""


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("--")]
    pairs = [("", text) for folder in folders for text in code_texts(folder)] if folders else _recorded()
    texts = [text for _, text in pairs]
    size = sum(map(len, texts)) / 1e6
    print(f"{len(texts)} texts, {size:.1f} MB, median {int(statistics.median(map(len, texts)))} characters\n")
    find_secrets("warm-up k3yW1thDr4wnL00k5")
    for kingfisher in (True, False):
        _measure(texts, size, kingfisher=kingfisher)
    _report(texts, size)
    _report_fields(pairs, size)


def code_texts(folder: Path) -> Iterator[str]:
    """Every file below a folder that is text, except those of tests and of installed packages."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and NOT_ORDINARY.isdisjoint(file.relative_to(folder).parts):
            try:
                text = file.read_text("utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            if "\0" not in text:
                yield text


def _recorded() -> list[tuple[str, str]]:
    folder = os.environ.get("HOLDFAST_RECORDINGS")
    files = sorted(Path(folder).glob("*.jsonl.gz")) if folder else []
    if not files:
        sys.exit("error: name a folder of code, or one with *.jsonl.gz files in HOLDFAST_RECORDINGS")
    return [pair for file in files for pair in _texts(file)]


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            recording = json.loads(line)
            yield from _strings("", recording.get("system"))
            for message in recording["messages"]:
                yield from _strings("", message.get("content"))
                for call in message.get("tool_calls") or ():
                    yield from _strings("", call.get("function", call).get("arguments"))


def _strings(key: str, value: object) -> Iterator[tuple[str, str]]:
    """Every string with the name it stands under; pictures are never redacted."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(key, item)
    elif isinstance(value, dict) and value.get("type") not in ("image", "image_url"):
        for name, item in value.items():
            yield from _strings(name, item)


def _measure(texts: list[str], size: float, *, kingfisher: bool) -> None:
    of_4kb = [t for t in texts if 3500 <= len(t) <= 4500]
    began = time.perf_counter()
    for text in texts:
        find_secrets(text, kingfisher=kingfisher)
    whole = time.perf_counter() - began
    times = []
    for text in of_4kb:
        began = time.perf_counter()
        find_secrets(text, kingfisher=kingfisher)
        times.append(time.perf_counter() - began)
    times.sort()
    name = "with" if kingfisher else "without"
    print(f"{name} kingfisher: {size / whole:.1f} MB/s")
    if times:
        median, worst = statistics.median(times) * 1e3, times[len(times) * 99 // 100] * 1e3
        print(f"  of {len(times)} texts of 4 kB: median {median:.3f} ms, 99% {worst:.3f} ms")


def _report(texts: list[str], size: float) -> None:
    hits: Counter[str] = Counter()
    samples: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for found in find_secrets(text):
            hits[found.rule] += 1
            samples[found.rule][_sample(text, found)] += 1
    print(f"\n{'rule':<40} {'hits':>6} {'per MB':>7} {'distinct':>8}  samples")
    for rule, count in hits.most_common():
        shown = "  ".join(
            f"{s!r}×{n}" for s, n in samples[rule].most_common(None if "--context" in sys.argv else SAMPLES)
        )
        print(f"{rule:<40} {count:>6} {count / size:>7.2f} {len(samples[rule]):>8}  {shown}")
    print(f"{'all':<40} {hits.total():>6} {hits.total() / size:>7.2f} {sum(map(len, samples.values())):>8}")


def _sample(text: str, found: SecretSpan) -> str:
    short = text[found.start : found.start + 4] + "…"
    if "--context" not in sys.argv:
        return short
    return text[max(0, found.start - AROUND) : found.start] + short + str(found.end - found.start)


def _report_fields(pairs: list[tuple[str, str]], size: float) -> None:
    hits: Counter[str] = Counter()
    for key, value in pairs:
        if key and redact_value(key, value) != value and not find_secrets(value):
            hits[key] += 1
    print(f"\nfields redacted by their name: {hits.total()}, {hits.total() / size:.2f} per MB: {dict(hits)}")


if __name__ == "__main__":
    main()
