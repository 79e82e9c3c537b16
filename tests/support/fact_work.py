"""An agent's calls with their results, each with an id of its own, and the facts that are drawn from them."""

from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.facts.fact import LogFacts
from holdfast.events import Event
from holdfast.views.transcript import Transcript
from support.logs import chained, result, step, user


def facts(*groups: list[Event]) -> LogFacts:
    """Of calls made after one request."""
    return extract_facts(
        Transcript(chained([user("Go on."), *(event for group in groups for event in group)]))
    )


def texts(found) -> list[str]:
    return [fact.text for fact in found]


class Work:
    def __init__(self) -> None:
        self.count = 0

    def call(self, name: str, arguments: dict, text: str, *, error: bool = False) -> list[Event]:
        self.count += 1
        id_ = f"c{self.count}"
        return [step("", (id_, name, arguments)), result(id_, text, name, error=error)]

    def bash(self, command: str, text: str = "") -> list[Event]:
        return self.call("Bash", {"command": command}, text)

    def read(self, path: str, text: str = "x\n" * 9, **lines: int) -> list[Event]:
        return self.call("Read", {"file_path": path, **lines}, text)

    def edit(
        self, path: str, text: str = "The file has been updated successfully.", *, error: bool = False
    ) -> list[Event]:
        return self.call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, text, error=error)

    def write(self, path: str, text: str = "") -> list[Event]:
        text = text or f"File created successfully at: {path}"
        return self.call("Write", {"file_path": path, "content": "x"}, text)
