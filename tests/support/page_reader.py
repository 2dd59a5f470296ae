"""Pages as a browser reads them: tags that are closed in order, their attributes, and their words."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}
INLINE = {"a", "abbr", "b", "code", "em", "i", "span", "strong", "sub", "sup", "td", "th", "tspan", "u"}


class PageReader(HTMLParser):
    """Reads a page and requires that every tag is closed.

    Attributes:
        tags: all elements, in order.
        attributes: their attributes.
        words: texts between tags, those of styles and scripts left out.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._lines: list[str] = []
        self._begins, self._apart = True, False
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._begins |= tag not in INLINE
        self._apart |= tag in ("a", "td", "th")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._begins |= tag not in INLINE

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] in ("style", "script"):
            return
        self.words.append(data)
        if data.strip():
            if self._begins:
                self._lines.append("")
            # Cells of a row are in one line.
            self._lines[-1] += f" | {data}" if self._apart and not self._begins else data
            self._begins = self._apart = False

    @property
    def text(self) -> str:
        """All words, a blank between them."""
        return " ".join(" ".join(self.words).split())

    @property
    def lines(self) -> list[str]:
        """What a reader sees, a line for each paragraph, row of a table and label of a drawing."""
        return [" ".join(line.split()) for line in self._lines]
