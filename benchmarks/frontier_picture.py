"""Draws what policies keep against what they cost, from recorded figures.

    python benchmarks/frontier_picture.py > docs/pictures/frontier.svg

The figures are in `benchmarks/figures/unseen_projects.tsv`, which says how they were measured. Each line joins one
policy's results at budgets of 16k, 32k and 64k tokens. Up and to the left is better.
"""

import csv
import sys
from html import escape
from itertools import groupby
from pathlib import Path

FIGURES = Path(__file__).parent / "figures" / "unseen_projects.tsv"
OURS = {"rich": "#0b6e4f", "code": "#2a9d6f", "lean": "#74b816"}
# A name for the picture, which of the three points carries it, and how far from that point it stands.
PEERS = {
    "newest": ("newest that fits", 2, -110, -10),
    "clear": ("clear results in batches", 2, 8, 0),
    "strands_auto": ("Strands, auto", 0, -40, 18),
    "strands_window": ("Strands, window", 0, -60, 18),
    "pydantic_ai_harness": ("pydantic-ai", 0, 8, 18),
    "langchain_clear": ("LangChain, clear tool uses", 2, 8, 8),
    "langchain_summary": ("LangChain, summarization", 0, -150, 18),
}
GREY = "#8a8f98"
WIDTH, HEIGHT = 830, 470
LEFT, RIGHT, TOP, BOTTOM = 70, 800, 64, 410
DOLLARS, KEPT = (0.2, 1.5), (0.0, 1.0)

Point = tuple[float, float, str]


def read_figures() -> dict[str, list[Point]]:
    """The points of each policy: dollars, kept, budget."""
    lines = [line for line in FIGURES.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines, delimiter="\t")
    return {
        policy: [(float(row["dollars"]), float(row["older"]), row["budget"]) for row in group]
        for policy, group in groupby(rows, key=lambda row: row["policy"])
    }


def at(dollars: float, kept: float) -> tuple[float, float]:
    x = LEFT + (dollars - DOLLARS[0]) / (DOLLARS[1] - DOLLARS[0]) * (RIGHT - LEFT)
    y = BOTTOM - (kept - KEPT[0]) / (KEPT[1] - KEPT[0]) * (BOTTOM - TOP)
    return round(x, 1), round(y, 1)


def text(x: float, y: float, content: str, **more: str) -> str:
    attributes = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return f'<text x="{x}" y="{y}"{attributes}>{escape(content)}</text>'


def axes() -> list[str]:
    parts = []
    for kept in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = at(DOLLARS[0], kept)[1]
        parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}" stroke="#e4e2dc"/>')
        parts.append(text(LEFT - 8, y + 4, f"{kept:.0%}", text_anchor="end", fill="#5c5850"))
    for dollars in (0.4, 0.6, 0.8, 1.0, 1.2, 1.4):
        x = at(dollars, 0)[0]
        parts.append(text(x, BOTTOM + 20, f"{dollars:.1f} ×", text_anchor="middle", fill="#5c5850"))
    middle = (LEFT + RIGHT) / 2
    parts.append(text(middle, BOTTOM + 44, "cost against sending everything, cached", text_anchor="middle"))
    return parts


def curve(policy: str, points: list[Point]) -> list[str]:
    colour = OURS.get(policy, GREY)
    places = [at(dollars, kept) for dollars, kept, _ in points]
    path = " ".join(f"{x},{y}" for x, y in places)
    width = 3 if policy in OURS else 1.5
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>']
    parts += [f'<circle cx="{x}" cy="{y}" r="{width + 1}" fill="{colour}"/>' for x, y in places]
    return parts


def label(policy: str, points: list[Point]) -> str:
    if policy in OURS:
        x, y = at(*points[-1][:2])
        return text(x - 10, y - 9, policy, text_anchor="end", font_weight="700", fill=OURS[policy])
    name, point, right, down = PEERS[policy]
    x, y = at(*points[point][:2])
    return text(round(x + right, 1), round(y + down, 1), name, fill="#5c5850")


def picture(figures: dict[str, list[Point]]) -> str:
    parts = axes()
    peers = [policy for policy in figures if policy not in OURS]
    for policy in [*peers, *OURS]:
        parts += curve(policy, figures[policy])
    parts += [label(policy, points) for policy, points in figures.items()]
    title = "Older evidence still in front of the agent, at budgets of 16k, 32k and 64k tokens"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-size="13" '
        'font-family="ui-sans-serif, system-ui, sans-serif" fill="#33312e">'
    )
    return "\n".join(
        [
            head,
            f"<title>{escape(title)}; up and to the left is better</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#fbfaf7"/>',
            text(24, 34, title, font_weight="600", font_size="15"),
            text(
                LEFT + 6, BOTTOM - 10, "Holdfast in green; each line joins 16k, 32k and 64k", fill="#5c5850"
            ),
            *parts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(picture(read_figures()))
