from hypothesis import given
from hypothesis import strategies as st

from holdfast.views.frozen_list import FrozenList

CHANGES = st.lists(st.one_of(st.just("replace"), st.just("look"), st.integers(0, 9)), max_size=40)
PLACES = st.integers(-12, 12) | st.none()


@given(CHANGES, PLACES, PLACES, st.sampled_from([None, 1, 2, -1]))
def test_a_frozen_list_is_the_list_as_it_was(changes, start, stop, stride):
    source: list[int] = []
    taken = [(FrozenList(source), [])]
    for change in changes:
        if change == "look":
            taken.append((FrozenList(source), [*source]))
        elif change != "replace":
            source.append(change)
        elif source:
            source[-1] += 100
    for frozen, then in taken:
        assert [*frozen] == then
        assert len(frozen) == len(then)
        assert frozen[start:stop:stride] == then[start:stop:stride]
        assert [frozen[at] for at in range(-len(then), len(then))] == [*then, *then]
        assert frozen == FrozenList(then)
