"""The outline of a source text: its functions and classes, branches, imports, comments and calls, by line; and the
process that makes it.

Rule: broken code has an outline too, as far as it can be read; a text that is too large, or in a language without a
grammar, has none. Names are written with dots: `Server.handle` for Go's `(s *Server) handle` and C++'s
`Server::handle`.

No text can stop the review. tree-sitter is native code, some texts of a few kilobytes keep it busy for minutes, and
the author of the diff chooses the text. A text that is not parsed in time has no outline, and after a few such
texts no more are tried. The process keeps no state, so it can be killed at any time.
"""

import os
import re
import resource
import select
import struct
import subprocess
import sys
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Literal, Self

import msgspec
from msgspec import Struct

from holdfast.review.grammars import QUERIES, load_grammar
from holdfast.review.unit import Span, Symbol

MOST_CHARACTERS = 512 * 1024
"""Parsed in well under a second."""
LENGTH = struct.Struct(">I")
"""Each message has its length before it."""
SECONDS = 5.0
"""For one text; the largest accepted text takes a second."""
MOST_FAILURES = 3
CHUNK = 65536

_AROUND = {
    "decorated_definition",
    "export_statement",
    "template_declaration",
    "lexical_declaration",
    "variable_declaration",
    "type_declaration",
    "expression_statement",
}
"""Nodes that wrap a definition and belong to it, if they contain nothing else."""
_ABOVE = {"decorator", "attribute_item", "comment", "line_comment", "block_comment"}

_CONFLICT_MARKERS = re.compile(rb"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_OWNER = re.compile(r"([^\W\d]\w*)\s*(?:\[[^\]]*\])?\s*,?\s*\)\s*$")
_GENERIC = re.compile(r"<.*>|\[.*\]", re.DOTALL)
_OUTER = re.compile(r"^(?:module\.)?exports\.|^this\.|\.prototype(?=\.)")
_NAMED = {"identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name"}
_NAMED |= {"operator_name", "operator_cast"}


class Outline(Struct, frozen=True):
    """`branches` are the lines that branch, in order; `imports` and `comments` are lines with nothing else on
    them; `calls` are statements of their own, each with how it begins."""

    symbols: tuple[Symbol, ...] = ()
    branches: tuple[int, ...] = ()
    imports: frozenset[int] = frozenset()
    comments: frozenset[int] = frozenset()
    calls: tuple[tuple[Span, str], ...] = ()

    def branches_on(self, line: int) -> int:
        return bisect_right(self.branches, line) - bisect_left(self.branches, line)


def parse_outline(text: str, language: str) -> Outline | None:
    """None if the language has no grammar here or the text is too large."""
    grammar = load_grammar(language) if len(text) <= MOST_CHARACTERS else None
    return None if grammar is None else _parse(text, *grammar)


def innermost_symbol(symbols: Sequence[Symbol], first: int, last: int) -> Symbol | None:
    """The smallest symbol that contains all these lines."""
    around = [s for s in symbols if s.span.first <= first and last <= s.span.last]
    return min(around, key=lambda s: s.span.last - s.span.first, default=None)


class _Definition(Struct, frozen=True):
    kind: Literal["function", "class", "module"]
    name: str
    owner: str
    span: Span
    first_byte: int
    end_byte: int


class _Tree:
    """A text as tree-sitter parses it. Lines are computed from byte offsets: reference counts of the points that
    tree-sitter 0.26.0 returns are wrong, which ends in a crash."""

    def __init__(self, text: str, parser: Any) -> None:
        # Conflict markers are not code; what is between them is.
        self._raw = _CONFLICT_MARKERS.sub(lambda found: b" " * len(found[0]), text.encode("utf-8", "replace"))
        self._starts = [0, *(found.end() for found in re.finditer(b"\n", self._raw))]
        self._parsed = parser.parse(self._raw)
        self.root = self._parsed.root_node

    def span(self, node: Any) -> Span:
        """A node that includes its line break ends at the start of the next line, but is not on it."""
        first, end = node.start_byte, node.end_byte
        return Span(bisect_right(self._starts, first), bisect_right(self._starts, max(first, end - 1)))

    def whole(self, node: Any) -> Span:
        """The lines of a definition with its decorators and the comment directly above."""
        parent = node.parent
        while parent is not None and parent.type in _AROUND and _is_alone_in(node, parent):
            node, parent = parent, parent.parent
        span = self.span(node)
        first = span.first
        # The first node of a block has no sibling before it; what is above it is before the block.
        while node.prev_sibling is None and parent is not None and parent.start_byte == node.start_byte:
            node, parent = parent, parent.parent
        above = node.prev_sibling
        while above is not None and above.type in _ABOVE and self.span(above).last == first - 1:
            before = above.prev_sibling
            if before is not None and self.span(before).last == self.span(above).first:
                break  # it follows something else on its line
            first, above = self.span(above).first, before
        return Span(first, span.last)

    def lines_alone(self, node: Any) -> range:
        """The lines of a node, without those that have something else on them."""
        span = self.span(node)
        before = self._raw[self._starts[span.first - 1] : node.start_byte]
        end = self._starts[span.last] if span.last < len(self._starts) else len(self._raw)
        after = self._raw[node.end_byte : end]
        return range(span.first + bool(before.strip()), span.last + 1 - bool(after.strip(b" \t\r\n;")))


def _parse(text: str, parser: Any, query: Any) -> Outline:
    from tree_sitter import QueryCursor  # noqa: PLC0415 -- heavy, an extra

    tree = _Tree(text, parser)
    definitions: list[_Definition] = []
    branches: list[int] = []
    lines: dict[str, set[int]] = {"import": set(), "comment": set()}
    calls: list[tuple[Span, str]] = []
    for _, captured in QueryCursor(query).matches(tree.root):
        for kind, nodes in captured.items():
            match kind:
                case "function" | "class" | "module":
                    definitions.append(_definition(tree, kind, nodes[0], captured))
                case "branch":
                    branches.append(tree.span(nodes[0]).first)
                case "import" | "comment":
                    lines[kind].update(tree.lines_alone(nodes[0]))
                case "call":
                    calls.append((tree.span(nodes[0]), _node_text(nodes[0])[:60]))
    return Outline(
        tuple(_nested(definitions)),
        tuple(sorted(branches)),
        frozenset(lines["import"]),
        frozenset(lines["comment"]),
        tuple(calls),
    )


def _definition(
    tree: _Tree, kind: Literal["function", "class", "module"], node: Any, captured: dict[str, list[Any]]
) -> _Definition:
    # The type in the receiver of a Go method: `Server` in `(s *Server[T])`.
    receiver = _OWNER.search(_node_text(captured["owner"][0])) if "owner" in captured else None
    name = _definition_name(captured["name"][0])
    owner = receiver[1] if receiver else ""
    return _Definition(kind, name, owner, tree.whole(node), node.start_byte, node.end_byte)


def _nested(definitions: list[_Definition]) -> Iterator[Symbol]:
    """Symbols with the names of the symbols around them as prefix."""
    around: list[tuple[int, Symbol]] = []
    for one in sorted(definitions, key=lambda one: (one.first_byte, -one.end_byte)):
        while around and around[-1][0] < one.end_byte:
            around.pop()
        outer = around[-1][1] if around else None
        lead = one.owner or (outer.name if outer else "")
        is_method = one.kind == "function" and (
            bool(one.owner) or "." in one.name or (outer is not None and outer.kind == "class")
        )
        name = f"{lead}.{one.name}" if lead else one.name
        symbol = Symbol(name, "method" if is_method else one.kind, one.span)
        around.append((one.end_byte, symbol))
        yield symbol


def _is_alone_in(node: Any, parent: Any) -> bool:
    return [child.type for child in parent.named_children].count(node.type) == 1


def _node_text(node: Any) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _definition_name(node: Any) -> str:
    """From the node that names a definition. C's declarators have the name innermost."""
    while node.type not in _NAMED:
        is_wrapped = node.type == "parenthesized_declarator"
        inner = node.named_child(0) if is_wrapped else node.child_by_field_name("declarator")
        if inner is None:
            break
        node = inner
    text = _node_text(node)
    if node.type == "qualified_identifier":
        text = _GENERIC.sub("", text).replace("::", ".").strip(".")
    elif node.type in ("generic_type", "scoped_type_identifier", "reference_type"):
        text = _GENERIC.sub("", text).replace("::", ".").strip("&. ")
    elif node.type == "member_expression":
        text = _OUTER.sub("", text)
    elif node.type in ("string", "template_string"):  # what a test is called
        text = text[1:-1]
    return " ".join(text.split())[:120]


class Outliner:
    """Starts its process with the first text that has a grammar, or with `start`, and kills it on exit. Several
    texts may be submitted before the first outline is taken, so that the process works while we do something
    else."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: deque[bytes] = deque()
        """Requests whose outline was not taken yet; empty for a text that is not parsed."""
        self._out = bytearray()
        self._in = bytearray()
        self.failures = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def start(self) -> None:
        """Start before the first text: starting takes as long as parsing dozens of texts."""
        if self._process is None:
            self._start()

    def outline(self, text: str | None, language: str) -> Outline | None:
        self.submit(text, language)
        return self.take()

    def submit(self, text: str | None, language: str) -> None:
        """Have a text parsed. Outlines are taken in the order of submission."""
        is_parsed = text is not None and language in QUERIES and len(text) <= MOST_CHARACTERS
        if text is None or not is_parsed or self.failures >= MOST_FAILURES:
            self._requests.append(b"")
            return
        message = msgspec.msgpack.encode((language, text.encode("utf-8", "replace")))
        self._requests.append(LENGTH.pack(len(message)) + message)
        self._out += self._requests[-1]
        self._transfer(0)

    def take(self) -> Outline | None:
        """The outline of the first submitted text that was not taken yet."""
        if not self._requests.popleft() or self.failures >= MOST_FAILURES:
            return None
        reply = self._reply()
        if reply is None:
            self.failures += 1
            self._end()
            self._out += b"".join(self._requests)
            return None
        return msgspec.msgpack.decode(reply, type=Outline | None)

    def _reply(self) -> bytes | None:
        """None if there was no reply in time, or the process crashed on the text."""
        end = time.monotonic() + self._seconds
        size = LENGTH.size
        while len(self._in) < size or len(self._in) < size + LENGTH.unpack_from(self._in)[0]:
            left = end - time.monotonic()
            if left < 0 or not self._transfer(left):
                return None
        whole = size + LENGTH.unpack_from(self._in)[0]
        reply = bytes(self._in[size:whole])
        del self._in[:whole]
        return reply

    def _transfer(self, seconds: float) -> bool:
        """Write and read once what is possible within this time; False if nothing was."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin.fileno(), process.stdout.fileno()
        can_read, can_write, _ = select.select([stdout], [stdin] if self._out else [], [], seconds)
        if can_write:
            try:
                del self._out[: os.write(stdin, self._out[:CHUNK])]
            except BrokenPipeError:
                return False
        if can_read:
            part = os.read(stdout, CHUNK)
            self._in += part
            return bool(part)
        return bool(can_write)

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: the folder under review may contain a module of any name.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast.review.outline"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
        assert self._process.stdin is not None
        # The process may wait until its replies are read while we write.
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _end(self) -> None:
        self._out.clear()
        self._in.clear()
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # closes the pipes too
            self._process = None


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """The other process: reads one text after another and writes an outline for each."""
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        language, raw = msgspec.msgpack.decode(requests.read(LENGTH.unpack(head)[0]), type=tuple[str, bytes])
        reply = msgspec.msgpack.encode(parse_outline(raw.decode("utf-8"), language))
        replies.write(LENGTH.pack(len(reply)) + reply)
        replies.flush()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # nobody looks at the core dump of a crash
    serve(sys.stdin.buffer, sys.stdout.buffer)
