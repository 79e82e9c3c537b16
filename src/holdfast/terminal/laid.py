"""A widget whose content depends on the width it is laid out in.

Rule: it is laid out once for a width and a state, however often it is measured and painted.
"""

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class Laid(Widget):
    """**Contract:** whoever changes what `content_at` gives calls `changed`."""

    _laid: tuple[int, Content] | None = None

    def content_at(self, width: int) -> Content:
        raise NotImplementedError

    def changed(self) -> None:
        before, self._laid = self._laid, None
        width = self.content_size.width
        # A new arrangement of the whole screen costs far more than a repaint, and is needed for a new height only.
        if before and width and _height(before[1], width) == _height(self._at(width), width):
            self.refresh()
        else:
            self.clear_cached_dimensions()
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return _height(self._at(width), width) if width else 0

    def render(self) -> RenderResult:
        return self._at(self.content_size.width)

    def _at(self, width: int) -> Content:
        if self._laid is None or self._laid[0] != width:
            self._laid = (width, self.content_at(width))
        return self._laid[1]


def _height(content: Content, width: int) -> int:
    return content.get_height({}, width)
