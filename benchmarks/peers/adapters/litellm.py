"""LiteLLM as a policy: `trim_messages`, which a program calls before it asks.

Rule: documented defaults, scaled to the budget. By default 0.75 of the model's window are used; here the window is
the budget.
"""

import os
from importlib.metadata import version

# Before the import: prices and windows are looked up in the network otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from litellm.utils import trim_messages

from peers.adapters.nesting import flatten, nest
from peers.adapters.serve import Answer, Message, Packer, serve

TRIM_RATIO = 0.75


class Trim:
    def __init__(self, budget: int) -> None:
        self._most = int(budget * TRIM_RATIO)
        self._history: list[Message] = []
        self.about = (
            f"litellm {version('litellm')}; trim_messages(max_tokens={self._most}), {TRIM_RATIO} of {budget}"
        )

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(nest, new)
        return Answer(list(map(flatten, trim_messages(self._history, max_tokens=self._most))))


def start(variant: str, budget: int) -> Packer:
    if variant != "trim":
        raise ValueError(f"there is no variant `{variant}`")
    return Trim(budget)


if __name__ == "__main__":
    serve(start)
