"""Lists that nobody has named."""

from holdfast.adapters.list_names import ListNames

HELLO = {"role": "user", "content": "Hello."}
REPLY = {"role": "assistant", "content": "Hello to you."}
MORE = {"role": "user", "content": "More."}


def test_a_list_that_goes_on_keeps_its_name() -> None:
    names = ListNames(lambda _: None)
    first = names.name_of("a", [HELLO])
    assert names.name_of("a", [HELLO]) == first
    assert names.name_of("a", [HELLO, REPLY, MORE]) == first
    assert names.name_of("a", [HELLO, REPLY, MORE, REPLY, MORE]) == first


def test_a_list_that_was_cut_or_is_of_another_owner_is_another() -> None:
    names = ListNames(lambda _: None)
    first = names.name_of("a", [HELLO, REPLY, MORE])
    assert names.name_of("b", [HELLO, REPLY, MORE]) != first
    assert names.name_of("a", [HELLO, REPLY, HELLO]) != first
    assert names.name_of("a", [HELLO, REPLY, MORE, REPLY]) == first


def test_two_lists_that_began_alike_part() -> None:
    names = ListNames(lambda _: None)
    first = names.name_of("a", [HELLO])
    assert names.name_of("a", [HELLO, REPLY, MORE]) == first
    assert names.name_of("a", [HELLO, MORE, HELLO]) != first


def test_the_oldest_names_are_given_up() -> None:
    given_up: list[str] = []
    names = ListNames(given_up.append, most=2)
    found = [names.name_of("a", [{"role": "user", "content": str(n)}]) for n in range(4)]
    assert given_up == found[:2]
