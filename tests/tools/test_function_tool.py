"""Tools from functions: what the model is told of them, and what it reads of their results."""

import asyncio
import functools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

from holdfast import Image, tool
from holdfast.errors import InputError
from holdfast.messages import Text
from holdfast.tools.workspace import Workspace


def answer(made, **arguments):
    return asyncio.run(made.run(arguments, Workspace()))


def text(made, **arguments) -> str:
    return answer(made, **arguments).envelope.text


class Colour(Enum):
    RED = "red"


@dataclass
class Place:
    street: str
    number: int = 1


class Range(TypedDict):
    first: int
    last: int


@tool
def search(query: str, limit: int = 10, kinds: list[str] = ["a"]) -> str:  # noqa: B006
    """Search the shelf.

    Longer words about it.

    Args:
        query: what to look for,
            in plain words
        limit (int, optional): how many at most

    Returns:
        the titles: one a line
    """
    return f"{query} {limit} {kinds}"


def test_the_schema_comes_from_the_annotations_and_the_docstring() -> None:
    assert search.name == "search"
    assert search.definition.description == (
        "Search the shelf.\n\nLonger words about it.\n\nReturns:\n    the titles: one a line"
    )
    assert search.definition.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for, in plain words"},
            "limit": {"type": "integer", "description": "how many at most", "default": 10},
            "kinds": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "docstring",
    [
        "Looks.\n\npath: where to look",
        "Looks.\n\n:param path: where to look\n:returns: nothing",
        "Looks.\n\nParameters\n----------\n`path`: where to look",
    ],
)
def test_parameters_are_described_in_any_of_the_usual_ways(docstring) -> None:
    def look(path: str) -> None: ...

    look.__doc__ = docstring
    made = tool(look)
    assert made.definition.schema["properties"]["path"]["description"] == "where to look"
    assert made.definition.description.startswith("Looks.")
    assert "where to look" not in made.definition.description


def test_types_that_a_model_can_be_told() -> None:
    @tool
    def place(
        colour: Colour,
        mode: Literal["fast", "slow"],
        at: Place,
        span: Range,
        note: Annotated[str, "a word about it"] = "",
        maybe: int | None = None,
    ) -> dict:
        """Places it."""
        return {"colour": colour.value, "street": at.street, "span": span, "mode": mode, "maybe": maybe}

    schema = place.definition.schema
    assert schema["properties"]["mode"]["enum"] == ["fast", "slow"]
    assert schema["properties"]["at"]["properties"]["street"] == {"type": "string"}
    assert schema["properties"]["note"]["description"] == "a word about it"
    assert "$ref" not in str(schema)
    given = {"colour": "red", "mode": "fast", "at": {"street": "x"}, "span": {"first": 1, "last": 2}}
    assert text(place, **given) == (
        '{"colour":"red","street":"x","span":{"first":1,"last":2},"mode":"fast","maybe":null}'
    )


def test_it_may_still_be_called_as_a_function() -> None:
    assert search("tea", limit=2) == "tea 2 ['a']"
    assert search.__name__ == "search"


def test_arguments_are_typed_and_defaults_stay_as_they_are() -> None:
    assert text(search, query="tea", limit="3") == "tea 3 ['a']"

    @tool
    def grow(values: list[int] = [1]) -> list[int]:  # noqa: B006
        """Grows."""
        values.append(2)
        return values

    assert text(grow) == text(grow) == "[1,2]"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs the argument `query`"),
        ({"query": "a", "limit": "many"}, "`limit` of search is wrong"),
        ({"query": "a", "depth": 1}, "has no argument `depth`"),
    ],
)
def test_wrong_arguments_are_an_error_that_the_model_reads(arguments, words) -> None:
    result = answer(search, **arguments)
    assert result.is_error
    assert words in result.envelope.text


def test_an_exception_is_an_error_that_the_model_reads() -> None:
    @tool
    def fail() -> None:
        """Fails."""
        raise LookupError("no such column: prize")

    result = answer(fail)
    assert result.is_error
    assert "fail failed: LookupError: no such column: prize" in result.envelope.text


def test_a_coroutine_runs_on_the_loop_and_a_function_in_a_thread() -> None:
    @tool
    async def here() -> bool:
        """Here."""
        return threading.current_thread() is threading.main_thread()

    @tool
    def there() -> bool:
        """There."""
        return threading.current_thread() is threading.main_thread()

    assert (text(here), text(there)) == ("true", "false")


def test_results_of_every_kind() -> None:
    values = iter(
        [None, "", "words", [1, {"a": None}], Place("x"), object(), Image("image/png", data="aGk=")]
    )

    @tool(is_read_only=True)
    def give() -> object:
        """Gives."""
        return next(values)

    assert give.is_read_only
    assert [text(give) for _ in range(5)] == [
        "(no output)",
        "(no output)",
        "words",
        '[1,{"a":null}]',
        '{"street":"x","number":1}',
    ]
    assert text(give).startswith('"<object object')
    assert answer(give).parts == (Text("(no output)"), Image("image/png", data="aGk="))


def test_name_and_description_may_be_given() -> None:
    @tool(name="look-up", description="Looks it up.")
    def f(word: str) -> str:
        return word

    assert (f.name, f.definition.description) == ("look-up", "Looks it up.")


def refused(function, **options) -> str:
    with pytest.raises(InputError) as caught:
        tool(**options)(function) if options else tool(function)
    return str(caught.value)


def test_what_cannot_be_a_tool_is_refused_in_a_sentence() -> None:
    def silent(a: str) -> None: ...

    def bare(a) -> None:
        """Bare."""

    def many(*all_: str) -> None:
        """Many."""

    def odd(a: threading.Event) -> None:
        """Odd."""

    def unknown(a: "Nowhere") -> None:  # noqa: F821
        """Unknown."""

    assert "does not say what it does\nhint: write a docstring" in refused(silent)
    assert "parameter `a` of the tool `bare` has no type\nhint: annotate it" in refused(bare)
    assert "`all_` of the tool `many` cannot be given by name" in refused(many)
    assert refused(odd).startswith(
        "the parameter `a` of the tool `odd` has a type that no model can be told\n"
    )
    assert "annotations of the tool `unknown` cannot be read" in refused(unknown)
    assert "`two words` cannot be the name of a tool" in refused(silent, name="two words")
    assert "`<lambda>` cannot be the name of a tool" in refused(lambda: None)
    assert "`3` cannot be the name of a tool" in refused(silent, name=3)
    assert "does not say what it does" in refused(silent, description=3)


def test_what_is_no_function_is_refused_in_a_sentence() -> None:
    class Shop:
        def stock(self, product: str) -> int:
            """How many there are."""
            return len(product)

    def some() -> Iterator[int]:
        """Some."""
        yield 1

    assert "the text `stock` cannot be made a tool\nhint: write `@tool` before a function" in refused("stock")
    assert "hint: make a tool of the method of an object" in refused(Shop.stock)
    assert text(tool(Shop().stock), product="tea") == "3"
    assert "the tool `some` yields its results\nhint: return them" in refused(some)
    assert "the parameters of the tool `max` are not known" in refused(max, description="The largest.")


def test_whatever_can_be_called_can_be_a_tool() -> None:
    class Adder:
        def __init__(self, more: int) -> None:
            self.name = "not the name of the tool"
            self.more = more

        async def __call__(self, number: int) -> int:
            """Add to a number."""
            return number + self.more

    def add(number: int, more: int) -> int:
        """Add two numbers."""
        return number + more

    assert text(tool(name="adder")(Adder(2)), number=1) == "3"
    assert tool(name="adder")(Adder(2)).name == "adder"
    assert text(tool(functools.partial(add, more=2)), number=1) == "3"
    assert tool(name="other")(tool(add)).name == "other"
    assert "`__call__` cannot be the name of a tool" in refused(Adder(2))


def test_a_decorated_coroutine_is_awaited() -> None:
    async def look() -> str:
        """Looks."""
        return "blue"

    @tool
    @functools.wraps(look)
    def decorated():
        return look()

    assert text(decorated) == "blue"


def test_an_argument_that_may_be_null_is_null() -> None:
    @tool
    def at(place: str | None, floor: int | None = 3, side: str = "left") -> list:
        """Where it is."""
        return [place, floor, side]

    assert text(at, place=None, floor=None, side=None) == '[null,null,"left"]'


def test_a_function_that_finds_nothing_next_fails_at_once() -> None:
    """StopIteration cannot be the exception of a future: it was waited for until the call timed out."""

    @tool
    def first() -> int:
        """The first."""
        return next(iter([]))

    async def answered() -> str:
        async with asyncio.timeout(30):
            return (await first.run({}, Workspace())).envelope.text

    assert (
        asyncio.run(answered())
        == "EXECUTION_ERROR: first failed: RuntimeError: coroutine raised StopIteration."
    )


def test_the_loop_does_not_wait_for_a_function_that_does_not_end() -> None:
    leave = threading.Event()

    @tool
    def wait() -> None:
        """Waits."""
        leave.wait(60)

    async def abandoned() -> None:
        running = asyncio.create_task(wait.run({}, Workspace()))
        await asyncio.sleep(0.05)
        running.cancel()

    started = time.monotonic()
    asyncio.run(abandoned())
    assert time.monotonic() - started < 50
    leave.set()


def test_texts_that_are_no_plain_text_are_made_so() -> None:
    class Markup(str):
        __slots__ = ()

    given = iter([Markup("<b>"), ["caf\udce9.txt"], {"caf\udce9": Markup("x")}])

    @tool
    def give() -> object:
        """Gives."""
        return next(given)

    assert [type(answer(give).parts[0].text) for _ in range(1)] == [str]
    assert [text(give), text(give)] == ['["caf?.txt"]', '{"caf?":"x"}']


@pytest.mark.parametrize(
    "picture",
    [
        Image("image/png", data=b"\x89PNG"),  # type: ignore[arg-type]
        Image("image/png", data="no base64!"),
        Image("image/png"),
        Image("text/plain", data="aGk="),
    ],
)
def test_a_picture_that_no_provider_takes_is_an_error_that_the_model_reads(picture) -> None:
    @tool
    def draw() -> list[Image]:
        """Draws."""
        return [picture]

    assert "draw returned a picture that cannot be shown" in text(draw)


class Item(BaseModel):
    title: str = Field(description="as on the shelf")
    count: int = Field(default=1, ge=1)


class Order(BaseModel):
    items: list[Item]
    to: Path = Path("here")


class Chain(BaseModel):
    link: "Chain | None" = None


@tool
def buy(order: Order, into: Path, gift: Item | None = None, under: Path = Path("a/b")) -> str:
    """Buy.

    into: the folder
    """
    return f"{order!r} {into!r} {gift!r} {under!r}"


def test_paths_and_pydantic_models_are_parameters() -> None:
    schema = buy.definition.schema
    assert schema["required"] == ["order", "into"]
    assert schema["properties"]["into"] == {"type": "string", "description": "the folder"}
    item = schema["properties"]["order"]["properties"]["items"]["items"]
    assert item["properties"]["title"]["description"] == "as on the shelf"
    assert "$" not in str(schema)
    given = Order(items=[Item(title="kettle")]), Path("out"), None, Path("a/b")
    said = text(buy, order={"items": [{"title": "kettle"}]}, into="out", gift=None)
    assert said == " ".join(map(repr, given))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"order": {"items": [{"title": "a", "count": 0}]}}, "`order` of buy is wrong: `items.0.count`: "),
        ({"order": "kettle"}, "`order` of buy is wrong: input should be a valid dictionary"),
        ({"into": 5}, "`into` of buy is wrong: expected a path, got the number 5"),
        ({"gift": {}}, "`gift` of buy is wrong: `title`: Field required"),
    ],
)
def test_what_a_model_of_pydantic_refuses_is_one_sentence(wrong, words) -> None:
    result = answer(buy, **{"order": {"items": []}, "into": "out", **wrong})
    assert result.is_error
    assert words in result.envelope.text
    assert "\n" not in result.envelope.text


def test_a_model_that_contains_itself_is_refused() -> None:
    def follow(chain: Chain) -> None:
        """Follow."""

    with pytest.raises(InputError, match="Chain contains itself"):
        tool(follow)
