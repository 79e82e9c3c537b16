"""A list as it was at one moment, without a copy.

Rule: for lists that grow at the end and of which at most the last element is replaced. Any other change must make a
new list.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar, overload

T = TypeVar("T")


class FrozenList(Sequence[T]):
    __slots__ = ("_last", "_length", "_source")

    def __init__(self, source: list[T]) -> None:
        self._source = source
        self._length = len(source)
        self._last = source[-1:]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return chain(islice(self._source, max(self._length - 1, 0)), self._last)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1 and stop < self._length:
                return self._source[start:stop]
            if step == 1 and start < self._length:
                return self._source[start : self._length - 1] + self._last
            return [*self][index]
        at = index + self._length if index < 0 else index
        if 0 <= at < self._length - 1:
            return self._source[at]
        if at == self._length - 1 >= 0:
            return self._last[0]
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenList) and [*self] == [*other]

    def __hash__(self) -> int:
        raise TypeError("a frozen list has no hash, like any list")
