"""Consoles on which text of others is text: no control character of a name reaches the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from vmmetrics.utils.display.markup import clean

FILE_WIDTH = 160
"""Columns where output goes to a file or pipe, which has no width of its own."""


class PlainConsole(Console):
    r"""A console that takes every str for one line of plain text, and escapes what is not printable in it.

    There is no markup, no emoji code and no highlighting. What has several lines is printed as several objects with
    ``sep="\n"``, or as a rich Text: it keeps its lines, and its other control characters are escaped as well.

    Args:
        options: As rich's Console.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        if not self.is_terminal:
            self.width = FILE_WIDTH

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a str to a Text of one line."""
        return super().render_str(clean(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of an object; only rich's own control codes stay as they are."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text="\n".join(map(clean, segment.text.split("\n"))))
