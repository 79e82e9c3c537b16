"""The reviewer's tools: those that read the project and both sides of the change, and those that report.

Rule: what the reporting tools change is in the review, and their results are enough to repeat it.
"""

import os
from collections.abc import Mapping

from holdfast.agents.reviewer.tools import list_findings, report_finding, set_level
from holdfast.agents.reviewer.tools.callers_of import callers_of_tool
from holdfast.agents.reviewer.tools.get_dependencies import get_dependencies_tool
from holdfast.agents.reviewer.tools.list_project_files import list_project_files_tool
from holdfast.agents.reviewer.tools.previous_version import previous_version_tool
from holdfast.agents.reviewer.tools.read_file_hunk import read_file_hunk_tool
from holdfast.agents.reviewer.tools.report_finding import reapply_effect
from holdfast.agents.reviewer.tools.review_files import ReviewFiles
from holdfast.agents.reviewer.tools.search_in_project import search_in_project_tool
from holdfast.messages import Json
from holdfast.review.review import Review
from holdfast.tools.search.ripgrep import find_ripgrep
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

RECORDED_DATA = dict.fromkeys((report_finding.NAME, set_level.NAME), True)
"""Tools whose result `data` must be in the log, even if the result is an error."""


def review_tools(review: Review, workspace: Workspace) -> list[Tool]:
    """All tools of one review. The first root of the workspace is that of the review."""
    assert workspace.roots[0] == os.path.realpath(review.root), (
        "the workspace begins where the diff's paths do"
    )
    files = ReviewFiles(review, find_ripgrep())
    return [
        list_project_files_tool(files),
        search_in_project_tool(files),
        get_dependencies_tool(files),
        callers_of_tool(files),
        read_file_hunk_tool(files),
        previous_version_tool(files),
        set_level.set_level_tool(files),
        report_finding.report_finding_tool(files),
        list_findings.list_findings_tool(files),
    ]


def restore_result(review: Review, name: str, data: Mapping[str, Json]) -> None:
    """Apply the `data` of an earlier result. In order, all results give the same findings and decisions; applying
    them again changes nothing."""
    if name == set_level.NAME and data:
        unit = review.unit(data["unit"])
        if unit is not None:
            review.ask_level(unit, data["asked"])
    elif name == report_finding.NAME and data:
        review.findings = reapply_effect(review.findings, data, review.sides)
