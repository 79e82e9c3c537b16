"""What a line claims to exist: paths, ids, numbers and commands; and the line without the sentences that hold them.

Rule: a claim has a shape that prose does not have. Nothing is cut inside a code span or a quotation; what is left
says something, or nothing is left.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.views.prose import TextSpan

_CODE = re.compile(r"(?<!`)(`{1,3})([^`\n]+)\1(?!`)")
_QUOTED = re.compile(
    r"“[^“”]*”|「[^「」]*」|『[^『』]*』|«[^«»]*»|(?<!\w)\"[^\"\n]*\"(?!\w)|(?<!\w)'[^'\n]*'(?!\w)"
)
_END = re.compile(r"[.!?](?=\s|$)|[。！？；]|;(?=\s|$)|\n")
_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\d_]{2,}")


def code_spans(text: str) -> list[tuple[int, int, str]]:
    """Beginning, end and code of every span in backticks."""
    return [(found.start(), found.end(), found[2]) for found in _CODE.finditer(text)]


def quoted_spans(text: str) -> list[TextSpan]:
    """What is in quotation marks or backticks."""
    found = [(at.start(), at.end()) for at in (*_CODE.finditer(text), *_QUOTED.finditer(text))]
    return sorted(found)


def sentences(text: str) -> Iterator[TextSpan]:
    """Sentences, and clauses that a semicolon separates, with the mark that ends each."""
    sheltered = quoted_spans(text)
    start = 0
    for end in _END.finditer(text):
        if not any(first <= end.start() < last for first, last in sheltered):
            yield start, end.end()
            start = end.end()
    if text[start:].strip():
        yield start, len(text)


def pruned(text: str, spans: Sequence[TextSpan]) -> str:
    """The text without the sentences that hold one of the spans; empty where that leaves no words."""
    kept = [
        text[first:last]
        for first, last in sentences(text)
        if not any(start < last and end > first for start, end in spans)
    ]
    left = "".join(kept).strip()
    return left if _WORD.search(left) else ""


def blanked(text: str, spans: Iterable[TextSpan]) -> str:
    """The text with spaces in place of the spans, so that positions stay."""
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


ClaimKind = Literal["path", "id", "number", "command"]

LONGEST = 300
"""Characters of a name; what is longer is data."""
EDGES = "./@~+-"
_TOKEN = re.compile(
    r"https?://[!#-&(-;=?-\[\]^_a-~]+|\d{1,3}(?:,\d{3})+(?![\d,])|[A-Za-z0-9_~@./][A-Za-z0-9_~@./+\-]*"
)
_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)([A-Za-z]{0,3})")
_RANGE = re.compile(r"\d+-\d+")
_ENDINGS = (
    "bash|bat|c|cc|cfg|conf|cpp|cs|css|csv|cxx|db|diff|env|gif|go|gradle|h|hpp|html?|in|ini|ipynb|java|jpe?g|js|json"
    "|jsonl|jsx|kt|less|lock|log|lua|md|mdx|mjs|mod|patch|pb|pdf|php|pl|png|proto|ps1|py|pyi|pyx|rb|rs|rst|scala|scss"
    "|sh|sql|sqlite3?|sum|svg|swift|tf|toml|ts|tsv|tsx|txt|vue|wasm|xml|ya?ml|zig|zip|zsh"
)
_FILE = re.compile(rf"(?i)[\w@.+-]*[\w+-]\.(?:{_ENDINGS})")
_PRODUCTS = frozenset(
    f"{name}.js"
    for name in "node next nuxt vue react express three d3 chart socket ember alpine backbone".split()
)
HASH = re.compile(r"(?i)(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TICKET = re.compile(r"[A-Z][A-Z0-9]+-\d{2,}")
_STANDARDS = re.compile(r"(?i)(?:sha|utf|iso|rfc|gpt|cve|http|tls|ecma|md|aes|rsa|win|x|ieee|pep|es)-?\d+")
_DRAWN = re.compile(r"(?=[\w-]*\d[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{8,}")
_SNAKE = re.compile(r"_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*(?:\.\w+)*")
_CAMEL = re.compile(r"[a-z]+[A-Z][a-z]{2,}\w*")
_NAME = re.compile(r"(?=\w*[A-Z._\d-])[A-Za-z_][\w.-]*\w")
_PROGRAM = re.compile(r"[$#>]?\s*(?:[A-Z_]+=\S+\s+)*([\w./-]+)\s+\S")


class Claim(Struct, frozen=True):
    """A name and its place in its line. `is_share` says that a number is a percentage."""

    kind: ClaimKind
    text: str
    start: int
    end: int
    is_share: bool = False


def claims_in(text: str) -> Iterator[Claim]:
    """Everything a line names, in order of kind: code in backticks first."""
    spans = code_spans(text)
    for start, end, code in spans:
        command = _PROGRAM.match(code)
        if command and _is_program(command[1]):
            yield Claim("command", code.strip().lstrip("$#> "), start, end)
        else:
            at = text.index(code, start)
            yield from _claims(code, at, in_code=True)
    yield from _claims(blanked(text, [(start, end) for start, end, _ in spans]), 0, in_code=False)


def _is_program(word: str) -> bool:
    """Whether a span's first word is something that can be run: code such as `x = 1` has other first words."""
    return word.rsplit("/", 1)[-1].lower() in _PROGRAMS or "/" in word


def _claims(text: str, offset: int, *, in_code: bool) -> Iterator[Claim]:
    for found in _TOKEN.finditer(text):
        token = found[0].rstrip(EDGES)
        start = offset + found.start()
        if (
            len(token) > LONGEST
            or text[found.start() - 1 : found.start()] == "<"
            or text[found.end() : found.end() + 1] == "*"
        ):
            # Data, a stand-in such as `<branch>`, or a pattern: none of them is the name of one thing.
            continue
        share = text.startswith("%", found.start() + len(token))
        yield from _classified(token, start, in_code=in_code, is_share=share)


def _classified(token: str, start: int, *, in_code: bool, is_share: bool = False) -> Iterator[Claim]:
    end = start + len(token)
    kind = _kind(token, in_code)
    if kind:
        yield Claim(kind, token, start, end, is_share and kind == "number")
    elif "/" in token or _RANGE.fullmatch(token):
        # A slash that makes no path separates alternatives, or a count from its total.
        at = start
        for part in re.split(r"([/-])", token):
            if _NUMBER.fullmatch(part) or ("/" in token and _kind(part, in_code)):
                yield from _classified(part, at, in_code=in_code)
            at += len(part)


def _kind(token: str, in_code: bool) -> ClaimKind | None:
    if token.startswith(("http://", "https://")):
        return "id"
    number = _NUMBER.fullmatch(token.replace(",", ""))
    if number:
        return "number" if sum(map(str.isdigit, number[1])) > 1 else None
    if "/" in token:
        return "path" if _is_path(token, in_code) else None
    if _FILE.fullmatch(token):
        return None if token.lower() in _PRODUCTS else "path"
    return "id" if _is_id(token, in_code) else None


def _is_path(token: str, in_code: bool) -> bool:
    """Whether a token with a slash leads somewhere: `and/or`, `read/write` and `12/15` do not."""
    parts = [part for part in token.split("/") if part]
    if in_code or (token.startswith(("/", "./", "../", "~/")) and (len(parts) > 1 or "." in parts[-1:])):
        return bool(re.search(r"[a-z]", token))
    if all(_NUMBER.fullmatch(part) for part in parts):
        return False
    return len(parts) > 1 and (bool(re.search(r"[._\d-]", token)) or token.count("/") > 2)


def _is_id(token: str, in_code: bool) -> bool:
    if _STANDARDS.fullmatch(token) or _RANGE.fullmatch(token):
        return False
    shaped = (HASH, _UUID, _TICKET, _SNAKE, _NAME if in_code else _CAMEL)
    return any(shape.fullmatch(token) for shape in shaped) or _DRAWN.fullmatch(token) is not None


_PROGRAMS = frozenset(
    """
    7z ansible apt apt-get awk az bash bazel black brew bun bundle bunx cabal cargo cat cd chmod chown clang
    cmake composer conda coverage cp createdb curl cut dart deno diff docker docker-compose dotnet echo env
    eslint export fd ffmpeg find firebase flake8 flutter forge g++ gcc gcloud gem gh git glab go gofmt
    golangci-lint gradle gradlew grep gunzip gzip head helm heroku hg htop jest jq just kill kubectl less ln ls
    make maven meson mix mkdir mocha mv mvn mvnw mypy mysql nc netstat ng ninja nix node nohup nox npm npx nvm
    openssl perl php pip pip3 pipenv pkill playwright pnpm poetry pre-commit prettier ps psql pwd py.test pytest
    python python3 rails rake redis-cli rg rm rspec rsync ruby ruff rustc rustup sam sbt scp sed serverless sh
    sleep sort source sqlite3 ssh stack sudo swift systemctl tail tar task tee terraform time timeout touch tox
    tree tsc tslint uniq unzip uv uvicorn uvx vagrant vercel vite vitest wc webpack wget which xargs yarn yq zig
    zip zsh
    """.split()
)
