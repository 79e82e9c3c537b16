"""What each feature means, in words for people.

Rule: every feature has a meaning here, and a test holds the two lists together. An amount enters a worth by its
logarithm, so that its weight reads as a factor for each doubling; the others are yes or no.
"""

from math import exp, log

from msgspec import Struct

from holdfast.packing.lines.facts import EDGE, LONG_LINE, SHORT_TEXT
from holdfast.packing.lines.features import LATELY, NEW

START = "always"
"""The constant: what a worth begins with."""


class Meaning(Struct, frozen=True):
    text: str
    is_amount: bool = False


def amount(of: str) -> Meaning:
    return Meaning(f"each doubling of {of}", is_amount=True)


def factor(meaning: Meaning, weight: float) -> float:
    """What a worth is multiplied by where the feature holds, or where its amount doubles."""
    return exp(weight * log(2)) if meaning.is_amount else exp(weight)


LINE_MEANINGS = {
    START: Meaning("what every line begins with"),
    "user": Meaning("the user said it"),
    "said": Meaning("the agent said it, outside of calls"),
    "call": Meaning("it tells what a call was: its path, command or pattern"),
    "argument": Meaning("the agent wrote it, in a text that went with a call"),
    "result": Meaning("a tool returned it"),
    "read": Meaning("a tool that reads files returned it"),
    "search": Meaning("a search returned it"),
    "shell": Meaning("a command returned it"),
    "listing": Meaning("a listing of files returned it"),
    "change": Meaning("its call edited or wrote a file"),
    "other_tool": Meaning("a tool of no known kind returned it"),
    "log_size": amount("its tokens"),
    "long": Meaning(f"it has more than {LONG_LINE} tokens"),
    "short": Meaning(f"it has fewer than {SHORT_TEXT} characters"),
    "indent": amount("the spaces before it"),
    "definition": Meaning("it defines a function, a class, a type or a constant"),
    "trouble": Meaning("it speaks of an error, a failure or a warning"),
    "import": Meaning("it imports something"),
    "comment": Meaning("it is a comment"),
    "log_names": amount("the names in it"),
    "first_rows": Meaning(f"it is among the first {EDGE} rows of its text"),
    "last_rows": Meaning(f"it is among the last {EDGE} rows of its text"),
    "log_rows": amount("the rows of its text"),
    "added": Meaning("it begins with a plus, as in a diff"),
    "removed": Meaning("it begins with a minus, as in a diff"),
    "numbered": Meaning("a listing put a number before it"),
    "lone": Meaning("it is one name and nothing else"),
    "structure": Meaning("each point that it has in the structure of its text"),
    "log_age": amount("the steps since it was seen"),
    "log_repeats": amount("how often it was seen"),
    "in_goal": Meaning("it has a name that the user brought up"),
    "file_changed": Meaning("its file was changed at some time"),
    "log_file_age": amount("the steps since its file was touched"),
    "file_changed_since": Meaning("its file was changed after it was seen"),
}

NAME_MEANINGS = {
    START: Meaning("what every name begins with"),
    "own": Meaning("the agent itself brought it up"),
    "path": Meaning("it has a slash"),
    "deep_path": Meaning("it has three slashes or more"),
    "extension": Meaning("it ends as file names do"),
    "number": Meaning("it is a number, a date or a hash"),
    "address": Meaning("it is the address of a page"),
    "camel": Meaning("it has a capital inside"),
    "snake": Meaning("it has an underscore"),
    "dotted": Meaning("it has a dot and no slash"),
    "log_length": amount("its characters"),
    "log_count": amount("how often it was seen"),
    "log_messages": amount("the steps and messages it was seen in"),
    "log_age": amount("the steps since it was last seen"),
    "used": Meaning("the agent has used it in a call"),
    "log_used": amount("how often it was used in calls"),
    "used_lately": Meaning(f"it was used in a call of the last {LATELY} steps"),
    "in_user": Meaning("the user has said it"),
    "log_said": amount("how often the agent said it outside of calls"),
    "in_trouble": Meaning("it stood in a line about an error, a failure or a warning"),
    "in_definition": Meaning("it stood in a line that defines something"),
    "file_touched": Meaning("it is the path of a file that was read or changed, or the end of one"),
    "file_changed": Meaning("it is the path of a file that was changed, or the end of one"),
    "log_steps": amount("the steps so far"),
    "new": Meaning(f"it was first seen in the last {NEW} steps"),
}
