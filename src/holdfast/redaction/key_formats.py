"""Keys that are known by their format alone: `sk-ant-…`, `ghp_…`, `AKIA…`, JWTs, private key blocks.

Rule: a format is an issuer's prefix plus a body too long to be a word; no format matches an id, a hash or a UUID.
Of a key block, the BEGIN and END lines and all line breaks stay, escaped ones too; the key in each line between
them goes.
"""

import re
from collections.abc import Iterable, Iterator

from holdfast.redaction.randomness import randomness_score
from holdfast.redaction.secret_rule import SecretRule, SecretSpan

_BODY = r"[A-Za-z0-9_-]"
_FREE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""A key starts at the start of a word, or after the `\\n` of escaped text."""

_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""The same where the body may contain `-`: else every `eyJ` in a long run would start a match of its own."""

_SHAPES: tuple[tuple[str, str], ...] = (
    ("anthropic", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("openai", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    ("openrouter", r"sk-or-(?:v1-)?[A-Za-z0-9]{32,}"),
    ("sk", r"sk-(?:[a-z]{2,8}-)?[A-Za-z0-9]{20,}(?![A-Za-z0-9])"),
    ("google", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}"),
    ("github", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    ("gitlab", r"gl(?:pat|dt|rt|oas|ptt|cbt|ft|imt|agent|soat|wt)-[A-Za-z0-9_-]{20,}"),
    ("aws", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("slack", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("stripe", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{20,}"),
    ("huggingface", r"hf_[A-Za-z0-9]{30,}"),
    ("npm", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi", r"pypi-[A-Za-z0-9_-]{40,}"),
    ("digitalocean", r"do[opr]_v1_[a-f0-9]{40,}"),
    ("twilio", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("groq", r"gsk_[A-Za-z0-9]{30,}"),
    ("xai", r"xai-[A-Za-z0-9]{40,}"),
    ("perplexity", r"pplx-[A-Za-z0-9]{30,}"),
    ("nvidia", r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("replicate", r"r8_[A-Za-z0-9]{30,}"),
    ("tavily", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}"),
    ("langsmith", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{30,}"),
    ("databricks", r"dapi[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("docker", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("atlassian", r"AT(?:ATT|CTT|BB)[A-Za-z0-9_-]{24,}"),
    ("shopify", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("grafana", r"gl(?:sa|c)_[A-Za-z0-9_+/=-]{30,}"),
    ("notion", r"(?:ntn_|secret_)[A-Za-z0-9]{40,}"),
    ("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("supabase", r"sb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,})"),
    ("tailscale", r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    ("age", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
)
_SHAPE = re.compile(_FREE + "(?:" + "|".join(f"(?P<{name}>{shape})" for name, shape in _SHAPES) + ")")
_ANYWHERE = re.compile("|".join(shape for _, shape in _SHAPES))

_REPEATED = re.compile(r"(.)\1{7}")
_LEAST_RANDOMNESS = 9
"""Of 4 000 random keys of each issuer none lies below; samples made of words do."""

_AWS_SECRET = re.compile(
    r"[^A-Za-z0-9/+=][^\n]{0,60}?\n?[^\n]{0,60}?(?<![A-Za-z0-9/+=])(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
"""The secret after an AWS key id, on its line or the next, in any notation."""

DOTTED_RULES = (
    SecretRule(
        "jwt",
        ("eyJ",),
        re.compile(rf"(?P<v>{_START}eyJ{_BODY}{{10,}}\.{_BODY}{{10,}}(?:\.{_BODY}+)*)"),
    ),
    SecretRule("sendgrid", ("SG.",), re.compile(rf"(?P<v>{_FREE}SG\.{_BODY}{{16,}}\.{_BODY}{{16,}})")),
    SecretRule("google", ("ya29.",), re.compile(rf"(?P<v>{_FREE}ya29\.[A-Za-z0-9._-]{{20,}})")),
    SecretRule("vault", ("hvs.",), re.compile(rf"(?P<v>{_FREE}hvs\.{_BODY}{{20,}})")),
    SecretRule("telegram", (":AA",), re.compile(rf"(?P<v>{_FREE}[0-9]{{8,10}}:AA{_BODY}{{30,}})")),
    SecretRule(
        "slack_webhook",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<v>[A-Za-z0-9/_-]{20,})"),
    ),
    SecretRule(
        "discord_webhook",
        ("/api/webhooks/",),
        re.compile(r"/api/webhooks/[0-9]{15,}/(?P<v>[A-Za-z0-9_-]{40,})"),
    ),
    SecretRule(
        "private_key",
        ("LS0tLS1CRUdJTi",),
        re.compile(
            r"(?P<v>LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NI|BFTkNSWVBURUQg|BEU0Eg)"
            r"[A-Za-z0-9+/]{20,}={0,2})"
        ),
    ),
    SecretRule("azure", ("sig=",), re.compile(r"[?&]sig=(?P<v>[A-Za-z0-9+/%]{20,}={0,2})")),
)
"""Formats with dots, colons or a neighbour. Their patterns run only where their anchor is found."""
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END "
_LONGEST = 65_536
_PIECE = re.compile(r"[A-Za-z0-9+/=]{20,}")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): (?:[^\n\\]|\\(?!r?n)){0,200}")
_GAP = re.compile(r"(?:\\+[rnt]|[^A-Za-z\\]){0,60}")
_LEAD = re.compile(r"(?:\\+[rnt]|[0-9]{1,6}(?=[ \t]*[→:|│\t])|[^A-Za-z0-9+/=\\])*")
_TRAIL = " \t\r\"'`,;>|"
_LAST = re.compile(r"(?P<gap>(?:\\+[rnt]|[^A-Za-z\\]){1,60}?)(?P<v>[A-Za-z0-9+/=]{1,76})(?=\s*\Z)")


def find_known_keys(text: str, runs: Iterable[str]) -> Iterator[SecretSpan]:
    """`runs` are the text's long runs: every format but the few in `DOTTED_RULES` is inside one."""
    if not any(map(_ANYWHERE.search, runs)):
        return
    for match in _SHAPE.finditer(text):
        if _looks_random(match.group()):
            yield SecretSpan(match.start(), match.end(), match.lastgroup or "")
            if match.lastgroup == "aws":
                yield from _aws_secret(text, match.end())


def _aws_secret(text: str, at: int) -> Iterator[SecretSpan]:
    match = _AWS_SECRET.match(text, at)
    if match and not re.fullmatch(r"[0-9a-f]{40}", match["v"]):
        yield SecretSpan(match.start("v"), match.end("v"), "aws_secret")


def _looks_random(key: str) -> bool:
    """Not `sk-xxxxxxxxxxxxxxxxxxxx`, not `sk-ant-your-key-here`. AWS keys have too few different characters to
    measure."""
    return not _REPEATED.search(key) and (key.isupper() or randomness_score(key) >= _LEAST_RANDOMNESS)


def find_key_blocks(text: str) -> Iterator[SecretSpan]:
    for begin in _BEGIN.finditer(text):
        start = begin.end()
        stop = text.find("-----", start, start + _LONGEST)
        if stop >= 0 and text.startswith(_END, stop):
            yield from _whole(text, start, stop)
        else:
            yield from _cut_off(text, start, min(len(text), start + _LONGEST) if stop < 0 else stop)


def _whole(text: str, start: int, stop: int) -> Iterator[SecretSpan]:
    """Everything between the markers, if it is mostly key: code that names both markers is not."""
    if sum(len(piece) for piece in _PIECE.findall(text, start, stop)) * 2 >= stop - start:
        yield from _lines(text, start, stop)


def _cut_off(text: str, start: int, stop: int) -> Iterator[SecretSpan]:
    """Without an END marker: the long pieces that follow each other, and a short one at the very end."""
    end = start
    while piece := _PIECE.search(text, end, min(stop, end + 600)):
        if not _GAP.fullmatch(_HEADER.sub("", text[end : piece.start()])):
            break
        end = piece.end()
    if end > start:
        last = _LAST.match(text, end, stop)
        yield from _lines(text, start, last.end("v") if last else end)


def _lines(text: str, start: int, stop: int) -> Iterator[SecretSpan]:
    """One span per line, from the key's first character to its last."""
    while start < stop:
        newline = text.find("\n", start, stop)
        end = stop if newline < 0 else newline
        lead = _LEAD.match(text, start, end)
        first = lead.end() if lead else start
        body = _without_trail(text[first:end])
        if body:
            yield SecretSpan(first, first + len(body), "private_key")
        start = end + 1


def _without_trail(body: str) -> str:
    while True:
        shorter = body.rstrip(_TRAIL)
        if shorter.endswith((" +", '"+', "'+")):  # strings joined in code
            shorter = shorter[:-1]
        if shorter.endswith(("\\n", "\\r", "\\t")):
            shorter = shorter[:-2].rstrip("\\")
        if shorter == body:
            return body
        body = shorter
