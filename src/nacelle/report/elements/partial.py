"""Partial velocities of the bodies of a leg ([OAM] Table 1): K in V = K rate, and K^T f."""

from __future__ import annotations

from typing import NamedTuple

from nacelle.report.elements.leg import ElementBody, LegPage
from nacelle.report.elements.symbols import tex


class Partial(NamedTuple):
    """A partial velocity K as it is in the table, and what it makes of a force in K^T f."""

    K: str
    force: str


Partials = dict[tuple[int, str], tuple[Partial | None, Partial | None]]


def partial_velocities(page: LegPage, member: ElementBody) -> Partials:
    """Partial velocities of a body: of its centre of mass and of its rotation, by entry of the basis."""
    partials: Partials = {}
    names = [element.basis for element in page.leg.all_elements]
    for j in _upstream(page, member):
        label = page.lines[j].label
        if "x" in names[j]:
            length = tex("<d#>" if "d" in names[j] else "<l#>", label)
            partials[j, "x"] = Partial(length + r" \mathbf{I}", length), None
            c = _beside(page, member, j)
            if c:
                hat, x = tex(r"[<x#>]_{\times}", label), tex("<x#>", label)
                K, force = rf"{length} \mathbf{{I}} - {c} {hat}", rf"({length} + {hat}^{{T}} {c})"
                if j >= len(page.leg.elements):
                    K, force = f"-{c} {hat}", rf"{hat}^{{T}} {c}"
                partials[j, "x"] = Partial(K, force), None
                if "theta" in names[j]:
                    partials[j, "theta"] = Partial(f"-{c} {x}", rf"{x}^{{T}} {c}"), None
        if "d" in names[j]:
            partials[j, "d"] = Partial(tex("<x#>", label), tex("<x#>^{T}", label)), None
    if page.askew(member):
        partials |= _hub_entries(page, member, partials)
    if member.role in ("cross", "end"):
        return partials | _cross_entries(page, member, partials)
    k, label = member.line, page.lines[member.line].label
    hat, x = tex(r"[<x#>]_{\times}", label), tex("<x#>", label)
    s, e = tex("<s#>", member.mark), tex(r"[<e#>]_{\times}", member.mark)
    if member.role == "moving":
        s = "(" + tex("<d#>", label) + f" + {s})"
    off = page.off_line(member)
    for name in names[k]:
        match name:
            case "x":
                lin = Partial(s + r" \mathbf{I}", s)
                if off:
                    lin = Partial(rf"{lin.K} - {e} {hat}", rf"({s} + {hat}^{{T}} {e})")
                partials[k, name] = _sum(lin, _linear(partials, (k, name))), Partial(hat, hat + "^{T}")
            case "theta":
                turn = Partial(x, x + "^{T}")
                spun = Partial(f"- {e} {x}", rf"{x}^{{T}} {e}") if off else None
                partials[k, name] = _sum(spun, _linear(partials, (k, name))), turn
            case "d":
                if member.role == "moving" or (k == 0 and page.slides):
                    partials[k, name] = Partial(x, x + "^{T}"), None
            case "A":
                partials[k, name] = Partial(r"\mathbf{I}", ""), None
    return partials


def _cross_entries(page: LegPage, member: ElementBody, upstream: Partials) -> Partials:
    """Of a body between two axes a and b, that turns with its element about a alone.

    Its angular velocity is w_1 + a a^T (w - w_1), w_1 that of the body before; a is perpendicular to b.
    """
    k, label = member.line, page.lines[member.line].label
    e = tex(r"[<e#>]_{\times}", member.mark)
    partials: Partials = {}
    for place, turn in _hub_turns(page, k).items():
        lin = _linear(upstream, place)
        if member.role == "end" and place == (k, "x"):
            lin = _sum(Partial(tex(r"<l#> \mathbf{I}", label), tex("<l#>", label)), lin)
        if page.off_line(member):
            lin = _sum(lin, Partial(f"- {e} {turn.K}", f"{turn.force} {e}"))
        partials[place] = lin, turn
    return partials


def _hub_turns(page: LegPage, k: int) -> dict[tuple[int, str], Partial]:
    """Partial angular velocities of the body between the two axes at the input of an element."""
    label = page.lines[k].label
    about_a = tex("<a#> <a#>^{T}", label)
    across_a = r"(\mathbf{I} - " + about_a + ")"
    listed = {
        (k, "x"): (about_a, tex(r"[<x#>]_{\times}", label)),
        (k, "theta"): (about_a, tex("<x#>", label)),
    }
    if page.leg.driver is not None and page.leg.elements[0].basis == ("x",):
        listed[0, "x"] = (across_a, tex(r"[<x1>]_{\times}"))
    if page.leg.driver is not None and page.leg.elements[0].basis == ("theta",):
        listed[0, "theta"] = (across_a, tex("<x1>"))
    return {place: Partial(f"{one} {own}", f"{own}^{{T}} {one}") for place, (one, own) in listed.items()}


def _hub_entries(page: LegPage, member: ElementBody, upstream: Partials) -> Partials:
    """What the hub's rotation adds to a body that hangs on it at c from its centre."""
    c = tex(r"[<c#>]_{\times}", page.lines[member.line].label)
    return {
        place: (
            _sum(_linear(upstream, place), Partial(f"- {c} {turn.K}", f"{turn.force} {c}")),
            None,
        )
        for place, turn in _hub_turns(page, page.first).items()
    }


def _upstream(page: LegPage, member: ElementBody) -> list[int]:
    """Elements whose ends carry a body."""
    leg = page.leg
    if member.role != "part":
        return [0] if member.line > 0 and leg.form not in ("strut", "shaft") else []
    part = leg.parts[member.line - len(leg.elements)]
    if "A" in part.element.basis:
        return []
    chain = [0] if leg.form == "strut" else [1] if leg.form == "shaft" else [0, 1]
    while part.neighbour is not None:
        k = next(j for j, other in enumerate(leg.parts) if other.element.body == part.neighbour)
        chain.append(len(leg.elements) + k)
        part = leg.parts[k]
    return chain


def _beside(page: LegPage, member: ElementBody, j: int) -> str:
    """The skew matrix of c if a body's input lies at c from the end of an element's line; else empty.

    On a part of the nacelle c counts from its input.
    """
    if j >= len(page.leg.elements):
        return tex(r"[<c#>]_{\times}", page.lines[member.line].label)
    if j == page.first and page.tip_off:
        return tex(r"[<c#>]_{\times}", page.lines[j].label)
    several = len(page.leg.rods) > 1 and member.role in ("body", "end") and not page.askew(member)
    aside = several and j == 0 and member.line > (0 if page.leg.fold is not None else 1)
    return tex(r"[<c#>]_{\times}", page.lines[member.line].label) if aside else ""


def _linear(partials: Partials, place: tuple[int, str]) -> Partial | None:
    """The partial velocity of the centre of mass at an entry of the basis; None if it is zero."""
    return partials.get(place, (None, None))[0]


def _sum(first: Partial | None, second: Partial | None) -> Partial | None:
    """The sum of two partial velocities; the second one starts with its sign, or is the first one."""
    if first is None or second is None:
        return first or second
    return Partial(f"{first.K} {second.K}", f"({first.force} + {second.force})")
