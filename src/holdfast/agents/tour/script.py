"""What the model of the tour says and does, a beat for each request.

Rule: every beat is shown by real tools on the files of the scratch repository, and stands on its own.
"""

from typing import Any

from msgspec import Struct


class Beat(Struct, frozen=True):
    """What is said, and the calls behind it."""

    says: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


def _todos(*states: str) -> tuple[str, dict[str, Any]]:
    items = ("Find out why the total is wrong", "Mend it as it was decided", "See the tests pass")
    return "TodoWrite", {"todos": [{"content": c, "status": s} for c, s in zip(items, states, strict=True)]}


DECISIONS = "docs/decisions.md"
TESTS = "python3 -m unittest"
EDITS = [
    {
        "old_string": "from decimal import ROUND_HALF_UP, Decimal",
        "new_string": "from decimal import ROUND_HALF_EVEN, Decimal",
    },
    {"old_string": "rounding=ROUND_HALF_UP", "new_string": "rounding=ROUND_HALF_EVEN"},
]

BEATS = (
    Beat(
        "Welcome. I am a script and not a model, but all else here is real: the loop, the tools, the files, the "
        "log and the packing. The shop in this folder has a wrong price. I make a list and look around.",
        (_todos("in_progress", "pending", "pending"), ("LS", {"path": "."})),
    ),
    Beat(
        "Several calls in one reply run at the same time.",
        (
            ("Read", {"path": "shop/prices.py"}),
            ("Read", {"path": "shop/cart.py"}),
            ("Read", {"path": DECISIONS}),
        ),
    ),
    Beat("Now the tests, in a real shell.", (("Bash", {"command": TESTS}),)),
    Beat(
        "One fails by a cent. I look through the logs; they are long, and the window of this tour is small.",
        (("Read", {"path": "logs/orders.log"}),),
    ),
    Beat(
        "And the other one. Watch the status line: it comes close to where a fold begins.",
        (("Read", {"path": "logs/parcels.log"}),),
    ),
    Beat("How often does something wait?", (("Grep", {"pattern": "state=waiting"}),)),
    Beat(
        "By now earlier steps were folded: in their place stands a note with the lines that matter and the ids of "
        "the rest. What was decided about rounding is no longer there, so I bring it back with Recall.",
        (("Recall", {"query": "decision half a cent"}),),
    ),
    Beat(
        "It was decided: to the even neighbour. The code rounds up. I look at the place once more.",
        (("Read", {"path": "shop/prices.py"}),),
    ),
    Beat("The smallest change that is right:", (("MultiEdit", {"path": "shop/prices.py", "edits": EDITS}),)),
    Beat("Does it hold?", (("Bash", {"command": TESTS}), _todos("completed", "completed", "completed"))),
    Beat(
        "Mended: `shop/prices.py:9` now rounds half a cent to the even neighbour, as decision 17 says, and the "
        "tests pass.\n\nWhat you saw: a todo list, calls side by side, a window that was folded when it filled up, "
        "a folded text brought back to the letter, an edit with its diff, and on the status line the room, the "
        "cache and the cost. All of it is in a log that could be gone on with.\n\nWith a model of your own: "
        "`holdfast --model provider/name`. `holdfast models` lists them."
    ),
)
