"""Sessions as clients send them, in all four formats, and a check that what users say in them is still there.

Parallel calls, words beside results, several texts in a message, reminders, pictures, blank texts, pastes that are
huge or come again, and summaries by the client: all that one list may have, at random.
"""

import random
from typing import Any

from msgspec import Struct

from gateway.client_lists import said, step
from holdfast.views.directives import directives

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
DIRECTIVES = (
    "Never touch ledger_{}.py.",
    "Always run check_{} before you commit.",
    "Do not add dependencies to part_{}.",
    "不要修改第 {} 个文件。",
)
KINDS = (
    "short",
    "short",
    "short",
    "task",
    "task",
    "notes",
    "paste",
    "huge",
    "repeat",
    "two",
    "image",
    "blank",
)


class WorkRequest(Struct):
    """The messages of a request, and what users say in them."""

    messages: list[dict[str, Any]]
    said: list[str]


class ClientWork:
    """A session of a client: `requests` are what it sends. Each list begins with the one before, unless the client
    summarizes."""

    def __init__(self, seed: int, format_: str, requests: int = 24) -> None:
        self._random = random.Random(seed)
        self.format = format_
        self.requests: list[WorkRequest] = []
        self._messages: list[dict[str, Any]] = []
        self._said: list[str] = []
        self._pastes: list[str] = []
        self._number = 0
        self._talk = self._random.choice([0.05, 0.2, 0.6])
        self._largest = self._random.choice([20, 80, 300])
        self._say("task")
        for _ in range(requests):
            self._add_request()

    def _add_request(self) -> None:
        chance = self._random.random()
        if chance < 0.02:
            self._summarize()
        elif chance < self._talk:
            self._messages.append(said(self.format, "assistant", f"Done with {self._next()}."))
            for _ in range(self._random.choice([1, 1, 1, 2])):
                self._say(self._random.choice(KINDS))
        else:
            self._step()
            if self._random.random() < self._talk / 2:
                self._beside_results(self._random.choice(KINDS))
        self.requests.append(WorkRequest([*self._messages], [*self._said]))

    def _summarize(self) -> None:
        self._messages, self._said, self._pastes = [], [], []
        text = f"This session is being continued from a previous conversation.\nDone: {self._next()}."
        self._messages.append(said(self.format, "user", text))
        self._say("task")

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _lines(self, most: int) -> str:
        count, number = self._random.randint(1, most), self._next()
        return "\n".join(
            f"{number}.{line} src/part_{line % 7}.py handled {line * 7919 % 997}" for line in range(count)
        )

    def _step(self) -> None:
        steps = [
            step(
                self.format,
                self._next(),
                "Bash",
                {"command": f"./check {self._number}"},
                self._lines(self._largest),
            )
            for _ in range(self._random.choice([1, 1, 1, 1, 2, 4]))
        ]
        calls, answers = ([pair[side] for pair in steps] for side in (0, 1))
        key = {"anthropic": "content", "gemini": "parts", "openai": "tool_calls"}.get(self.format)
        if key is None:
            self._messages += [*calls, *answers]
            return
        joined = [part for message in calls for part in message[key]]
        results = answers
        if self.format != "openai":
            results = [{**answers[0], key: [part for message in answers for part in message[key]]}]
        self._messages += [{**calls[0], key: joined}, *results]

    def _texts(self, kind: str) -> list[str]:
        number = self._next()
        demand = self._random.choice(DIRECTIVES).format(number)
        match kind:
            case "short":
                return [self._random.choice([f"Go on with item {number}.", f"And {number}? {demand}"])]
            case "task":
                return [
                    f"Find out what is wrong with {number}.\n\n{self._lines(12)}\n{demand}\n{self._lines(6)}"
                ]
            case "notes":
                return [f"Notes of {number}:\n{self._lines(60)}\n{demand}\n{self._lines(60)}"]
            case "paste" | "huge":
                size = 160 if kind == "paste" else 900
                self._pastes.append(
                    f"Log of {number}:\n{self._lines(size)}\n{demand}\n{self._lines(size)}\nend of {number}"
                )
                return [self._pastes[-1]]
            case "repeat" if self._pastes:
                return [self._random.choice(self._pastes)]
            case "two":
                reminder = f"<system-reminder>\nToday is day {number}.\n</system-reminder>"
                return [reminder, f"Look at {number}. {demand}", f"{number} again:\n{self._lines(90)}"]
            case "blank":
                return ["", f"After nothing, {number}."]
        return [f"See the picture {number}. {demand}"]

    def _say(self, kind: str) -> None:
        self._messages.append(self._user_message(kind, self._texts(kind)))

    def _user_message(self, kind: str, texts: list[str]) -> dict[str, Any]:
        self._said += [text for text in texts if text]
        if len(texts) == 1 and kind != "image":
            return said(self.format, "user", texts[0])
        key = "parts" if self.format == "gemini" else "content"
        parts = [part for text in texts for part in self._part(text)]
        return {"role": "user", key: [*parts, self._image()] if kind == "image" else parts}

    def _part(self, text: str) -> list[dict[str, Any]]:
        match self.format:
            case "gemini":
                return [{"text": text}]
            case "responses":
                return [{"type": "input_text", "text": text}]
        return [{"type": "text", "text": text}]

    def _image(self) -> dict[str, Any]:
        url = f"data:image/png;base64,{IMAGE}"
        match self.format:
            case "anthropic":
                return {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": IMAGE},
                }
            case "openai":
                return {"type": "image_url", "image_url": {"url": url}}
            case "responses":
                return {"type": "input_image", "image_url": url}
        return {"inlineData": {"mimeType": "image/png", "data": IMAGE}}

    def _beside_results(self, kind: str) -> None:
        message = self._user_message(kind, self._texts(kind))
        key = {"anthropic": "content", "gemini": "parts"}.get(self.format)
        if key is None:
            self._messages.append(message)
            return
        beside = message[key]
        parts = [{"type": "text", "text": beside}] if isinstance(beside, str) else beside
        last = self._messages[-1]
        self._messages[-1] = {**last, key: [*last[key], *parts]}


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for one in inner for found in strings(one)]


def words_missing(said: list[str], sent: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The texts of users that do not stand whole in what is sent; of each its first line and its directives, as far
    as these do not stand there either."""
    texts = [text for message in sent if message.get("role") == "user" for text in strings(message)]
    shown, whole = "\n".join(texts), {*texts}
    missing: dict[str, list[str]] = {}
    for text in said:
        if text not in whole:
            demands = [text[start:end] for start, end in directives(text)]
            missing[text] = [part for part in (text.split("\n", 1)[0], *demands) if part not in shown]
    return missing
