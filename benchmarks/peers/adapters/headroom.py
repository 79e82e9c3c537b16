"""headroom as a policy: `compress` on each request, with its defaults and its limit set to the budget.

Rule: documented defaults; only `model_limit` is the budget. It runs offline, so without its text model.
"""

import os
from importlib.metadata import version

# Before the import: headroom and a library below it look for updates, prices and models when loaded.
os.environ["HEADROOM_OFFLINE"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

from headroom import compress

from peers.adapters.nesting import flatten, nest
from peers.adapters.serve import Answer, Message, Packer, serve


class Compress:
    def __init__(self, budget: int) -> None:
        self._budget = budget
        self.about = (
            f"headroom-ai {version('headroom-ai')}; compress(model_limit={budget}), offline: "
            "its text model (Kompress) is a download and does not run"
        )
        self._history: list[Message] = []

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(nest, new)
        result = compress(self._history, model_limit=self._budget)
        return Answer(list(map(flatten, result.messages)))


def start(variant: str, budget: int) -> Packer:
    if variant != "compress":
        raise ValueError(f"there is no variant `{variant}`")
    return Compress(budget)


if __name__ == "__main__":
    serve(start)
