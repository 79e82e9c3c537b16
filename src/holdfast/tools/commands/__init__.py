"""Allow, ask or deny for shell commands, by what they would do and not by the words in them.

Rule: reading is pure; nothing is run, and no file but the table of rules is opened.
"""

from holdfast.tools.commands.judge import Judgement, judge, pattern_for
from holdfast.tools.commands.rules import CommandRules, Verdict, built_in, parse_rules

__all__ = ["CommandRules", "Judgement", "Verdict", "built_in", "judge", "parse_rules", "pattern_for"]
