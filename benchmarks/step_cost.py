"""What a step costs: append it and pack again, on a long recording, against a packer that counts everything again.

    uv run python benchmarks/step_cost.py [--steps 1000] [--tokens 1000] [--window 200k] [--json]

Times of steps are CPU time, since machines are shared; the ratios are what to compare. The recording is made up
from a seed, so that anyone gets the same bytes. Each figure comes from its own process where memory is measured.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    f"{a}{b}"
    for a in ("get", "set", "load", "parse", "emit", "fold")
    for b in ("_value", "Path", "s", "(x)", ": int")
]


def made_up_messages(steps: int, tokens: int) -> list[dict]:
    """A round of so many steps, each with a call and a result of at least so many tokens."""
    rng = random.Random(7)
    messages = [{"role": "user", "content": "Make the parser faster. Never change its public names."}]
    kinds = (("Read", "file_path"), ("Bash", "command"), ("Grep", "pattern"), ("Edit", "file_path"))
    for i in range(steps):
        name, key = kinds[i % 4]
        arguments = {key: f"src/module_{i % 40}.py"}
        if name == "Edit":
            arguments |= {"old_string": text(rng, tokens // 4), "new_string": text(rng, tokens // 4)}
        call = {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        messages.append({"role": "assistant", "content": f"Step {i}: look further.", "tool_calls": [call]})
        size = tokens // 2 if name == "Edit" else tokens
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text(rng, size)})
    return messages


def text(rng: random.Random, tokens: int) -> str:
    lines = []
    while tokens > 0:
        line = "    " + " ".join(rng.choices(WORDS, k=6)) + f" # {rng.randrange(10**6)}"
        tokens -= 19
        lines.append(line)
    return "\n".join(lines)


def run_session(steps: int, tokens: int, window: str) -> dict:
    """Times of every step, in seconds, with the steps at which a fold was made."""
    from holdfast import Session  # noqa: PLC0415 - loading is part of what is measured

    messages = made_up_messages(steps, tokens)
    size = sum(len(json.dumps(m)) for m in messages)
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(budget=window, store=Path(folder) / "store.db") as session,
    ):
        session.append(messages[0])
        session.pack()
        times, folds = [], []
        levels: list = []
        for i in range(steps):
            start = time.process_time()
            session.append(*messages[1 + 2 * i : 3 + 2 * i])
            packed = session.pack()
            times.append(time.process_time() - start)
            now = session.window.view().levels
            if now[: len(levels)] != levels:
                folds.append(i)
            levels = list(now)
        last = packed.tokens
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"times": times, "folds": folds, "bytes": size, "peak": peak, "last_pack": last}


def run_baseline(steps: int, tokens: int, window: str) -> dict:
    """The naive way: at every step count all messages again and keep the newest that fit."""
    from holdfast.packing.amounts import parse_tokens  # noqa: PLC0415
    from holdfast.tokenizers import load_tokenizer  # noqa: PLC0415

    tokenizer = load_tokenizer()
    messages = made_up_messages(steps, tokens)
    limit = parse_tokens(window)
    times = []
    for i in range(0, steps, max(steps // 50, 1)):
        start = time.process_time()
        room = limit
        kept = []
        for message in reversed(messages[: 3 + 2 * i]):
            room -= tokenizer.count(json.dumps(message))
            if room < 0:
                break
            kept.append(message)
        times.append(time.process_time() - start)
    return {"times": times}


def measured(kind: str, args: argparse.Namespace) -> dict:
    command = [sys.executable, __file__, "--steps", str(args.steps), "--tokens", str(args.tokens)]
    done = subprocess.run(
        [*command, "--window", args.window, "--only", kind], capture_output=True, check=True
    )
    return json.loads(done.stdout)


def help_seconds() -> float:
    command = [sys.executable, "-m", "holdfast", "--help"]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def bare_python_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def report(session: dict, baseline: dict, help_time: float) -> list[tuple[str, str, str]]:
    times, folds = session["times"], set(session["folds"])
    quiet = [t for i, t in enumerate(times) if i not in folds]
    naive = statistics.median(baseline["times"])
    early = undisturbed(quiet_around(times, folds, len(times) // 10))
    late = undisturbed(quiet_around(times, folds, len(times)))
    folding = [times[i] for i in folds] or [0.0]
    ms = 1000
    return [
        ("median step", f"{statistics.median(times) * ms:.2f} ms", "≤ 5 ms"),
        ("median step / naive recount", f"{statistics.median(times) / naive:.3f}", "–"),
        ("worst step without a fold", f"{max(quiet) * ms:.2f} ms", "≤ 25 ms"),
        ("first fold", f"{times[min(folds, default=0)] * ms:.0f} ms", "≤ 250 ms"),
        (f"median of {len(folds)} folds", f"{statistics.median(folding) * ms:.0f} ms", "≤ 250 ms"),
        (f"slowest of {len(folds)} folds", f"{max(folding) * ms:.0f} ms", "≤ 250 ms"),
        (f"step {len(times)} / step {len(times) // 10}", f"{late / early:.2f}", "≤ 2"),
        (
            "peak memory",
            f"{session['peak'] / 1e6:.0f} MB for {session['bytes'] / 1e6:.1f} MB of messages",
            "",
        ),
        ("peak / (4 x bytes + 100 MB)", f"{session['peak'] / (4 * session['bytes'] + 1e8):.2f}", "≤ 1"),
        ("naive recount, median", f"{naive * ms:.1f} ms", "baseline"),
        (
            "`holdfast --help`",
            f"{help_time:.2f} s ({help_time / bare_python_seconds():.1f} x bare Python)",
            "≤ 0.3 s",
        ),
    ]


def undisturbed(times: list[float]) -> float:
    """The lower quartile: what a step takes when the machine does nothing else."""
    return statistics.quantiles(times, n=4)[0]


def quiet_around(times: list[float], folds: set[int], at: int, width: int = 50) -> list[float]:
    """Times of the steps around one, half before it and half after it as far as there are any, without folds."""
    around = range(max(at - width // 2, 0), min(at + width // 2, len(times)))
    return [times[i] for i in around if i not in folds]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--window", default="200k")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=("session", "baseline"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        run = run_session if args.only == "session" else run_baseline
        print(json.dumps(run(args.steps, args.tokens, args.window)))
        return
    rows = report(measured("session", args), measured("baseline", args), help_seconds())
    if args.json:
        print(json.dumps({name: value for name, value, _ in rows}))
        return
    print(f"{args.steps} steps of about {args.tokens} tokens, window {args.window}, SQLite store on disk\n")
    for name, value, target in rows:
        print(f"{name:<32} {value:<38} {target}")


if __name__ == "__main__":
    main()
