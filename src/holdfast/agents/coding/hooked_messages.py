"""What a person says, as the hooks hear it before the agent does, and the hooks at the end of a run.

Rule: messages are heard one after the other, in the order in which they were said, and none is lost: what is not
blocked reaches the agent. Hooks keep a run going a few times at most.
"""

import asyncio
from collections.abc import Callable, Sequence

from holdfast.agents.agent import Agent
from holdfast.agents.hooks import frame
from holdfast.agents.mentions import ResolvedPrompt, resolve_mentions
from holdfast.agents.model_requests import run_unless_interrupted
from holdfast.agents.notices import PicturesMentioned, Watch
from holdfast.agents.outcomes import Done, Stop
from holdfast.agents.session_hooks import SessionHooks
from holdfast.messages import Image
from holdfast.tools.workspace import Workspace

MOST_CONTINUATIONS = 3
"""How often hooks may keep a run from ending."""


UNHEARD = Stop(
    "interrupted",
    "interrupted before the hooks had heard the message, which was not sent",
    "Up brings it back",
)


class HookedMessages:
    """`read_rules` is called before a message is taken in."""

    def __init__(
        self,
        hooks: SessionHooks,
        agent: Agent,
        workspace: Workspace,
        mode: Callable[[], str],
        read_rules: Callable[[], None],
        watch: Watch,
    ) -> None:
        self._hooks = hooks
        self._agent = agent
        self._workspace = workspace
        self._mode = mode
        self._read_rules = read_rules
        self._watch = watch
        self._in_order = asyncio.Lock()
        self._waiting: list[tuple[str, asyncio.Task[Stop | None]]] = []
        """Messages that the hooks hear, and their texts."""
        self._continued = 0
        self._stop: asyncio.Event | None = None
        """Set when the hooks that hear a message should end."""
        if hooks.has("prompt") or hooks.has("stop"):
            agent.before_end = self._before_end

    def begin(self) -> None:
        """A run begins."""
        self._continued = 0

    async def hear(
        self, text: str, *reminders: str, images: Sequence[Image] = (), attached: Sequence[str] = ()
    ) -> Stop | None:
        """Take in what a person says, and the data `attached` to it, unless a hook blocks it or it is interrupted
        first."""
        answers: list[Stop | None] = []

        async def listen() -> None:
            answers.append(await self._hear(text, *reminders, images=images, attached=attached))

        self._stop = asyncio.Event()
        try:
            await run_unless_interrupted(self._stop, listen())
        finally:
            self._stop = None
        return answers[0] if answers else UNHEARD

    def interrupt(self) -> bool:
        """End the hooks that hear a message now; whether there were any."""
        if self._stop:
            self._stop.set()
        return self._stop is not None

    async def _hear(
        self, text: str, *reminders: str, images: Sequence[Image] = (), attached: Sequence[str] = ()
    ) -> Stop | None:
        async with self._in_order:
            told = {"mode": self._mode(), "prompt": "\n\n".join(filter(None, (text, *attached)))}
            outcome = await self._hooks.run("prompt", "the message", told)
            if hook := outcome.blocked_by:
                why = f": {outcome.reason}" if outcome.reason else ""
                return Stop(
                    "blocked", f"the hook `{hook.shown}` blocked the message{why}", "say it in other words"
                )
            self._take_in(text, *reminders, *outcome.told, images=images)
            for data in attached:
                # Said separately from the prompt: an `@` in data is no mention.
                self._agent.say(data)
            return None

    def add(self, text: str) -> ResolvedPrompt:
        """Take in what a person says: at once, or when the hooks have heard it."""
        if not self._hooks.has("prompt"):
            return self._take_in(text)
        prompt = resolve_mentions(text, self._workspace)
        self._waiting.append((prompt.text, asyncio.create_task(self._hear(text))))
        return prompt

    def take_back(self, text: str) -> bool:
        """Take back the newest message with this text, also from the hooks; False if it is in the log already."""
        for n in range(len(self._waiting) - 1, -1, -1):
            said, heard = self._waiting[n]
            if said == text and not heard.done():
                del self._waiting[n]
                heard.cancel()
                return True
        return self._agent.take_back(text)

    async def all_heard(self) -> None:
        """Wait for the hooks of the messages that were added."""
        while self._waiting:
            # Unlike `gather`, this cancels no task if it is cancelled.
            done, _ = await asyncio.wait([heard for _, heard in self._waiting])
            self._waiting = [one for one in self._waiting if one[1] not in done]
            for heard in done:
                if not heard.cancelled():  # It was taken back.
                    heard.result()

    def _take_in(self, text: str, *reminders: str, images: Sequence[Image] = ()) -> ResolvedPrompt:
        takes_images = self._agent.model_entry.images
        prompt = resolve_mentions(text, self._workspace, takes_images=takes_images)
        self._read_rules()
        more = [prompt.reminder] if prompt.reminder else []
        self._agent.say(prompt.text, *more, *reminders, images=(*images, *prompt.pictures))
        if prompt.notes:
            self._watch(PicturesMentioned(prompt.notes))
        return prompt

    async def _before_end(self, end: Done) -> None:
        """Let the hooks hear how the run ends. What one of them says keeps it going."""
        await self.all_heard()
        told = {"mode": self._mode(), "reply": end.text, "continued": self._continued}
        outcome = await self._hooks.run("stop", "the end", told)
        if outcome.blocked_by and self._continued < MOST_CONTINUATIONS:
            self._continued += 1
            reason = outcome.reason or "It gives no reason."
            self._agent.say("", *outcome.told, frame(outcome.blocked_by, "asks you to continue", reason))
        else:
            for text in outcome.told:
                self._agent.remind(text)
        await self.all_heard()
