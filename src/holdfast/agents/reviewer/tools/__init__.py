"""The reviewer's tools: those that read the project and both sides of the change, and those that report.

Rule: what the reporting tools change is in the review, and their results are enough to repeat it.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from holdfast.agents.reviewer.tools.file_lines import previous_version, read_file_hunk
from holdfast.agents.reviewer.tools.project_files import get_dependencies, list_project_files
from holdfast.agents.reviewer.tools.project_search import callers_of, search_in_project
from holdfast.agents.reviewer.tools.report_finding import (
    list_findings,
    reapply_effect,
    report_finding,
    set_level,
)
from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.messages import Json
from holdfast.review.review import Review
from holdfast.tools.envelope import ToolResult
from holdfast.tools.search.ripgrep import find_ripgrep
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

RECORDED_DATA = {"report_finding": True, "set_level": True}
"""Tools whose result `data` must be in the log, even if the result is an error."""


def review_tools(review: Review, workspace: Workspace) -> list[Tool]:
    """All tools of one review. The first root of the workspace is that of the review."""
    assert workspace.roots[0] == os.path.realpath(review.root), (
        "the workspace begins where the diff's paths do"
    )
    files = ReviewFiles(review, find_ripgrep())

    def tool(work: Callable[..., Awaitable[ToolResult]]) -> Tool:
        """A tool is named like its function, and like the file with its prompt."""
        name, takes = work.__name__, work.__annotations__["arguments"]
        prompt = prompt_beside(str(Path(__file__).with_name(name)))
        return TypedTool(name, takes, prompt, partial(work, files=files), name not in RECORDED_DATA)

    reading = (
        list_project_files,
        search_in_project,
        get_dependencies,
        callers_of,
        read_file_hunk,
        previous_version,
    )
    return [tool(work) for work in (*reading, set_level, report_finding, list_findings)]


def restore_result(review: Review, name: str, data: Mapping[str, Json]) -> None:
    """Apply the `data` of an earlier result. In order, all results give the same findings and decisions; applying
    them again changes nothing."""
    if name == "set_level" and data:
        unit = review.unit(data["unit"])
        if unit is not None:
            review.ask_level(unit, data["asked"])
    elif name == "report_finding" and data:
        review.findings = reapply_effect(review.findings, data, review.sides)
