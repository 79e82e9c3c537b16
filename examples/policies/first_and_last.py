"""A context policy of one's own: the first user message and the newest steps.

    holdfast replay recording.jsonl --policy first_and_last:FirstAndLast,newest

A new policy is made for every recording, with its budget and the scorer's way to count.
"""


class FirstAndLast:
    """The message that opened it all, and the newest whole steps that fit behind it."""

    def __init__(self, task):
        self.task = task
        self.sizes = []

    def pack(self, messages, at):  # noqa: ARG002 - the recorded time of the request
        # The list only grows, so what was counted before is not counted again.
        self.sizes += [self.task.count([message]) for message in messages[len(self.sizes) :]]
        first = [message for message in messages[:1] if message["role"] == "user"]
        room = self.task.budget - sum(self.sizes[: len(first)])
        start = len(messages)
        for index in range(len(messages) - 1, len(first) - 1, -1):
            room -= self.sizes[index]
            if room < 0:
                break
            # A result never goes without its call: a step begins at its assistant message.
            if messages[index]["role"] != "tool":
                start = index
        return [*first, *messages[start:]]
