"""The picture in the README, the table in `docs/folding.md` and the recorded figures agree."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "benchmarks" / "figures" / "unseen_projects.tsv"


def test_the_picture_is_what_the_command_draws():
    command = [sys.executable, str(ROOT / "benchmarks" / "frontier_picture.py")]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert drawn == (ROOT / "docs" / "pictures" / "frontier.svg").read_text("utf-8")


def test_the_table_has_the_recorded_figures():
    lines = [line for line in FIGURES.read_text("utf-8").splitlines() if not line.startswith("#")]
    recorded = [line.split("\t") for line in lines[1:]]
    page = (ROOT / "docs" / "folding.md").read_text("utf-8")
    table = page[page.index("| policy | 16k: older") :].split("\n\n", 1)[0]
    cells = [re.split(r" \| ", row.strip("| ")) for row in table.splitlines()[2:]]
    stated = [
        [cell[0].replace("\\_", "_"), budget, *cell[1 + 4 * place : 5 + 4 * place]]
        for cell in cells
        for place, budget in enumerate(("16k", "32k", "64k"))
    ]
    drawn = {policy for policy, *_ in recorded}
    assert sorted(row for row in stated if row[0] in drawn) == sorted(recorded)
