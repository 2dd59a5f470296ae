"""Small pieces of HTML for the panel; every name from a description is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from nacelle.view.colours import GOOD_COLOUR, NEAR_COLOUR, OUT_COLOUR
from nacelle.view.loads import Loads
from nacelle.view.session import Standing, Verdict
from nacelle.view.slices import Slice

# Text on these colours: dark on orange, white on the others.
_COLOURS = {
    Standing.GOOD: (GOOD_COLOUR, "#fff"),
    Standing.NEAR: (NEAR_COLOUR, "#1a1a1a"),
    Standing.OUT: (OUT_COLOUR, "#fff"),
}
_BOX = "margin:.3em .6em;padding:.45em .7em;border-radius:.4em;font-size:.8em;line-height:1.35;"
_PLAIN = "margin:.3em .8em;font-size:.78em;line-height:1.4;"


def verdict_html(verdict: Verdict) -> str:
    """What is said about a pose, on its colour."""
    back, ink = _COLOURS[verdict.standing]
    return (
        f'<div data-standing="{verdict.standing.value}" style="{_BOX}background:{back};color:{ink}">'
        f"<b>{verdict.standing.value}</b>{_rest(verdict)}</div>"
    )


def _rest(verdict: Verdict) -> str:
    words = verdict.words.removeprefix(verdict.standing.value).lstrip(":; ")
    return f"<br>{escape(words)}" if words else ""


def problems_html(problems: Sequence[str]) -> str:
    """Everything that is wrong with a description on disk, a line each; nothing if it is right."""
    if not problems:
        return ""
    lines = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return (
        f'<div data-problems="{len(problems)}" style="{_BOX}background:{OUT_COLOUR};color:#fff;'
        f'max-height:14em;overflow:auto"><b>{count} on disk; the last good robot is shown</b>'
        f'<ul style="margin:.3em 0 0;padding-left:1.2em;overflow-wrap:anywhere">{lines}</ul></div>'
    )


def sentence_html(text: str) -> str:
    """A sentence; nothing if it is empty."""
    return f'<div style="{_PLAIN}">{escape(text)}</div>' if text else ""


def dependent_html(values: Mapping[str, tuple[float, str]]) -> str:
    """Coordinates that follow from the others; nothing if there are none."""
    if not values:
        return ""
    shown = ", ".join(f"{escape(name)} {value:.3g} {unit}" for name, (value, unit) in values.items())
    return f'<div style="{_PLAIN}">follows: {shown}</div>'


def _square(colour: str) -> str:
    return (
        f'<span style="display:inline-block;width:.8em;height:.8em;border-radius:.15em;background:{colour};'
        'margin-right:.35em;vertical-align:-.05em"></span>'
    )


def loads_html(given: Loads, colours: tuple[str, str]) -> str:
    """The numbers of loads, forces and moments with units, and the colours of their arrows."""
    if not given.rows:
        return sentence_html(f"{given.kind}: {given.note or 'none'}")
    units = {}
    if any(row.force is not None for row in given.rows):
        units["force"] = f"{_square(colours[0])}force (N)"
    if any(row.moment is not None for row in given.rows):
        units["moment"] = f"{_square(colours[1])}moment (N m)"
    head = "".join(f'<th style="text-align:right;font-weight:600">{unit}</th>' for unit in units.values())
    lines = []
    for row in given.rows:
        cells = "".join(f'<td style="text-align:right">{_number(getattr(row, key))}</td>' for key in units)
        lines.append(f'<tr><td style="overflow-wrap:anywhere">{escape(row.name)}</td>{cells}</tr>')
    return (
        f'<div style="{_PLAIN}max-height:16em;overflow:auto">'
        '<table style="width:100%;border-collapse:collapse">'
        f'<tr><th style="text-align:left;font-weight:600">{escape(given.kind)}</th>{head}</tr>'
        f"{''.join(lines)}</table></div>{sentence_html(given.note)}"
    )


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return "0" if abs(value) < 1e-9 else f"{value:.4g}"


def slice_html(shown: Slice) -> str:
    """The legend of a slice of the workspace."""
    lines = "".join(f"<div>{_square(patch.colour)}{escape(patch.label)}</div>" for patch in shown.patches)
    words = shown.words.replace("m^2", "m²")
    head = "<div>inverse condition number (1 isotropic, 0 singular):</div>" if shown.patches else ""
    return f'<div style="{_PLAIN}">{head}{lines}<div>{escape(words)}</div></div>'
