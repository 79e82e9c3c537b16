"""What a definition is called, out of the part of the tree that names it.

Rule: names are as people say them, with dots: `Server.handle` for Go's `(s *Server) handle` and C++'s
`Server::handle`.
"""

import re
from typing import Any

_OWNER = re.compile(r"([^\W\d]\w*)\s*(?:\[[^\]]*\])?\s*,?\s*\)\s*$")
_GENERIC = re.compile(r"<.*>|\[.*\]", re.DOTALL)
_OUTER = re.compile(r"^(?:module\.)?exports\.|^this\.|\.prototype(?=\.)")
_NAMED = {"identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name"}
_NAMED |= {"operator_name", "operator_cast"}


def owner_of(receiver: str) -> str:
    """The type in the receiver of a Go method: `(s *Server[T])`."""
    found = _OWNER.search(receiver)
    return found[1] if found else ""


def name_of(node: Any) -> str:
    """From a name, or from C's declarators, in which the name stands innermost."""
    while node.type not in _NAMED and (inner := _inner(node)) is not None:
        node = inner
    text = (node.text or b"").decode("utf-8", "replace")
    if node.type == "qualified_identifier":
        text = _GENERIC.sub("", text).replace("::", ".").strip(".")
    elif node.type in ("generic_type", "scoped_type_identifier", "reference_type"):
        text = _GENERIC.sub("", text).replace("::", ".").strip("&. ")
    elif node.type == "member_expression":
        text = _OUTER.sub("", text)
    return " ".join(text.split())[:120]


def _inner(node: Any) -> Any:
    if node.type == "parenthesized_declarator":
        return node.named_child(0)
    return node.child_by_field_name("declarator")
