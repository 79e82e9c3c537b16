"""The tools of the reviewer: those that look at the project and at both sides of the change, and those that report.

Rule: what the reporting ones change is in the review, and their results are enough to bring it about again.
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
from holdfast.tools.search.ripgrep import Ripgrep, find_ripgrep
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

RECORDED_DATA = dict.fromkeys((report_finding.NAME, set_level.NAME), True)
"""Tools whose results' `data` must be in the log, also where they are errors."""


def review_tools(review: Review, workspace: Workspace, *, searcher: Ripgrep | None = None) -> list[Tool]:
    """All tools of one review, which share what they read. The workspace's first root is the review's."""
    assert workspace.roots[0] == os.path.realpath(review.root), (
        "the workspace begins where the diff's paths do"
    )
    shelf = ReviewFiles(review)
    program = searcher or find_ripgrep()
    return [
        list_project_files_tool(shelf, program),
        search_in_project_tool(shelf, program),
        get_dependencies_tool(shelf, program),
        callers_of_tool(shelf, program),
        read_file_hunk_tool(shelf),
        previous_version_tool(shelf),
        set_level.set_level_tool(shelf),
        report_finding.report_finding_tool(shelf),
        list_findings.list_findings_tool(shelf),
    ]


def restore_result(review: Review, name: str, data: Mapping[str, Json]) -> None:
    """Take up the `data` of an earlier result. Fed in order, all results give the same findings and decisions; to
    feed them again changes nothing."""
    if name == set_level.NAME and data:
        unit = review.unit(data["unit"])
        if unit is not None:
            review.wish(unit, data["asked"])
    elif name == report_finding.NAME and data:
        review.findings = reapply_effect(review.findings, data, review.sides)
