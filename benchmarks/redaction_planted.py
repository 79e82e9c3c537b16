"""How many secrets redaction leaves: made-up secrets of every known kind, planted in many ways.

Every secret is generated here from the shape of its kind, with a seed, so this file holds none and every run plants
the same ones. A secret counts as left if eight of its characters in a row are still in the redacted text. If
nothing of it is left but something beside it has changed, it counts as redacted inexactly.

Prints both figures, with our own rules alone and with Kingfisher, then by kind and by way.

    uv run python benchmarks/redaction_planted.py [--list]

`--list` names each secret that is left or redacted inexactly, as kind and way.
"""

import base64
import random
import string
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct

from holdfast.redaction import MARK, redact

SEED = 11
SHORTEST_LEFT = 8
LETTERS, DIGITS = string.ascii_letters, string.digits
ALNUM = LETTERS + DIGITS
UPPER = string.ascii_uppercase + "234567"
LOWER = string.ascii_lowercase + DIGITS
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
CRYPT = ALNUM + "./"


class Secret(Struct, frozen=True):
    """A made-up secret, with the text that has to be around it."""

    kind: str
    value: str
    lead: str = ""
    tail: str = ""


class Plant(Struct, frozen=True):
    """A text in which each `pieces[i]` is a part of one secret, and what redaction should make of it."""

    kind: str
    way: str
    text: str
    pieces: tuple[str, ...]
    expected: str

    def is_left(self, redacted: str) -> bool:
        return any(part in redacted for piece in self.pieces for part in _windows(piece))


def _windows(piece: str) -> Iterator[str]:
    for at in range(len(piece) - SHORTEST_LEFT + 1):
        yield piece[at : at + SHORTEST_LEFT]


def issued_keys(rng: random.Random) -> Iterator[Secret]:
    """A key of every format that needs no name beside it."""

    def new(length: int, alphabet: str = ALNUM) -> str:
        # The ends are letters: of a key that ends in `-` or `_`, nobody could tell where it ends.
        ends = [c for c in alphabet if c.isalnum()]
        return rng.choice(ends) + "".join(rng.choices(alphabet, k=length - 2)) + rng.choice(ends)

    keys = {
        "anthropic": f"sk-ant-api03-{new(93, URL_SAFE)}AA",
        "openai": f"sk-{new(20)}T3BlbkFJ{new(20)}",
        "openai project": f"sk-proj-{new(60, URL_SAFE)}T3BlbkFJ{new(60, URL_SAFE)}",
        "openai service account": f"sk-svcacct-{new(58, URL_SAFE)}",
        "openrouter": f"sk-or-v1-{new(64, HEX)}",
        "deepseek": f"sk-{new(32, HEX)}",
        "moonshot": f"sk-{new(48)}",
        "google api": f"AIza{new(35, URL_SAFE)}",
        "google client": f"GOCSPX-{new(28, URL_SAFE)}",
        "google access": f"ya29.{new(120, URL_SAFE)}",
        "github": f"ghp_{new(36)}",
        "github oauth": f"gho_{new(36)}",
        "github user": f"ghu_{new(36)}",
        "github server": f"ghs_{new(36)}",
        "github refresh": f"ghr_{new(76)}",
        "github fine-grained": f"github_pat_{new(22)}_{new(59)}",
        "gitlab": f"glpat-{new(20, URL_SAFE)}",
        "gitlab runner": f"glrt-{new(20, URL_SAFE)}",
        "gitlab deploy": f"gldt-{new(20, URL_SAFE)}",
        "aws id": f"AKIA{new(16, UPPER)}",
        "aws session id": f"ASIA{new(16, UPPER)}",
        "slack bot": f"xoxb-{new(12, DIGITS)}-{new(12, DIGITS)}-{new(24)}",
        "slack user": f"xoxp-{new(12, DIGITS)}-{new(12, DIGITS)}-{new(12, DIGITS)}-{new(32, HEX)}",
        "slack app": f"xapp-1-A{new(10, UPPER)}-{new(13, DIGITS)}-{new(64, HEX)}",
        "stripe": f"sk_live_{new(24)}",
        "stripe test": f"sk_test_{new(99)}",
        "stripe restricted": f"rk_live_{new(24)}",
        "stripe webhook": f"whsec_{new(32)}",
        "hugging face": f"hf_{new(34, LETTERS)}",
        "npm": f"npm_{new(36)}",
        "pypi": f"pypi-AgEIcHlwaS5vcmc{new(119, URL_SAFE)}",
        "digitalocean": f"dop_v1_{new(64, HEX)}",
        "digitalocean oauth": f"doo_v1_{new(64, HEX)}",
        "twilio": f"SK{new(32, HEX)}",
        "groq": f"gsk_{new(52)}",
        "xai": f"xai-{new(80)}",
        "perplexity": f"pplx-{new(48)}",
        "nvidia": f"nvapi-{new(64, URL_SAFE)}",
        "replicate": f"r8_{new(37)}",
        "tavily": f"tvly-dev-{new(32)}",
        "langsmith": f"lsv2_pt_{new(32, HEX)}_{new(10, HEX)}",
        "databricks": f"dapi{new(32, HEX)}",
        "docker": f"dckr_pat_{new(27, URL_SAFE)}",
        "atlassian": f"ATATT3xFfGF0{new(60, URL_SAFE)}",
        "bitbucket": f"ATBB{new(32)}",
        "shopify": f"shpat_{new(32, HEX)}",
        "grafana": f"glsa_{new(32)}_{new(8, HEX)}",
        "grafana cloud": f"glc_{new(60, BASE64)}",
        "notion": f"ntn_{new(46)}",
        "notion before 2024": f"secret_{new(43)}",
        "linear": f"lin_api_{new(40)}",
        "supabase": f"sbp_{new(40, HEX)}",
        "supabase secret": f"sb_secret_{new(22, URL_SAFE)}_{new(8)}",
        "tailscale": f"tskey-auth-{new(12)}-{new(32)}",
        "age": f"AGE-SECRET-KEY-1{new(58, string.ascii_uppercase + DIGITS)}",
        "mailgun": f"key-{new(32, HEX)}",
        "square application": f"sq0csp-{new(43, URL_SAFE)}",
        "square access": f"sq0atp-{new(22, URL_SAFE)}",
        "jwt": f"{_json_base64('HS256', rng)}.{_json_base64(new(24), rng)}.{new(43, URL_SAFE)}",
        "sendgrid": f"SG.{new(22, URL_SAFE)}.{new(43, URL_SAFE)}",
        "vault": f"hvs.{new(90, URL_SAFE)}",
        "telegram": f"{new(10, '123456789')}:AA{new(33, URL_SAFE)}",
    }
    for kind, value in keys.items():
        yield Secret(kind, value)
    yield Secret(
        "slack webhook", f"T{new(10, UPPER)}/B{new(10, UPPER)}/{new(24)}", "https://hooks.slack.com/services/"
    )
    yield Secret(
        "discord webhook", new(68, URL_SAFE), f"https://discord.com/api/webhooks/{new(18, '123456789')}/"
    )


def _json_base64(value: str, rng: random.Random) -> str:
    json = f'{{"alg":"{value}","typ":"JWT","n":{rng.randrange(10**9)}}}'
    return base64.urlsafe_b64encode(json.encode()).decode().rstrip("=")


def named_secrets(rng: random.Random) -> Iterator[Secret]:
    """Secrets of no known format, which are known by what is before them."""

    def new(length: int, alphabet: str = ALNUM) -> str:
        return "".join(rng.choices(alphabet, k=length))

    yield Secret("token", new(40), "api_token=")
    yield Secret("password", new(16), "db_password=")
    yield Secret("bearer", new(40), "Authorization: Bearer ")
    yield Secret("url", new(24), "postgres://bob:", "@db.internal/main")
    yield Secret("cookie", new(32), "Cookie: sessionid=")
    yield Secret("flag", new(40), "tool --token ")


RED, PLAIN = "\x1b[31m", "\x1b[0m"
GAP = "\0"
"""Where a piece of the secret is in a template."""

PLACES: dict[str, str] = {
    "alone": "{}",
    "in a sentence": "use {}, then go on.",
    "after a letter": "x{}",
    "after a word": "token{}",
    "after a digit": "7{}",
    "after an escaped line break": "a\\n{}",
    "after a colour code": RED + "{}" + PLAIN,
    "after an escaped colour code": "\\u001b[1;32m{}\\u001b[0m",
    "after %3D": "a%3D{}%26b%3D1",
    "after key=": "value={}",
    "in JSON": '{{"value": "{}", "n": 1}}',
    "in a query": "https://example.org/a?value={}&page=2",
    "in quotes": "f('{}')",
    "in a diff": "@@ -1 +1 @@\n-value = 1\n+value = '{}'",
    "in an export": "export VALUE={}",
    "in Markdown": "| value | `{}` |",
}
NAMED_PLACES: dict[str, str] = {
    "alone": "{}",
    "after a letter": "a {}",
    "in a diff": "-a\n+{}",
    "in a log": "2026-01-02 03:04:05 INFO {}",
}


def plants(seed: int = SEED) -> list[Plant]:
    rng = random.Random(seed)
    return [
        *(p for secret in issued_keys(rng) for p in _in_places(secret, PLACES)),
        *(p for secret in issued_keys(rng) for p in _split(secret)),
        *(p for secret in issued_keys(rng) for p in _in_base64(secret)),
        *(p for secret in named_secrets(rng) for p in _in_places(secret, NAMED_PLACES)),
        *(p for secret in named_secrets(rng) for p in _disguised(secret)),
        *(p for secret in named_secrets(rng) if len(secret.value) > 16 for p in _split(secret)),
        *(p for secret in named_secrets(rng) for p in _in_base64(secret)),
        *_in_files(rng),
        *_beside_their_id(rng),
        *_key_blocks(rng),
    ]


def _plant(kind: str, way: str, template: str, *pieces: str) -> Plant:
    text = template
    for piece in pieces:
        text = text.replace(GAP, piece, 1)
    return Plant(kind, way, text, pieces, template.replace(GAP, MARK))


def _in_places(secret: Secret, places: dict[str, str]) -> Iterator[Plant]:
    for way, place in places.items():
        template = place.format(secret.lead + GAP + secret.tail)
        yield _plant(secret.kind, way, template, secret.value)


def _split(secret: Secret) -> Iterator[Plant]:
    """Over two lines, as a terminal, a mail program, a shell script or a program does it, and over three."""
    third, half, most = (int(len(secret.value) * part) for part in (1 / 3, 1 / 2, 0.85))
    first, second = secret.value[:half], secret.value[half:]
    start, end = secret.lead + GAP, GAP + secret.tail
    for way, template in {
        "wrapped": f"a {start}\n{end}\nb = 1\n",
        "wrapped, indented": f"a:\n    {start}\n    {end}\n",
        "wrapped in a diff": f"+a\n+{start}\n+{end}\n",
        "wrapped in a comment": f"// {start}\n// {end}\n",
        "wrapped in numbered lines": f"     7→{start}\n     8→{end}\n",
        "wrapped in a JSON string": f'{{"a": "{start}\\n{end}"}}',
        "backslash": f"f {start}\\\n{end}\n",
        "backslash, indented": f"f '{start}\\\n    {end}'\n",
        "strings with plus": f'a = "{start}" +\n    "{end}"\n',
        "strings with plus before": f"a = '{start}'\n    + '{end}';\n",
        "strings side by side": f'a = (\n    "{start}"\n    "{end}"\n)\n',
    }.items():
        yield _plant(secret.kind, way, template, first, second)
    pieces = secret.value[:most], secret.value[most:]
    yield _plant(secret.kind, "wrapped near its end", f"a {start}\n{end}\nb = 1\n", *pieces)
    if len(secret.value) >= 30:
        thirds = secret.value[:third], secret.value[third : 2 * third], secret.value[2 * third :]
        yield _plant(secret.kind, "wrapped twice", f"{start}\n{GAP}\n{end}\n", *thirds)


def _in_base64(secret: Secret) -> Iterator[Plant]:
    whole = secret.lead + secret.value + secret.tail
    for way, text, place in (
        ("base64", whole, "{}"),
        ("base64 of a line", f"value: {whole}\n", "data: {}\n"),
        ("base64 of JSON", f'{{"value": "{whole}"}}', '{{"data": "{}"}}'),
    ):
        yield _plant(secret.kind, way, place.format(GAP), base64.b64encode(text.encode()).decode())
    encoded = base64.b64encode(f"# settings of a program\nvalue: {whole}\n# end\n".encode()).decode()
    lines = textwrap.wrap(encoded, 76)
    yield _plant(secret.kind, "base64 in lines of 76", "\n".join(GAP for _ in lines), *lines)


def _disguised(secret: Secret) -> Iterator[Plant]:
    """The secret behind a colour code, and the whole as a part of a URL."""
    coloured = f"{secret.lead}{RED}{GAP}{PLAIN}{secret.tail}"
    yield _plant(secret.kind, "coloured", coloured, secret.value)
    lead, tail = (_percent_encoded(part) for part in (secret.lead, secret.tail))
    yield _plant(secret.kind, "percent-encoded", f"https://x.org/?q={lead}{GAP}{tail}", secret.value)


def _percent_encoded(text: str) -> str:
    return "".join(c if c.isalnum() or c in "_-." else f"%{ord(c):02X}" for c in text)


def _in_files(rng: random.Random) -> Iterator[Plant]:
    """Password files of PostgreSQL, web servers and systems."""

    def new(length: int, alphabet: str = ALNUM) -> str:
        return "".join(rng.choices(alphabet, k=length))

    for way, template in {
        "alone": f"db.internal:5432:main:bob:{GAP}",
        "any host": f"# host:port:db:user:pw\n*:*:*:bob:{GAP}\n",
        "in cat": f"$ cat ~/.pgpass\nlocalhost:15432:main:bob:{GAP}\n$ ls\n",
        "in echo": f"echo 'localhost:5432:*:bob:{GAP}' >> ~/.pgpass",
        "in a diff": f"+10.0.0.7:5432:app:app_user:{GAP}\n",
    }.items():
        yield _plant("pgpass", way, template, new(14))
        yield _plant("pgpass, a word", way, template, "swordfish" + new(2, DIGITS))
    hashes: dict[str, Callable[[], str]] = {
        "htpasswd apr1": lambda: f"$apr1${new(8, CRYPT)}${new(22, CRYPT)}",
        "htpasswd bcrypt": lambda: f"$2y$05${new(53, CRYPT)}",
        "htpasswd sha": lambda: f"{{SHA}}{new(27, BASE64)}=",
        "shadow sha512": lambda: f"$6${new(16, CRYPT)}${new(86, CRYPT)}",
        "shadow yescrypt": lambda: f"$y$j9T${new(22, CRYPT)}${new(43, CRYPT)}",
    }
    for kind, make in hashes.items():
        for way, template in {
            "alone": f"bob:{GAP}",
            "in a file": f"# users\nalice:{GAP}\n\n",
            "in echo": f"echo 'bob:{GAP}' > .htpasswd",
            "in JSON": f'{{"line": "bob:{GAP}"}}',
            "in a diff": f"+bob:{GAP}\n",
        }.items():
            yield _plant(kind, way, template, make())
    yield _plant("htpasswd crypt", "in cat", f"$ cat .htpasswd\nbob:{GAP}\n", new(12, CRYPT) + "Z")


def _beside_their_id(rng: random.Random) -> Iterator[Plant]:
    for way, template in {
        "after a comma": f"{GAP},{GAP}\n",
        "after a colon": f"{GAP}:{GAP}",
        "after a slash": f"{GAP} / {GAP}",
        "on the next line": f"id {GAP}\nsecret {GAP}\n",
        "after a short name": f"id={GAP}\nsk={GAP}\n",
        "two lines below": f"id: {GAP}\nregion: eu-west-1\nother: {GAP}\n",
        "in a table": f"| {GAP} | {GAP} |",
        "in a credentials file": f"[default]\naws_access_key_id = {GAP}\naws_secret_access_key = {GAP}\n",
        "in YAML": f"id: {GAP}\nvalue: '{GAP}'\n",
        "in JSON": f'{{"id": "{GAP}", "value": "{GAP}"}}',
        "coloured": f"id {RED}{GAP}{PLAIN} value {RED}{GAP}{PLAIN}",
        "in a call": f'Client("{GAP}", "{GAP}")',
    }.items():
        key_id = "AKIA" + "".join(rng.choices(UPPER, k=16))
        secret = "".join(rng.choices(BASE64, k=38)) + "x9"
        yield _plant("aws secret", way, template, key_id, secret)
    for way, template in {
        "before its id": f"{GAP},{GAP}\n",
        "on the line before its id": f"value: {GAP}\nid: {GAP}\n",
    }.items():
        key_id = "AKIA" + "".join(rng.choices(UPPER, k=16))
        secret = "".join(rng.choices(BASE64, k=38)) + "x9"
        yield _plant("aws secret", way, template, secret, key_id)


def _key_blocks(rng: random.Random) -> Iterator[Plant]:
    for name in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        lines = ["".join(rng.choices(BASE64, k=64)) for _ in range(5)]
        block = f"-----BEGIN {name}-----\n" + f"{GAP}\n" * 5 + f"-----END {name}-----\n"
        yield _plant("private key", f"{name}, alone", block, *lines)
        yield _plant(
            "private key", f"{name}, coloured", RED + block.replace("\n", PLAIN + "\n" + RED), *lines
        )
        yield _plant("private key", f"{name}, cut off", block.partition("-----END")[0], *lines)
        whole = block.replace(GAP, "{}").format(*lines)
        encoded = base64.b64encode(whole.encode()).decode()
        yield _plant("private key", f"{name}, base64", f"data: {GAP}\n", encoded)


class Result(Struct, frozen=True):
    """What redaction did not redact, or not only."""

    left: list[Plant]
    inexact: list[Plant]


def measure(planted: list[Plant], *, kingfisher: bool) -> Result:
    result = Result([], [])
    for plant in planted:
        redacted = redact(plant.text, kingfisher=kingfisher)
        if plant.is_left(redacted):
            result.left.append(plant)
        elif redacted != plant.expected:
            result.inexact.append(plant)
    return result


def main() -> None:
    planted = plants()
    for kingfisher in (False, True):
        result = measure(planted, kingfisher=kingfisher)
        print("with Kingfisher" if kingfisher else "own rules alone", end=": ")
        print(f"{len(planted)} planted, {len(result.left)} left, {len(result.inexact)} redacted inexactly")
        for title, chosen in (("left", result.left), ("inexact", result.inexact)):
            if chosen:
                print(f"  {title} by kind:", _counted(Counter(p.kind for p in chosen)))
                print(f"  {title} by way:", _counted(Counter(p.way for p in chosen)))
            if "--list" in sys.argv:
                for plant in chosen:
                    print(f"    {title}: {plant.kind}, {plant.way}")


def _counted(counts: Counter[str]) -> str:
    return "; ".join(f"{name} {count}" for name, count in counts.most_common())


if __name__ == "__main__":
    main()
