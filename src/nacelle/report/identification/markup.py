"""HTML of a page: escaped text, elements, tables, and the page around them with its style.

Names of robots, joints and files are whatever a user wrote: `text` escapes them, and everything else here
takes markup that is already sound.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

_STYLE = """
:root { --ink: #24292f; --quiet: #5b6470; --line: #d9dde2; --pale: #f4f6f8; --measured: #b4bdc7;
  --predicted: #1f6fb2; --residual: #7a4fa3; --good: #2e7d4f; --fair: #9a6700; --poor: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere; }
p, ul { margin: .4rem 0; max-width: 46rem; }
li { margin: .15rem 0; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.verdict { border-left: .4rem solid var(--quiet); background: var(--pale); padding: .7rem 1rem;
  margin: 1rem 0; }
.verdict > p:first-child { font-weight: 650; font-size: 1.08rem; margin-top: 0; }
.verdict.good { border-color: var(--good); } .verdict.fair { border-color: var(--fair); }
.verdict.poor { border-color: var(--poor); }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--quiet); vertical-align: bottom; }
th.number, td.number { text-align: right; } td.number { white-space: nowrap; }
td.bar, th.bar { padding: .1rem .4rem; text-align: center; }
td.unit { white-space: nowrap; } td .more { display: block; color: var(--quiet); font-size: .92em; }
td.name { overflow-wrap: anywhere; min-width: 11rem; max-width: 26rem; }
td.remark { min-width: 7rem; }
tr.fair td.remark { color: var(--fair); } tr.poor td.remark { color: var(--poor); }
figure { margin: .4rem 0 1rem; }
svg { display: block; width: 100%; height: auto; min-width: 34rem; font-size: 11px; }
svg.small { min-width: 0; width: 15rem; margin: 0 auto; }
.pair { display: flex; flex-wrap: wrap; gap: 0 1.2rem; }
.pair svg { min-width: 0; width: 26rem; max-width: 100%; }
svg text { fill: var(--quiet); } svg .tiny { font-size: 10px; font-weight: 400; }
.grid { stroke: var(--line); stroke-width: 1; } .frame { fill: none; stroke: #aab2bb; stroke-width: 1; }
.zero { stroke: #6c7680; stroke-width: 1; }
.bound { stroke: var(--poor); stroke-width: 1; stroke-dasharray: 4 3; fill: none; }
.break { stroke: #6c7680; stroke-width: 1; stroke-dasharray: 2 3; } .unused { fill: #eceff2; }
.noise { fill: #cfe3d6; } .curve { fill: none; stroke-linejoin: round; stroke-linecap: round; }
.measured { stroke: var(--measured); stroke-width: 4; }
.predicted { stroke: var(--predicted); stroke-width: 1.2; }
.residual { stroke: var(--residual); stroke-width: 1; } .stem { stroke: var(--residual); stroke-width: 2; }
.column { fill: #c9b8dc; } .normal { stroke: var(--ink); stroke-width: 1.2; }
.interval { fill: var(--predicted); } .interval.fair { fill: #c98a00; } .interval.poor { fill: var(--poor); }
.estimate { fill: var(--ink); stroke: #fff; stroke-width: 1.2; }
.described { stroke: var(--ink); stroke-width: 1.6; }
nav { font-size: .9rem; } nav a { margin-right: 1rem; color: var(--predicted); }
@media print { body { font-size: 10pt; } main { max-width: none; padding: 0; } nav { display: none; }
  .wide { overflow: visible; } svg { min-width: 0; } .pair svg { width: 48%; }
  svg.small { width: 11rem; } figure, tr, .verdict { break-inside: avoid; }
  h2, h3 { break-after: avoid; } table { font-size: 8pt; } * { print-color-adjust: exact;
  -webkit-print-color-adjust: exact; } }
"""

# Signs that a text may have and a page should not: controls, and those that turn the direction of writing.
_CONTROL = dict.fromkeys(
    (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "�"
)


def text(words: object) -> str:
    """Words as markup that shows just them."""
    return html.escape(str(words).translate(_CONTROL), quote=True).encode("utf-8", "replace").decode()


def number(value: float, digits: int = 4) -> str:
    """A number in few digits, in words where it is none."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "unbounded" if value > 0.0 else "unbounded below"
    return f"{value + 0.0:.{digits}g}"


def percent(part: float) -> str:
    """A part of one in percent."""
    if not math.isfinite(part):
        return number(part)
    size = 100.0 * part
    return f"{number(size, 2 if abs(size) < 99.5 else 3)} %" if abs(size) < 1e4 else "over 10 000 %"


def element(tag: str, *content: str, **attributes: str) -> str:
    """An element with content that is markup; attributes are escaped, `kind` is its class."""
    listed = "".join(
        f' {"class" if name == "kind" else name.replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value
    )
    return f"<{tag}{listed}>{''.join(content)}</{tag}>"


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of plain words."""
    return element("p", text(words), kind=kind)


def bullets(lines: Iterable[str]) -> str:
    """A list of lines of plain words; nothing if there are none."""
    items = [element("li", text(line)) for line in lines]
    return element("ul", *items) if items else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], kinds: Iterable[str] = ()) -> str:
    """A table of cells that are markup.

    Args:
        columns: their heads, markup; one that ends with ">" holds numbers, and one may begin with a kind
            of cell in brackets: "[bar]".
        rows: cells.
        kinds: of each row; none if there are none.
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
    listed = list(rows)
    row_kinds = [*kinds] or [""] * len(listed)
    body = [
        element(
            "tr",
            *(element("td", cell, kind=kind) for cell, kind in zip(row, cell_kinds, strict=True)),
            kind=of,
        )
        for row, of in zip(listed, row_kinds, strict=True)
    ]
    whole = element("table", element("thead", element("tr", *heads)), element("tbody", *body))
    return element("div", whole, kind="wide")


def section(anchor: str, title: str, *content: str) -> str:
    """A part of the page that its contents can point to."""
    return element("section", element("h2", text(title)), *content, id=anchor)


def page(title: str, head: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page.

    Args:
        title: of the page, plain words.
        head: markup above the contents.
        sections: anchor, title and markup of each.
    """
    links = [element("a", text(name), href=f"#{anchor}") for anchor, name, _ in sections]
    parts = [section(anchor, name, content) for anchor, name, content in sections]
    body = element("main", element("h1", text(title)), head, element("nav", *links), *parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light">\n'
        # Nothing is loaded or run, whatever names hold.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"{element('title', text(title))}\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
