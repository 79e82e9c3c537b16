"""Real agents against a strict provider on loopback: directly, and through each mode of the gateway.

    uv run python benchmarks/clients/run.py [--only pi,codex] [--modes watch,safe,fold] [--markdown|--json]
    uv run python benchmarks/clients/run.py --long [--only pi,mini,opencode] [--window 16000]

Rule: a client that cannot be installed or started is named with its reason and left out; the others run. The exit
code is 1 where a result differs from the direct one or a rule was broken.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

BENCHMARKS = Path(__file__).resolve().parents[1]
if str(BENCHMARKS) not in sys.path:
    # Called as a script, Python sees this folder but not the package it is.
    sys.path.insert(0, str(BENCHMARKS))

from clients import scenarios  # noqa: E402
from clients.client_programs import CLIENTS, ClientProgram  # noqa: E402
from clients.installed import CannotInstall, install  # noqa: E402
from clients.runs import DIRECT, MODES, CannotRun, ClientRun, run_client  # noqa: E402

LONG_CLIENTS = ("pi", "mini", "opencode", "codex", "gemini")
"""Those whose own prompt and tools leave room in a window of 16,000 tokens."""
LONG_LIMIT = 1_800.0


class ResultRow(Struct, frozen=True):
    """A line of the table. `equal` is None for the direct run itself."""

    client: str
    version: str
    mode: str
    equal: bool | None
    difference: str
    rules: list[str]
    refused: int
    received: int
    extends: str
    requests: int
    fixed_tokens: int
    largest_prompt: int
    prompt_tokens: int
    dollars: float
    first_byte_ms: float
    seconds: float
    direct_seconds: float | None

    @property
    def is_good(self) -> bool:
        return self.equal is not False and not self.rules and not self.received


HEADINGS = (
    *(
        "client",
        "version",
        "mode",
        "result",
        "rules broken",
        "400s",
        "at client",
        "prefix extends",
        "requests",
    ),
    *("system+tools", "largest prompt", "prompt tokens", "dollars", "first byte ms", "seconds", "direct"),
)


def main(arguments: Sequence[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    chosen = options.only.split(",") if options.only else list(LONG_CLIENTS if options.long else CLIENTS)
    modes = options.modes.split(",") if options.modes else ["fold"] if options.long else list(MODES)
    for name, known in (*((one, CLIENTS) for one in chosen), *((one, (*MODES, DIRECT)) for one in modes)):
        if name not in known:
            parser.error(f"there is no `{name}`; there are: {', '.join(known)}")
    rows: list[ResultRow] = []
    for client in _ready(chosen):
        rows += _long_rows(client, modes, options) if options.long else _short_rows(client, modes, options)
    if options.json:
        print(msgspec.json.encode(rows).decode())
    else:
        print(table(rows, markdown=options.markdown))
    return 0 if rows and all(row.is_good for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="NAMES", help=f"of: {', '.join(CLIENTS)}")
    parser.add_argument("--modes", default="", metavar="NAMES", help=f"of: {', '.join((*MODES, DIRECT))}")
    parser.add_argument("--budget", default="", help="the budget of `fold` (default: 24k; with --long 16k)")
    parser.add_argument("--long", action="store_true", help="150 steps and about 300,000 tokens")
    parser.add_argument(
        "--window", type=int, default=16_000, help="the provider's window with --long; 0: any"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="keep what each client printed")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true")
    form.add_argument("--json", action="store_true")
    return parser


def _ready(names: Sequence[str]) -> list[ClientProgram]:
    """The clients that are there; one that cannot be installed is named with its reason."""
    ready = []
    for name in names:
        try:
            install(CLIENTS[name].package)
            ready.append(CLIENTS[name])
        except CannotInstall as error:
            _say(f"{name} is left out: {error}")
    return ready


def _short_rows(client: ClientProgram, modes: Sequence[str], options: argparse.Namespace) -> list[ResultRow]:
    scenario, rows = scenarios.short(), []
    direct: ClientRun | None = None
    for mode in (DIRECT, *(mode for mode in modes if mode != DIRECT)):
        try:
            run = run_client(client, scenario, mode, budget=options.budget or "24k")
        except CannotRun as error:
            _say(f"{client.name} {mode}: {error}")
            continue
        _keep(run, options.keep)
        difference = "" if direct is None else differences(run, direct)
        direct = direct or run
        rows.append(_row(run, difference, direct))
        _say(f"{client.name} {mode}: {'as it should be' if rows[-1].is_good else 'NOT as it should be'}")
    return rows


def _long_rows(client: ClientProgram, modes: Sequence[str], options: argparse.Namespace) -> list[ResultRow]:
    rows = []
    for mode in modes:
        try:
            run = run_client(
                client,
                scenarios.long(),
                mode,
                budget=options.budget or "16k",
                window=options.window,
                limit=LONG_LIMIT,
            )
        except CannotRun as error:
            _say(f"{client.name} {mode}: {error}")
            continue
        _keep(run, options.keep)
        is_right = run.files.get("result.txt") == scenarios.digest_of(scenarios.long_result())
        rows.append(_row(run, "" if is_right and not run.exit_code else _lost(run), None))
        answered = (
            f"the provider refused {len(run.refused)}, the client received {len(run.received)} refusals"
        )
        _say(f"{client.name} {mode}: {len(run.notes)} requests; {answered}")
    return rows


def _lost(run: ClientRun) -> str:
    return f"exit code {run.exit_code}; result.txt is {run.files.get('result.txt', 'not there')}"


def differences(run: ClientRun, direct: ClientRun) -> str:
    """How a run ended otherwise than the direct one, in a few words."""
    found = []
    if run.answer != direct.answer:
        found.append(f"answered `{run.answer[:80]}`")
    if run.exit_code != direct.exit_code:
        found.append(f"exit code {run.exit_code}")
    names = {*run.files, *direct.files}
    found += [f"{name} differs" for name in sorted(names) if run.files.get(name) != direct.files.get(name)]
    return "; ".join(found)


def _row(run: ClientRun, difference: str, direct: ClientRun | None) -> ResultRow:
    if not difference and (run.exit_code or not run.answer):
        difference = f"exit code {run.exit_code}, answer `{run.answer[:80]}`"
    is_compared = direct is not run or bool(difference)
    extending, known = run.extending
    return ResultRow(
        client=run.client,
        version=run.version,
        mode=run.mode,
        equal=not difference if is_compared else None,
        difference=difference,
        rules=run.rules,
        refused=len(run.refused),
        received=len(run.received),
        extends=f"{extending} of {known}",
        requests=len(run.notes),
        fixed_tokens=run.fixed,
        largest_prompt=run.largest,
        prompt_tokens=sum(note.prompt for note in run.notes if note.status == 200),
        dollars=round(run.dollars, 6),
        first_byte_ms=round(run.first_byte * 1_000, 1),
        seconds=round(run.seconds, 1),
        direct_seconds=round(direct.seconds, 1) if direct else None,
    )


def table(rows: Sequence[ResultRow], *, markdown: bool) -> str:
    lines = [list(HEADINGS), *map(_cells, rows)]
    if markdown:
        lines.insert(1, ["---"] * len(HEADINGS))
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    widths = [max(len(cells[at]) for cells in lines) for at in range(len(HEADINGS))]
    padded = ([cell.ljust(width) for cell, width in zip(cells, widths, strict=True)] for cells in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def _cells(row: ResultRow) -> list[str]:
    result = {None: "-", True: "equal", False: row.difference}[row.equal]
    rules = ", ".join(f"{rule} x{row.rules.count(rule)}" for rule in sorted(set(row.rules))) or "0"
    direct = "-" if row.direct_seconds is None or row.mode == DIRECT else f"{row.direct_seconds:.1f}"
    return [
        *(row.client, row.version, row.mode, result, rules, str(row.refused), str(row.received)),
        *(row.extends, str(row.requests)),
        *(f"{row.fixed_tokens:,}", f"{row.largest_prompt:,}", f"{row.prompt_tokens:,}"),
        *(f"{row.dollars:.4f}", f"{row.first_byte_ms:.0f}", f"{row.seconds:.1f}", direct),
    ]


def _keep(run: ClientRun, folder: str | None) -> None:
    if folder:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        refused = "".join(f"\n{note.rules} {note.message}" for note in run.refused)
        received = "".join(f"\nreceived {one}" for one in run.received)
        text = f"{run.printed}{refused}{received}\n"
        (place / f"{run.client}-{run.mode}.txt").write_text(text, encoding="utf-8")


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
