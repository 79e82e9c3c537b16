"""A review with a model: one log, the tools of a reviewer, and what was found so far.

Rule: it can be closed at any moment and opened again from the log: findings and decisions are rebuilt from it, and
the view of the change is replaced in place where the change is another one.
"""

from collections.abc import Mapping
from importlib.resources import files as package_files

from holdfast.agents.loop import run
from holdfast.agents.notices import Notice
from holdfast.agents.opening import Opening
from holdfast.agents.outcomes import End
from holdfast.agents.reviewing.standing import recap_of, view_of
from holdfast.agents.reviewing.tools import REMEMBERED, restore, review_tools
from holdfast.agents.seating import seated
from holdfast.events import ToolReturned
from holdfast.messages import Json, joined_text
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.review.reports import Report
from holdfast.review.review import Review
from holdfast.tools.around.recall import recall_tool
from holdfast.tools.calling import CallFinished
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace
from holdfast.views import path

SYSTEM = (package_files(__package__) / "system.md").read_text("utf-8").strip()
REQUEST = "Review this change."
VIEW_SHARE = 0.35
"""Share of the low-water mark that the view of the change may fill."""


class ReviewDesk:
    """**Contract:** `review` is the opener's and grows with what is found; `aclose` ends what runs, and the store
    stays open."""

    def __init__(self, opening: Opening, review: Review) -> None:
        self.review = review
        self._watch = opening.watch
        workspace = Workspace([review.root])
        tools = [*review_tools(review, workspace), recall_tool(RECALL_TOOL, self._recall)]
        self.agent = seated(opening, Toolbox(tools, workspace), SYSTEM, self._notice, REMEMBERED)
        self.session = self.agent.session
        for entry in path(self.session.log.entries()):
            match entry.event:
                case ToolReturned(name=name, data=data) if data:
                    restore(review, name, data)
        self._refresh()

    async def look(self, request: str = REQUEST) -> End:
        """Review the change, or answer what is asked about it, up to the end that it comes to."""
        self._refresh()
        self.agent.say(request)
        return await run(self.agent)

    @property
    def is_begun(self) -> bool:
        """Whether something was said in this log before."""
        return bool(self.session.window.transcript.steps)

    def report(self) -> Report:
        """What is told of it by now, with what the model said last."""
        steps = self.session.window.transcript.steps
        said = joined_text(steps[-1].message.parts) if steps else ""
        return self.review.report(model=self.agent.model.name, summary=said)

    async def aclose(self) -> None:
        await self.agent.aclose()

    def _refresh(self) -> None:
        """Set what stands, where it is not what stands already: the view of the change and the findings."""
        window = self.session.window
        transcript, counter = window.transcript, window.scene.counter
        budget = int(window.profile.low_water * VIEW_SHARE)
        view = view_of(self.review, budget=budget, count=counter.text)
        if (view.text, view.worth) != (transcript.contexts.get(view.key), transcript.worth.get(view.key)):
            self.session.record(view)
        self._tell_findings()

    def _tell_findings(self) -> None:
        recap = recap_of(self.review)
        before = self.session.window.transcript.recaps.get(recap.key)
        if recap.lines != (before.lines if before else ()):
            self.session.record(recap)

    def _notice(self, notice: Notice) -> None:
        if isinstance(notice, CallFinished) and not notice.result.is_error:
            self._tell_findings()
        self._watch(notice)

    def _recall(self, arguments: Mapping[str, Json]) -> tuple[str, bool]:
        return answer_recall(self.session.store, arguments, log=self.session.log.id)
