"""Random work on files that really have content: whatever is said of a file can be held against what it is."""

import random

from holdfast.events import AssistantReplied, Event, ToolReturned, UserSaid
from holdfast.messages import AssistantPart, Image, Text, ToolCall
from support.logs import PIXEL, prose, user

PATHS = ("src/a.py", "src/b.py", "/home/dev/inventory/src/a.py")


class FileWork:
    """Reads, writes and edits of a few files, and other calls between them. `files` are the lines as they are."""

    def __init__(self, seed: int, steps: int = 16) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        self.events: list[Event] = [user("Work on the files.")]
        self.files = {path: self._lines(path, self.rng.choice((3, 12, 60, 150))) for path in PATHS}
        self.versions: list[dict[str, list[str]]] = []
        """The files as they were after each event."""
        self._note()
        for _ in range(steps):
            self._step()

    def _lines(self, path: str, count: int) -> list[str]:
        self.count += 1
        return [f"{path} version {self.count} row {n} {self._words()}" for n in range(count)]

    def _words(self) -> str:
        return " ".join(prose(self.rng, 3).split())

    def _note(self) -> None:
        while len(self.versions) < len(self.events):
            self.versions.append({path: list(lines) for path, lines in self.files.items()})

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self._note()

    def _step(self) -> None:
        rng = self.rng
        if rng.random() < 0.15:
            self._add(UserSaid((Text(prose(rng, 12)),)))
        acts = [rng.choice(ACTS)(self) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        parts: list[AssistantPart] = [Text("Going on."), *(call for call, _ in acts)]
        self._add(AssistantReplied(tuple(parts)))
        rng.shuffle(acts)
        for call, returned in acts:
            if rng.random() < 0.03:
                continue
            self._add(returned(call))

    def _call(self, name: str, arguments: dict[str, object]) -> ToolCall:
        self.count += 1
        return ToolCall(f"call_{self.count}", name, arguments)

    def read(self):
        """A numbered listing, of the whole file or of a range that may go beyond its end."""
        rng, path = self.rng, self.rng.choice(PATHS)
        first = rng.choice((0, 0, 1, rng.randrange(1, 60)))
        limit = rng.choice((5, 40, 200)) if first else 0
        call = self._call("Read", {"file_path": path, **({"offset": first, "limit": limit} if first else {})})

        def returned(made: ToolCall) -> ToolReturned:
            lines = list(enumerate(self.files[path], 1))
            some = [(n, row) for n, row in lines if not first or first <= n < first + limit]
            text = (
                "\n".join(f"{n:6}→{row}" for n, row in some)
                or "<error>The offset lies beyond the end</error>"
            )
            return ToolReturned(made.id, made.name, (Text(text),))

        return call, returned

    def show(self):
        """What a shell prints: no numbers."""
        path, first, last = self.rng.choice(PATHS), self.rng.randrange(1, 40), self.rng.randrange(40, 90)
        command = self.rng.choice(
            (f"cat {path}", f"sed -n '{first},{last}p' {path}", f"head -n {last} {path}")
        )
        call = self._call("exec_command", {"cmd": command})

        def returned(made: ToolCall) -> ToolReturned:
            rows = self.files[path]
            shown = rows if "cat" in command else rows[first - 1 : last] if "sed" in command else rows[:last]
            return ToolReturned(made.id, made.name, (Text("".join(f"{row}\n" for row in shown)),))

        return call, returned

    def write(self):
        path = self.rng.choice(PATHS)
        lines = self._lines(path, self.rng.choice((1, 20, 80)))
        call = self._call("Write", {"file_path": path, "content": "\n".join(lines) + "\n"})

        def returned(made: ToolCall) -> ToolReturned:
            if self.rng.random() < 0.2:
                return ToolReturned(
                    made.id, made.name, (Text("Error: the disk is full"),), self.rng.random() < 0.5
                )
            self.files[path] = lines
            return ToolReturned(made.id, made.name, (Text(f"Wrote {path}"),))

        return call, returned

    def edit(self):
        """One row more, or one row replaced; or a failure, which changes nothing."""
        path, new = self.rng.choice(PATHS), self._lines("edited", 1)
        if self.rng.random() < 0.3:
            other = self.rng.choice(PATHS)
            patch = "".join(f"*** Update File: {p}\n@@\n+{new[0]}\n" for p in (path, other))
            call, paths = self._call("apply_patch", {"input": f"*** Begin Patch\n{patch}"}), {path, other}
        else:
            arguments = {"file_path": path, "old_string": prose(self.rng, 9), "new_string": new[0]}
            call, paths = self._call("Edit", arguments), {path}

        def returned(made: ToolCall) -> ToolReturned:
            if self.rng.random() < 0.25:
                return ToolReturned(made.id, made.name, (Text("no such text"),), True)
            for one in paths:
                at = self.rng.randrange(len(self.files[one]) + 1)
                self.files[one][at : at + self.rng.randrange(2)] = new
            return ToolReturned(made.id, made.name, (Text("done"),))

        return call, returned

    def other(self):
        """Calls that are about no file, a picture among them."""
        name = self.rng.choice(("exec_command", "Grep", "mcp__thing"))
        call = self._call(name, {"cmd": "make", "pattern": "x"})
        text = prose(self.rng, self.rng.choice((0, 30, 300)))
        parts = (Text(text), Image("image/png", PIXEL)) if self.rng.random() < 0.1 else (Text(text),)
        return call, lambda made: ToolReturned(made.id, made.name, parts)


ACTS = (FileWork.read, FileWork.read, FileWork.show, FileWork.write, FileWork.edit, FileWork.other)
