"""Real tokenizers, loaded on first use and once per process.

Rule: this is the only module that loads a tokenizer library, and nothing here needs a network.
"""

from functools import cache

from holdfast.errors import InputError
from holdfast.packing.counting.tokens import CharEstimate, TokenCounter, Tokenizer, family_for_model

VOCABULARIES = (
    "cl100k_base",
    "deepseek_v3",
    "gemma3",
    "glm4",
    "kimi_k2",
    "llama3",
    "mistral_v3",
    "o200k_base",
    "qwen3",
)
FEW_OPENINGS = 4


class SplintrTokenizer:
    """A vocabulary of splintr-rs. A marker such as `<|endoftext|>` spelled in a text is counted as text.

    Counting without building a list of ids is about a third faster, but that call reads markers; so it is
    used only on texts in which no marker begins.
    """

    def __init__(self, name: str) -> None:
        # Loaded here and not at import: `import holdfast` must not pay for 36 MB of vocabularies.
        from splintr import Tokenizer as Vocabularies  # noqa: PLC0415

        vocabulary = Vocabularies.from_pretrained(name)
        self.name = name
        self._ids = vocabulary.encode_ordinary
        self._flat = vocabulary.encode_flat
        self._frame = len(self._ids(""))
        self._openings = tuple(sorted({marker[:2] for marker in vocabulary.special_tokens()}))

    def count(self, text: str) -> int:
        try:
            return self._tokens(text)
        except UnicodeEncodeError:
            # Half a surrogate pair cannot be sent either; adapters replace it, and so does the count.
            return self._tokens(text.encode("utf-8", "replace").decode("utf-8"))

    def ids(self, text: str) -> list[int]:
        """The tokens themselves, for comparing two texts token by token."""
        return self._ids(text.encode("utf-8", "replace").decode("utf-8"))[self._frame :]

    def _tokens(self, text: str) -> int:
        if len(self._openings) > FEW_OPENINGS or any(opening in text for opening in self._openings):
            return len(self._ids(text)) - self._frame
        return len(self._flat(text)) // 4 - self._frame


@cache
def load_tokenizer(vocabulary: str = "o200k_base") -> Tokenizer:
    """The tokenizer of a vocabulary; an estimate that says why where the library is missing."""
    if vocabulary not in VOCABULARIES:
        raise InputError(
            f"there is no vocabulary `{vocabulary}`", hint=f"there are: {', '.join(VOCABULARIES)}"
        )
    try:
        return SplintrTokenizer(vocabulary)
    except ImportError as error:
        return CharEstimate(4, reason=f"`splintr-rs` cannot be loaded: {error}")


def counter_for_model(model: str) -> TokenCounter:
    """A new counter, with a memory of its own, for the family of a model."""
    family = family_for_model(model)
    return TokenCounter(load_tokenizer(family.vocabulary), family)
