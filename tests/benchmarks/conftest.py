"""Benchmarks are programs beside the package, so their folder is put on the path here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
