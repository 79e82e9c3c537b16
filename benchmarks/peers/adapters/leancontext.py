"""leancontext as a policy: `reduce_messages` on each request, with its defaults.

Rule: documented defaults; it has no notion of a budget, so there is nothing to scale.
"""

from importlib.metadata import version

from leancontext import active_tokenizer, reduce_messages

from peers.adapters.nesting import flatten, nest
from peers.adapters.serve import Answer, Message, Packer, serve


class Reduce:
    def __init__(self) -> None:
        counter = active_tokenizer()
        self.about = (
            f"leancontext {version('leancontext')}; reduce_messages(), tokens by its {counter} counter"
        )
        self._history: list[Message] = []

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(nest, new)
        return Answer(list(map(flatten, reduce_messages(self._history))))


def start(variant: str, budget: int) -> Packer:  # noqa: ARG001  nothing in it knows a budget
    if variant != "reduce":
        raise ValueError(f"there is no variant `{variant}`")
    return Reduce()


if __name__ == "__main__":
    serve(start)
