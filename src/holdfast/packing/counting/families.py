"""Families of models that share a tokenizer, how far each can be trusted, and what each charges for a picture.

Rule: a family is data. Factors and bounds, and Claude's overheads, are measured by `benchmarks/token_error.py`;
the other overheads are round figures for a chat's framing, which `calibration` corrects. A picture is never
decoded: its size is read from the first bytes, and one that cannot be read counts as a full-screen screenshot.
"""

import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from holdfast.events import AssistantReplied, Entry, LogStarted
from holdfast.image_size import image_size
from holdfast.messages import Image

ImageRule = Literal["area", "tiles512", "tiles768"]
"""How a family bills pictures: by area (Anthropic), or by tile after scaling (OpenAI, Gemini)."""

Size = tuple[int, int]

UNKNOWN: Size = (1920, 1080)
HEADER_CHARS = 256 * 1024
"""Base64 characters looked at: a JPEG may carry a thumbnail and a colour profile before its size."""


def image_tokens(image: Image, rule: ImageRule) -> int:
    width, height = pixel_size(image) or UNKNOWN
    if rule == "area":
        return min(-(-width * height // 750), 1600)
    if rule == "tiles512":
        width, height = _shrunk(*_shrunk(width, height, longest=2048), shortest=768)
        return 85 + 170 * _tiles(width, height, 512)
    return 258 if max(width, height) <= 384 else 258 * _tiles(width, height, 768)


def pixel_size(image: Image) -> Size | None:
    """Width and height, or None where the data is elsewhere, damaged or of another format."""
    data = image.data
    if not data and image.url.startswith("data:"):
        data = image.url.partition(",")[2]
    head = "".join(data[:HEADER_CHARS].split())
    try:
        raw = b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return None
    return image_size(raw)


def _shrunk(width: int, height: int, *, longest: int = 0, shortest: int = 0) -> Size:
    side, limit = (max(width, height), longest) if longest else (min(width, height), shortest)
    if side <= limit:
        return width, height
    return -(-width * limit // side), -(-height * limit // side)


def _tiles(width: int, height: int, side: int) -> int:
    return -(-width // side) * -(-height // side)


ContentClass = Literal["prose", "code", "json", "cjk", "numbered"]
CLASSES: tuple[ContentClass, ...] = ("prose", "code", "json", "cjk", "numbered")

SAMPLE = 2048
CJK_SHARE = 10
SYMBOL_SHARE = 22
"""One such character in this many makes a text CJK, or code."""

_SYMBOLS = "{}()[];=<>_/\\|"
_CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
_NUMBER = re.compile(r"^[ \t]*\d+[→\t|]", re.MULTILINE)


class PerContentClass(Struct, frozen=True):
    """One whole number for each content class, in thousandths."""

    prose: int
    code: int
    json: int
    cjk: int
    numbered: int

    def of(self, kind: ContentClass) -> int:
        value: int = getattr(self, kind)
        return value

    @property
    def largest(self) -> int:
        return max(self.of(kind) for kind in CLASSES)

    @property
    def smallest(self) -> int:
        return min(self.of(kind) for kind in CLASSES)


def uniform(value: int) -> PerContentClass:
    return PerContentClass(value, value, value, value, value)


class Family(Struct, frozen=True):
    """How a family counts: tokens = tokens of `vocabulary` × `factor` + overheads.

    `bound` is the relative error that 95% of texts of a class keep within; 0 in the family's own vocabulary.
    `per_call` is what a call with its result costs beyond name, arguments and text. `arguments` are counted
    as the JSON they are written in, or value by value with `per_argument` for each: Claude reads them
    unescaped, which for a file's content is a quarter less. `per_tools` is charged once when there are tools.
    """

    name: str
    vocabulary: str = "o200k_base"
    factor: PerContentClass = uniform(1000)
    bound: PerContentClass = uniform(0)
    image: ImageRule = "area"
    arguments: Literal["json", "values"] = "json"
    per_message: int = 4
    per_call: int = 8
    per_argument: int = 0
    per_tools: int = 16

    @property
    def exact(self) -> bool:
        """Whether texts are counted in the family's own vocabulary."""
        return self.bound.largest == 0


# Measured 2026-11-15 with `HOLDFAST_RECORDINGS=… python benchmarks/token_error.py`.
# claude: models 4.5 and 4.6; factors fitted on entireio/cli and SWE-PolyBench (cjk: kimi-cli, the only one that
# has it), bounds taken on context-evaluator, kimi-cli and pi-mono; json and cjk have fewer than ten steps there
# and take the largest bound. The bounds are not blind: decisions/0003-tokens.md says what was chosen in sight
# of those projects. `per_tools` is the provider's published figure.
# gemini: against Gemma 3's vocabulary, as Gemini's own is not public; factor and bound from the same texts.
# other: covers p5 to p95 of every vocabulary in the benchmark's table, not all of Claude.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("openai", image="tiles512"),
        Family("openai-legacy", "cl100k_base", image="tiles512"),
        Family(
            "claude",
            factor=PerContentClass(prose=1272, code=1288, json=1219, cjk=1333, numbered=1126),
            bound=PerContentClass(prose=195, code=132, json=195, cjk=195, numbered=111),
            arguments="values",
            per_call=34,
            per_argument=13,
            per_tools=346,
        ),
        Family(
            "gemini",
            factor=PerContentClass(prose=1099, code=1206, json=1207, cjk=1031, numbered=1149),
            bound=PerContentClass(prose=157, code=190, json=145, cjk=118, numbered=121),
            image="tiles768",
        ),
        Family("llama3", "llama3"),
        Family("qwen3", "qwen3"),
        Family("deepseek", "deepseek_v3"),
        Family("glm", "glm4"),
        Family("kimi", "kimi_k2"),
        Family("mistral", "mistral_v3"),
        Family("other", factor=uniform(1100), bound=uniform(260)),
    )
}

# The first pattern found in a model's name decides: a distilled model keeps the vocabulary it was built on, and
# "gpt-4o" must be asked before "gpt-4".
_NAMES: tuple[tuple[str, str], ...] = (
    (r"distill-llama", "llama3"),
    (r"distill-qwen", "qwen3"),
    (r"claude", "claude"),
    (r"gemini|gemma", "gemini"),
    (r"deepseek", "deepseek"),
    (r"qwen|qwq", "qwen3"),
    (r"kimi|moonshot", "kimi"),
    (r"\bglm|chatglm", "glm"),
    (r"mistral|mixtral|codestral|devstral|magistral|ministral|pixtral", "mistral"),
    (r"llama", "llama3"),
    (r"gpt-?4o|gpt-?4\.[15]|chatgpt-4o", "openai"),
    (r"gpt-?4|gpt-?3|text-embedding", "openai-legacy"),
    (r"gpt|\bo[1-9]\b|codex", "openai"),
)


def family_for_model(model: str) -> Family:
    """The family of a model by its name, with or without a provider before it; `other` if unknown.

    Without a name tokens are o200k tokens: what a budget means where nothing else is said.
    """
    if not model:
        return FAMILIES["openai"]
    name = model.lower()
    found = next((family for pattern, family in _NAMES if re.search(pattern, name)), "other")
    return FAMILIES[found]


def content_class(text: str) -> ContentClass:
    """What a text mostly is, judged by at most two samples of it: cheap, and the same everywhere."""
    sample = text
    if len(text) > 2 * SAMPLE:
        middle = len(text) // 2
        sample = text[:SAMPLE] + text[middle : middle + SAMPLE]
    if not sample.isascii() and len(_CJK.findall(sample)) * CJK_SHARE >= len(sample):
        return "cjk"
    if _NUMBER.match(sample) and len(_NUMBER.findall(sample)) * 2 > sample.count("\n"):
        return "numbered"
    if sample.lstrip()[:1] in ("{", "[") and sample.count('":') * 200 >= len(sample):
        return "json"
    return "code" if sum(map(sample.count, _SYMBOLS)) * SYMBOL_SHARE >= max(len(sample), 1) else "prose"


def recorded_model(entries: Sequence[Entry]) -> str:
    """The model that replied first, by a name of a known family if there is one; empty if none is named."""
    names = [e.event.model for e in entries if isinstance(e.event, AssistantReplied) and e.event.model]
    started = entries[0].event if entries else None
    if isinstance(started, LogStarted) and isinstance(model := started.meta.get("model"), str):
        names.append(model)
    known = (name for name in names if family_for_model(name).name != "other")
    return next(known, names[0] if names else "")
