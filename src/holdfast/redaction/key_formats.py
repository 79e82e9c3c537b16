"""Keys that are known by their format alone: `sk-ant-…`, `ghp_…`, `AKIA…`, JWTs, private key blocks.

Rule: a format is an issuer's prefix plus a body too long to be a word; no format matches an id, a hash or a UUID.
Of a key block, the BEGIN and END lines and all line breaks stay, escaped ones too; the key in each line between
them goes.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from string import ascii_letters, digits

from holdfast.redaction.randomness import is_random, randomness_score
from holdfast.redaction.secret_rule import SecretRule, SecretSpan

_BODY = r"[A-Za-z0-9_-]"
_LONGEST_PREFIX = 32
"""A key may directly follow letters and digits: a word, a colour code, `%3D`, the `n` of an escaped line break.
After more of them it is a part of something longer, such as base64."""

_NOT_TASK = "".join(
    f"(?<!{word}-)" for word in "task mask lask cask risk disk hisk desk dusk husk iosk".split()
)
_NOT_CAPITAL_TASK = "".join(f"(?<!{word})" for word in "TASK MASK RISK DISK DESK".split())
"""Words (and the ends of `flask` and `kiosk`) in front of an id."""

_SHAPES: tuple[tuple[str, str], ...] = (
    ("anthropic", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("openai", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    ("openrouter", r"sk-or-(?:v1-)?[A-Za-z0-9]{32,}"),
    ("sk", rf"sk-{_NOT_TASK}(?:[a-z]{{2,8}}-)?[A-Za-z0-9]{{20,}}(?![A-Za-z0-9])"),
    ("google", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}"),
    ("github", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    ("gitlab", r"gl(?:pat|dt|rt|oas|ptt|cbt|ft|imt|agent|soat|wt)-[A-Za-z0-9_-]{20,}"),
    ("aws", r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("slack", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("stripe", r"sk_(?:live|test)_[A-Za-z0-9]{10,}|rk_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{20,}"),
    ("huggingface", r"hf_[A-Za-z0-9]{30,}"),
    ("npm", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi", r"pypi-[A-Za-z0-9_-]{40,}"),
    ("digitalocean", r"do[opr]_v1_[a-f0-9]{40,}"),
    ("twilio", rf"SK{_NOT_CAPITAL_TASK}[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    ("mailgun", r"key-(?<![A-Za-z][A-Za-z0-9_-]key-)[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("square", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
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
    ("grafana", r"glsa_[A-Za-z0-9_]{30,}"),
    ("notion", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{40,}"),
    ("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("supabase", r"sb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,})"),
    ("tailscale", r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    ("age", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
)
_SHAPE = re.compile("|".join(f"(?P<{name}>{shape})" for name, shape in _SHAPES))
_ANYWHERE = re.compile("|".join(shape for _, shape in _SHAPES))
"""Each alternative begins with a letter, not with a group: so `re` looks for these letters first, in a tenth of the
time."""

_ALNUM = ascii_letters + digits
_RUN = frozenset(_ALNUM + "_-")
_SHA1 = re.compile(r"[0-9a-f]{40}|[0-9A-F]{40}")
_REPEATED = re.compile(r"(.)\1{7}")
_LEAST_RANDOMNESS = 9
"""Of 4 000 random keys of each issuer none lies below; samples made of words do."""
_LEAST_RANDOMNESS_INSIDE = 20
"""The same for a key that directly follows a letter or a digit: an identifier may contain the prefix of a key."""

_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_BESIDE = 160
"""How far from its key id, in characters, an AWS secret may be; a few lines, in any notation."""


def _is_key(text: str, start: int, end: int) -> bool:
    """Not `sk-xxxxxxxxxxxxxxxxxxxx`, not `sk-ant-your-key-here`, not a part of something longer. AWS keys have too
    few different characters to measure."""
    key, before = text[start:end], text[max(0, start - _LONGEST_PREFIX - 1) : start]
    prefix = before[len(before.rstrip(_ALNUM + "+/")) :] if before[-1:].isalnum() else ""
    least = _LEAST_RANDOMNESS_INSIDE if prefix else _LEAST_RANDOMNESS
    return (
        not _REPEATED.search(key)
        and (key.isupper() or randomness_score(key) >= least)
        and len(prefix) <= _LONGEST_PREFIX
        and not is_random(prefix)
    )


def _is_dotted_key(match: re.Match[str]) -> bool:
    return _is_key(match.string, *match.span("v"))


def _is_jwt(match: re.Match[str]) -> bool:
    """At the start of a word, or an encoded JSON object: `primaryKeyJoinColumns.referencedColumnName` is not."""
    return match.start() == match.start("v") or b64decode(match["v"][:12], altchars=b"-_").isascii()


DOTTED_RULES = (
    SecretRule(
        "jwt",
        ("eyJ",),
        # From the start of a word: tried at every `eyJ` of a long one, it would take quadratic time.
        re.compile(
            rf"(?<!{_BODY}){_BODY}{{0,{_LONGEST_PREFIX}}}?"
            rf"(?P<v>eyJ{_BODY}{{10,}}+\.{_BODY}{{10,}}+(?:\.{_BODY}+)*)"
        ),
        _is_jwt,
    ),
    SecretRule(
        "sendgrid", ("SG.",), re.compile(rf"(?P<v>SG\.{_BODY}{{16,}}+\.{_BODY}{{16,}})"), _is_dotted_key
    ),
    SecretRule("google", ("ya29.",), re.compile(r"(?P<v>ya29\.[A-Za-z0-9._-]{20,})"), _is_dotted_key),
    SecretRule("vault", ("hvs.",), re.compile(rf"(?P<v>hvs\.{_BODY}{{20,}})"), _is_dotted_key),
    SecretRule("grafana", ("glc_",), re.compile(r"(?P<v>glc_[A-Za-z0-9_+/=-]{30,})"), _is_dotted_key),
    SecretRule("telegram", (":AA",), re.compile(rf"(?P<v>[0-9]{{8,10}}:AA{_BODY}{{30,}})"), _is_dotted_key),
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
            r"(?P<v>LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NI|BFTkNSWVBURUQg|BEU0Eg"
            r"|BQR1AgUFJJVkFUR)"
            r"[A-Za-z0-9+/]{20,}={0,2})"
        ),
    ),
    SecretRule("azure", ("sig=",), re.compile(r"[?&]sig=(?P<v>[A-Za-z0-9+/%]{20,}={0,2})")),
)
"""Formats with dots, colons, slashes or a neighbour. Their patterns run only where their anchor is found."""
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
    at = 0
    for run in runs:
        if not _ANYWHERE.search(run):
            continue
        start, at = _place(text, run, at)
        for match in _SHAPE.finditer(text, start, at):
            if _is_key(text, *match.span()):
                yield SecretSpan(match.start(), match.end(), match.lastgroup or "")
                if match.lastgroup == "aws":
                    yield from _aws_secrets(text, match.start() - _BESIDE, match.end() + _BESIDE)


def _place(text: str, run: str, at: int) -> tuple[int, int]:
    """Where a run is, from `at` on; not inside a longer one."""
    while True:
        at = text.index(run, at)
        end = at + len(run)
        if text[at - 1 : at] not in _RUN and text[end : end + 1] not in _RUN:
            return at, end
        at += 1


def _aws_secrets(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    for match in _AWS_SECRET.finditer(text, max(0, start), end):
        if not _SHA1.fullmatch(match.group()) and is_random(match.group()):
            yield SecretSpan(match.start(), match.end(), "aws_secret")


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
