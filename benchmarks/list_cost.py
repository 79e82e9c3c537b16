"""What `holdfast.pack` costs: a first call on a list of messages, and the next call when a step has come.

    uv run python benchmarks/list_cost.py [--tokens 2400] [--budget 32k] [--json]

The baseline is a `Session` that gets the same messages: all of its steps together, and the last of them. Times are
CPU time, of the last steps the lower quartile; the ratios are what to compare. Messages are made up from a seed.
"""

import argparse
import json
import time

from step_cost import made_up_messages, undisturbed

LENGTHS = (50, 100, 200, 400)
MORE = 12
"""Steps that come after the first call."""


def seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(messages: list[dict], steps: int, budget: str | None) -> dict[str, float]:
    """Seconds for a list of so many steps, in a call and in a session."""
    from holdfast import Session, pack  # noqa: PLC0415 - the first import is not part of what is measured
    from holdfast.list_packing import KEPT  # noqa: PLC0415
    from holdfast.packing.lines.features import calm_line_facts, line_facts  # noqa: PLC0415

    def forget_lines() -> None:
        line_facts.cache_clear()
        calm_line_facts.cache_clear()

    KEPT.clear()
    forget_lines()
    ends = [1 + 2 * (steps + more) for more in range(MORE + 1)]
    first, *later = (seconds(lambda end=end: pack(messages[:end], budget=budget)) for end in ends)
    forget_lines()  # else the session would find every line read already
    with Session(budget=budget) as session:
        session.append(messages[0])
        session.pack()

        def step(at: int) -> None:
            session.append(*messages[at : at + 2])
            session.pack()

        times = [seconds(lambda at=at: step(at)) for at in range(1, ends[-1], 2)]
    return {
        "steps": steps,
        "first": first,
        "session": sum(times[:steps]),
        "next": undisturbed(later),
        "session_step": undisturbed(times[-MORE:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=2400)
    parser.add_argument("--budget")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    messages = made_up_messages(LENGTHS[-1] + MORE, args.tokens)
    measure(messages, 2, args.budget)
    rows = [measure(messages, steps, args.budget) for steps in LENGTHS]
    if args.json:
        print(json.dumps(rows))
        return
    print(f"lists of steps of about {args.tokens} tokens, budget {args.budget or 'of the profile'}\n")
    print("| steps | first call | all steps of a Session | ratio | next call | a Session's step | ratio |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        whole, step = row["first"] / row["session"], row["next"] / row["session_step"]
        print(
            f"| {row['steps']} | {row['first']:.2f} s | {row['session']:.2f} s | {whole:.2f} "
            f"| {row['next'] * 1000:.1f} ms | {row['session_step'] * 1000:.1f} ms | {step:.2f} |"
        )


if __name__ == "__main__":
    main()
