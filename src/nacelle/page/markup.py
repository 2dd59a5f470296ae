"""HTML of a page: escaped text, elements, tables, and the page around them with its style.

Names of robots, joints and files are whatever a user wrote: `text` escapes them, and everything else here
takes markup that is already sound.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from nacelle.errors import NacelleError
from nacelle.files import write_atomically

# Signs that a text may have and a page should not: controls, and those that turn the direction of writing.
_CONTROL = dict.fromkeys(
    (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "�"
)


def plain_text(value: object) -> str:
    """Words without the signs that a page should not have."""
    return str(value).translate(_CONTROL).encode("utf-8", "replace").decode()


def escape_text(value: object) -> str:
    """Words as markup that shows just them."""
    return html.escape(plain_text(value), quote=True)


def format_number(value: float, digits: int = 4) -> str:
    """A number in few digits; "not known" or "unbounded" if it is not finite."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "unbounded" if value > 0.0 else "unbounded below"
    return f"{value + 0.0:.{digits}g}"


def format_percent(ratio: float) -> str:
    """A part of one in percent."""
    if not math.isfinite(ratio):
        return format_number(ratio)
    size = 100.0 * ratio
    return f"{format_number(size, 2 if abs(size) < 99.5 else 3)} %" if abs(size) < 1e4 else "over 10 000 %"


def element(tag: str, *content: str, **attributes: str) -> str:
    """An element with content that is markup; attributes are escaped, `kind` is its class."""
    attribute_text = "".join(
        f' {"class" if name == "kind" else name.replace("_", "-")}="{escape_text(value)}"'
        for name, value in attributes.items()
        if value
    )
    return f"<{tag}{attribute_text}>{''.join(content)}</{tag}>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain words."""
    return element("p", escape_text(text), kind=kind)


def bullets(lines: Iterable[str]) -> str:
    """A list of lines of plain words; empty without lines."""
    items = [element("li", escape_text(line)) for line in lines]
    return element("ul", *items) if items else ""


def details(title: str, *content: str) -> str:
    """Content that opens when its title is clicked."""
    return element("details", element("summary", escape_text(title)), *content)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], kinds: Iterable[str] = ()) -> str:
    """A table of cells that are markup.

    Args:
        columns: their heads, markup; one that ends with ">" holds numbers, and one may begin with a kind
            of cell in brackets: "[bar]".
        rows: cells.
        kinds: of each row; may be left out.
    """
    heads, cell_kinds = [], []
    for column in columns:
        kind, bracket, label = (
            column.removeprefix("[").partition("]") if column[:1] == "[" else ("", "", column)
        )
        kind = kind if bracket else "number" if label.endswith(">") and "<" not in label else ""
        cell_kinds.append(kind)
        heads.append(
            element("th", label.removesuffix(">") if kind == "number" else label, kind=kind, scope="col")
        )
    all_rows = list(rows)
    row_kinds = [*kinds] or [""] * len(all_rows)
    body = [
        element(
            "tr",
            *(element("td", cell, kind=kind) for cell, kind in zip(row, cell_kinds, strict=True)),
            kind=of,
        )
        for row, of in zip(all_rows, row_kinds, strict=True)
    ]
    whole = element("table", element("thead", element("tr", *heads)), element("tbody", *body))
    return element("div", whole, kind="wide")


def section(anchor: str, title: str, *content: str) -> str:
    """A part of the page that its contents can point to."""
    return element("section", element("h2", escape_text(title)), *content, id=anchor)


def page(title: str, head: str, sections: Sequence[tuple[str, str, str]], scripts: Sequence[str] = ()) -> str:
    """A whole page with a list of its sections.

    Args:
        title: of the page, plain words.
        head: markup above the contents.
        sections: anchor, title and markup of each.
        scripts: as in `document`.
    """
    links = [element("a", escape_text(name), href=f"#{anchor}") for anchor, name, _ in sections]
    parts = [section(anchor, name, content) for anchor, name, content in sections]
    return document(title, head, element("nav", *links), *parts, scripts=scripts)


def document(title: str, *content: str, scripts: Sequence[str] = ()) -> str:
    """A whole page in one file: it requests nothing, and runs nothing but the scripts that are named.

    Args:
        title: of the page, plain words; it is its headline too.
        content: markup.
        scripts: names of bundled scripts (`SCRIPTS`) that the content needs, such as "scene3d".
    """
    code = [script(name) for name in scripts]
    # Only these scripts run, whatever names in the page hold; the policy lists their hashes.
    allowed = " ".join(f"'sha256-{script_hash(part)}'" for part in code) or "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"
    run = "".join(f"<script>{part}</script>\n" for part in code)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"{element('title', escape_text(title))}\n<style>{style()}</style>\n</head>\n"
        f"<body>\n{element('main', element('h1', escape_text(title)), *content)}\n{run}</body>\n</html>\n"
    )


def embedded_data(data: object, kind: str) -> str:
    """Data for a script, as JSON in an element of a class that no browser runs; names in it end no element.

    Raises:
        ValueError: if a number is not finite.
    """
    packed = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        packed = packed.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" class="{escape_text(kind)}">{packed}</script>'


def write_page(path: str | os.PathLike[str], text: str, *, overwrite: bool | None = None) -> Path:
    """Write a page to a file, whole or not at all.

    Args:
        path: the file.
        text: the page.
        overwrite: whether a file that exists is replaced; None where the caller has no such option.

    Raises:
        NacelleError: if the file exists and is not to be replaced, or cannot be written.
    """
    target = Path(path)
    try:
        write_atomically(target, text, new=not overwrite)
    except FileExistsError:
        hint = "" if overwrite is None else " (overwrite=True replaces it)"
        raise NacelleError(f"{target} exists already; it is left as it is{hint}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NacelleError(f"cannot write {str(target)[:80]!r}: {reason}") from None
    return target


# ---- what pages bring along: the style and scripts

# Files of each script, in the order in which they run.
SCRIPTS = {"scene3d": ("three.min.js", "scene3d.js"), "study": ("study.js",)}


@cache
def style() -> str:
    """The style sheet of all pages."""
    return _read_resource("style.css")


@cache
def script(name: str) -> str:
    """A bundled script by name: all its files, one after the other.

    Raises:
        KeyError: if there is no such script.
    """
    return "\n".join(_read_resource(f"scripts/{file}") for file in SCRIPTS[name])


def script_hash(code: str) -> str:
    """SHA-256 of a script in base64, as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _read_resource(name: str) -> str:
    return files("nacelle.page").joinpath(name).read_text(encoding="utf-8")
