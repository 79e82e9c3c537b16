"""The frameworks have environments of their own (benchmarks/peers/environments.py); a run says their versions."""

import sys
from pathlib import Path

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
if BENCHMARKS not in sys.path:
    sys.path.insert(0, BENCHMARKS)


def pytest_terminal_summary(terminalreporter) -> None:
    from peers.environments import has_adapter, is_standing, names, pins  # noqa: PLC0415 - after the path is set

    for name in filter(has_adapter, names()):
        terminalreporter.write_line(f"{name}: {pins(name) if is_standing(name) else 'not set up'}")
