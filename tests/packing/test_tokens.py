"""Token counts: exact in a family's own vocabulary, remembered, bounded in memory, the same everywhere."""

import gzip
import json
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from holdfast.packing.counting.families import CLASSES, UNKNOWN, content_class, image_tokens, pixel_size
from holdfast.packing.counting.tokens import (
    FAMILIES,
    LONGEST_PIECE,
    CharEstimate,
    Family,
    TokenCounter,
    family_for_model,
    pieces,
)
from holdfast.tokenizers import VOCABULARIES, SplintrTokenizer, counter_for_model, load_tokenizer

O200K = load_tokenizer()
CODE = "".join(
    f"def function_{i}(value: int) -> str:\n    // a note\n\n    return names[{i * 7919 % 1000}]  # {i}\n"
    for i in range(900)
)
SPELLED = ["<|endoftext|>", "<|im_start|>", "[INST]", "</s>", "<think>", "/nothink", "<bos>"]


class Watched:
    """A tokenizer that remembers what it was asked."""

    name = "watched"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return O200K.count(text)


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_a_spelled_marker_is_text(vocabulary: str) -> None:
    tokenizer = load_tokenizer(vocabulary)
    assert tokenizer.count("<|endoftext|>") > 3
    assert tokenizer.count("<|endoftext|>" * 50) > 150


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(SPELLED)), max_size=8).map("".join))
def test_counts_are_those_of_the_ordinary_encoding(text: str) -> None:
    for vocabulary in ("o200k_base", "llama3", "qwen3", "glm4"):
        tokenizer = load_tokenizer(vocabulary)
        assert isinstance(tokenizer, SplintrTokenizer)
        assert tokenizer.count(text) == len(tokenizer._ids(text))


def test_half_a_surrogate_pair_is_counted() -> None:
    counter = TokenCounter(O200K, FAMILIES["openai"])
    assert counter.text("a \ud800 b") >= 3
    assert counter.text("\udfff" * 20_000) > 0
    assert counter.lines("x\n\ud83d")[0] > 0


@pytest.mark.slow
def test_counting_needs_no_network() -> None:
    script = """
import socket
def refuse(*args, **kwargs): raise OSError("no network here")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from holdfast.tokenizers import VOCABULARIES, load_tokenizer
print([load_tokenizer(v).count("hello world") for v in VOCABULARIES])
"""
    assert json.loads(run(script)) == [load_tokenizer(v).count("hello world") for v in VOCABULARIES]


def test_without_the_library_characters_are_counted_and_the_reason_is_said() -> None:
    script = """
import sys
sys.modules["splintr"] = None
from holdfast.tokenizers import load_tokenizer
tokenizer = load_tokenizer()
print(tokenizer.name, tokenizer.count("twelve chars"), "splintr-rs" in tokenizer.reason)
"""
    assert run(script) == "chars/4 3 True"


def test_no_tokenizer_is_loaded_before_it_is_asked_for() -> None:
    script = (
        "import sys, holdfast.tokenizers, holdfast.packing.counting.tokens; print('splintr' in sys.modules)"
    )
    assert run(script) == "False"


def test_counts_do_not_depend_on_the_hash_seed() -> None:
    script = """
from holdfast.tokenizers import counter_for_model
text = "".join(f"line {i} = {i * i % 977}\\n" for i in range(3000))
counter = counter_for_model("claude-sonnet-4-5")
print(counter.text(text), sum(counter.lines(text)))
"""
    assert run(script, PYTHONHASHSEED="1") == run(script, PYTHONHASHSEED="2")


def test_an_unknown_vocabulary_names_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        load_tokenizer("o300k")
    assert "`o300k`" in caught.value.message
    assert "o200k_base" in caught.value.hint


def test_every_family_has_a_vocabulary_and_a_bound_where_it_is_not_its_own() -> None:
    for family in FAMILIES.values():
        assert family.vocabulary in VOCABULARIES
        assert family.exact == (family.factor.smallest == family.factor.largest == 1000)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/claude-opus-4.5", "claude"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude"),
        ("gpt-4o-mini", "openai"),
        ("gpt-4.1", "openai"),
        ("openai/gpt-5.5", "openai"),
        ("o3", "openai"),
        ("gpt-4-turbo", "openai-legacy"),
        ("gpt-3.5-turbo", "openai-legacy"),
        ("google/gemini-3-pro", "gemini"),
        ("meta-llama/Llama-3.3-70B", "llama3"),
        ("Qwen/Qwen3-Coder", "qwen3"),
        ("deepseek-chat", "deepseek"),
        ("deepseek-r1-distill-llama-70b", "llama3"),
        ("zai-org/GLM-4.6", "glm"),
        ("moonshotai/kimi-k2", "kimi"),
        ("mistralai/devstral-small", "mistral"),
        ("someone/new-model", "other"),
        ("", "openai"),
    ],
)
def test_a_model_is_known_by_its_name(model: str, family: str) -> None:
    assert family_for_model(model).name == family


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "prose"),
        ("The quick brown fox jumps over the lazy dog. It does so every day.", "prose"),
        ("for (int i = 0; i < n; i++) { total += values[i]; }", "code"),
        ('{"name": "holdfast", "size": 12, "tags": ["a", "b"]}', "json"),
        ('[{"id": 1}, {"id": 2}]', "json"),
        ("请读取这个文件，然后修复测试。", "cjk"),
        ("ファイルを読んでください。", "cjk"),
        ("     1→package cli\n     2→\n     3→import (\n", "numbered"),
        ("10\tfirst\n11\tsecond\n12\tthird", "numbered"),
        ("[see the note] and go on reading, please, as nothing here is data", "prose"),
    ],
)
def test_content_classes(text: str, kind: str) -> None:
    assert content_class(text) == kind


@given(st.text(max_size=9000))
def test_every_text_has_a_class(text: str) -> None:
    assert content_class(text) in CLASSES


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=12), st.integers(1, 400))
def test_pieces_are_the_text_cut(parts: list[str], times: int) -> None:
    text = "\n".join(parts * times)
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= LONGEST_PIECE for piece in cut)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_pieces_add_up_to_the_whole(vocabulary: str) -> None:
    tokenizer = load_tokenizer(vocabulary)
    for text in (CODE, CODE.replace("\n", " "), CODE.replace("    ", "\t"), CODE.replace("\n    ", ";\n//")):
        assert len(list(pieces(text))) > 5
        assert sum(map(tokenizer.count, pieces(text))) == tokenizer.count(text)


def test_a_long_line_without_a_place_to_cut_costs_little_exactness() -> None:
    text = json.dumps([f"{i * 7919:x}" for i in range(40_000)], separators=(",", ":"))
    whole = O200K.count(text)
    assert abs(TokenCounter(O200K, FAMILIES["openai"]).text(text) - whole) <= whole // 1000


def test_a_text_is_counted_once() -> None:
    tokenizer = Watched()
    counter = TokenCounter(tokenizer, FAMILIES["openai"])
    for text in ("short", CODE):
        first = counter.text(text)
        asked = len(tokenizer.asked)
        assert counter.text("".join(list(text))) == first
        assert len(tokenizer.asked) == asked


@pytest.mark.parametrize("at", [0, len(CODE) // 2, len(CODE) - 10])
def test_a_small_change_of_a_long_text_costs_little(at: int) -> None:
    tokenizer = Watched()
    counter = TokenCounter(tokenizer, FAMILIES["openai"])
    counter.text(CODE)
    tokenizer.asked.clear()
    at = CODE.index("\n", at) + 1
    changed = CODE[:at] + "one line more\n" + CODE[at:]
    assert counter.text(changed) == O200K.count(changed)
    assert 0 < sum(map(len, tokenizer.asked)) <= 4 * LONGEST_PIECE


def test_the_memory_lets_go_of_what_is_not_used() -> None:
    tokenizer = Watched()
    counter = TokenCounter(tokenizer, FAMILIES["openai"], memory=20_000)
    counter.text("an early text")
    for i in range(2000):
        counter.text(f"text number {i}")
        counter.text("a text in use")
    assert tokenizer.asked.count("a text in use") == 1
    counter.text("an early text")
    assert tokenizer.asked.count("an early text") == 2


def test_the_memory_does_not_keep_a_long_text_alive() -> None:
    text = CODE + "end"
    counter = TokenCounter(O200K, FAMILIES["openai"])
    before = sys.getrefcount(text)
    counter.text(text)
    assert sys.getrefcount(text) == before


@pytest.mark.parametrize("name", ["openai", "claude"])
def test_lines_stand_for_their_text(name: str) -> None:
    counter = TokenCounter(O200K, FAMILIES[name])
    for text in (CODE, "one", "", "a\n", "\n\n\n", "x" * 30_000 + "\ny"):
        lines = counter.lines(text)
        assert len(lines) == len(text.split("\n"))
        assert min(lines) >= 0
        assert abs(sum(lines) - counter.text(text)) <= 2 + counter.text(text) * 0.05
        assert counter.lines(text) == lines


def test_a_factor_rounds_a_text_up_and_lines_only_once() -> None:
    counter = TokenCounter(CharEstimate(1), Family("half more", factor=FAMILIES["other"].factor))
    assert counter.text("a") == 2
    assert counter.text("a" * 10) == 11
    assert sum(counter.lines("\n".join("b" * 100))) == 219


def test_messages_are_the_sum_of_their_parts_and_of_the_seams_between_texts() -> None:
    family = Family("plain", per_message=10, per_call=100, per_tools=1000)
    counter = TokenCounter(CharEstimate(1), family)
    call = ToolCall("id", "Read", {"path": "é.py", "n": [1, 2]})
    assert counter.message(SystemMessage("abc")) == 13
    assert counter.message(UserMessage((Text("ab"), Text("cd")))) == 15
    assert counter.message(ToolMessage("id", "Read", (Text("result"),))) == 16
    assert counter.message(AssistantMessage((Thinking("why", "sig"), Text("so"), call))) == 10 + 8 + (
        100 + len("Read") + len('{"path":"é.py","n":[1,2]}')
    )
    assert counter.message(AssistantMessage((Thinking(redacted="opaque"),))) == 16
    assert counter.message(AssistantMessage((ToolCall("id", "f", {}, raw="{oops"),))) == 10 + 100 + 1 + 5
    assert counter.messages([SystemMessage("a"), SystemMessage("b")]) == 22


def test_claude_reads_arguments_unescaped() -> None:
    family = Family("values", arguments="values", per_message=0, per_call=10, per_argument=3)
    counter = TokenCounter(CharEstimate(1), family)
    call = ToolCall("id", "W", {"text": 'a "quoted"\nline', "n": [1, 2]})
    assert counter.part(call) == 10 + 1 + 2 * 3 + len("text") + len('a "quoted"\nline') + len("n") + len(
        "[1,2]"
    )
    assert FAMILIES["claude"].arguments == "values"


def test_arguments_with_half_a_surrogate_pair_are_counted() -> None:
    call = ToolCall("id", "Write", {"text": "\ud800", "big": 2**80})
    for model in ("gpt-5", "claude"):
        assert counter_for_model(model).part(call) > 8


def test_tools_are_counted_with_their_schemas() -> None:
    counter = TokenCounter(CharEstimate(1), Family("plain", per_call=5, per_tools=50))
    tool = ToolDefinition("Read", "Reads.", {"type": "object"})
    assert counter.tools(()) == 0
    assert counter.tools((tool, tool)) == 50 + 2 * (5 + 4 + 6 + len('{"type":"object"}'))


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\x00\x00\x00"


def jpeg(width: int, height: int) -> bytes:
    profile = b"\xff\xe2" + pack(">H", 60_002) + b"\xff\xc0" * 30_000
    return (
        b"\xff\xd8"
        + profile
        + b"\xff\xff\xc2\x00\x11\x08"
        + pack(">HH", height, width)
        + b"\x03"
        + b"\0" * 20
    )


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + pack("<I", 100) + b"WEBP" + kind + pack("<I", 90) + body + b"\0" * 20


FILES = {
    "png": png(640, 480),
    "gif": b"GIF89a" + pack("<HH", 640, 480) + b"\0" * 10,
    "jpeg": jpeg(640, 480),
    "webp lossy": webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + pack("<HH", 640, 480)),
    "webp lossless": webp(b"VP8L", b"\x2f" + pack("<I", 639 | 479 << 14)),
    "webp extended": webp(b"VP8X", b"\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_size_of_a_picture_is_read_from_its_header(kind: str) -> None:
    data = b64encode(FILES[kind] + b"\0" * 1000).decode()
    wrapped = "\n".join(data[i : i + 76] for i in range(0, len(data), 76))
    assert pixel_size(Image("image/x", data)) == (640, 480)
    assert pixel_size(Image("image/x", wrapped)) == (640, 480)
    assert pixel_size(Image("image/x", url=f"data:image/x;base64,{data}")) == (640, 480)


@pytest.mark.parametrize(
    ("size", "area", "tiles512", "tiles768"),
    [
        ((1000, 1000), 1334, 765, 258 * 4),
        ((1024, 1024), 1399, 765, 258 * 4),
        ((2048, 4096), 1600, 1105, 258 * 18),
        ((200, 200), 54, 255, 258),
    ],
)
def test_pictures_cost_what_providers_publish(
    size: tuple[int, int], area: int, tiles512: int, tiles768: int
) -> None:
    image = Image("image/png", b64encode(png(*size)).decode())
    assert image_tokens(image, "area") == area
    assert image_tokens(image, "tiles512") == tiles512
    assert image_tokens(image, "tiles768") == tiles768


@given(st.one_of(st.text(max_size=50), st.binary(max_size=60).map(lambda b: b64encode(b).decode())))
def test_a_damaged_picture_counts_as_a_screenshot(data: str) -> None:
    image = Image("image/png", data)
    width, height = pixel_size(image) or UNKNOWN
    assert image_tokens(image, "area") == min(-(-width * height // 750), 1600)
    assert image_tokens(Image("image/png", url="http://127.0.0.1/x.png"), "tiles512") == 1105


def test_a_cut_picture_file_is_unknown() -> None:
    for content in FILES.values():
        for length in (0, 4, 9):
            assert pixel_size(Image("image/x", b64encode(content[:length]).decode())) is None


@pytest.mark.recordings
def test_pieces_add_up_on_recordings() -> None:
    folder = os.environ.get("HOLDFAST_RECORDINGS", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("HOLDFAST_RECORDINGS names no folder")
    pieced = whole = 0
    for path in sorted(Path(folder).glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line, _ in zip(lines, range(10), strict=False):
                texts = [str(m.get("content") or "") for m in json.loads(line)["messages"]]
                for text in (t for t in texts if len(t) > LONGEST_PIECE):
                    pieced += sum(map(O200K.count, pieces(text)))
                    whole += O200K.count(text)
    assert whole > 0
    assert abs(pieced - whole) <= whole * 0.0002
