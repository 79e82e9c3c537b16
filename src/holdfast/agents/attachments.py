"""Pictures that a person mentions: they go with the message.

Rule: a person may name a picture anywhere on the machine; it is read here and not by the agent. One that the model
or its provider would refuse is not attached, and that is said.
"""

from pathlib import Path

from msgspec import Struct

from holdfast.messages import Image
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.special_files import check_picture, check_picture_bytes, media_type

MOST_PICTURES = 8
"""Pictures of one message."""


class Attachment(Struct, frozen=True):
    """A picture, or why there is none; `about` says which, for the person and the model."""

    about: str
    picture: Image | None = None


def attach_picture(path: Path, shown: str, *, takes_images: bool) -> Attachment | None:
    """The picture in a file; None if it is no picture."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            if not media_type(file.read(16)):
                return None
            if not takes_images:
                return Attachment(f"`{shown}` is a picture, and the model takes none")
            check_picture_bytes(path.stat().st_size, shown)
            file.seek(0)
            picture, _, about = check_picture(file.read(), shown)
    except OSError as error:
        return Attachment(f"`{shown}` cannot be read: {error.strerror}")
    except ToolError as error:
        return Attachment(error.message)
    return Attachment(f"attached: {about}", picture)
