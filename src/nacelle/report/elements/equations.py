"""Equations of a leg: motion constraints, kinematic coordinates, forces, dynamic coordinates ([OAM] 3, 5)."""

from __future__ import annotations

from nacelle.model.joint import JointKind
from nacelle.report.elements.leg import LegPage
from nacelle.report.elements.partial import partial_velocities
from nacelle.report.elements.symbols import short_name, state_symbol, tex
from nacelle.report.formula import Cell, FormulaSection, FormulaTable, Maths, escaped


def leg_sections(pages: list[LegPage]) -> list[FormulaSection]:
    """Constraints, coordinates and forces of legs that are written with the same equations."""
    page = pages[0]
    numbers = ", ".join(f"{each.number} ({each.leg.leg.name})" for each in pages)
    title = f"Legs i = {numbers}" if len(pages) > 1 else f"Leg i = {numbers}"
    kinds = " ".join(element.letter for element in page.leg.elements)
    motion = f"Elements {kinds}, with the nacelle's part n; a leg's end is B, its input on the base P."
    partial = "Partial velocities of centres of mass S and angular velocities ([OAM] Table 1)."
    local = "What acts on each body ([OAM] Table 2); friction of a joint acts on both its bodies."
    along = "Forces along the motion basis ([OAM] (52), (53)); f, tau: the sums of what acts on a body."
    return [
        FormulaSection(f"{title}: motion constraints", motion, equations=tuple(constraints(page))),
        FormulaSection(f"{title}: kinematic coordinates", partial, (coordinate_equations(page),)),
        FormulaSection(f"{title}: forces and torques", local, (_forces(pages),)),
        FormulaSection(f"{title}: dynamic coordinates", along, equations=tuple(dynamic_equations(page))),
    ]


def constraints(page: LegPage) -> list[str]:
    """From the motion of the leg's end B to the rates of its elements."""
    leg, label = page.leg, page.lines[page.first].label if page.leg.form != "plane" else "1"
    equations: list[str] = []
    match leg.form:
        case "bars" | "parallelogram":
            equations += _bar_constraints(page)
        case "strut" | "shaft":
            lines = [
                "<B> = <P> + <d#> <x#>",
                r"<d'#> = <x#>^{T} <B'>",
                r"<x'#> = \frac{<B'> - <d'#> <x#>}{<d#>}",
            ]
            if page.tip_off:
                lines = [
                    r"<B> = <P> + <r>, \quad <r> = <d#> <x#> + <c#>",
                    r"<d'#> = \frac{<r>^{T} <B'>}{<r>^{T} <x#>}",
                    r"<w#> \times <r> = <B'> - <d'#> <x#>, \quad <x'#> = <w#> \times <x#>",
                ]
            equations += [tex(line, label) for line in lines]
            equations += _spin(page, page.first, tex("<wn>") if leg.form == "shaft" else "")
            if leg.form == "shaft":
                equations.append(
                    tex(r"<t'1> = \frac{<n1>^{T} <w2>}{<n1>^{T} <x1>}, \quad <n1> = <a1> \times <b1>")
                )
        case "plane":
            equations += [
                tex(r"<n>^{T} (<P> + <d1> <x1> - <B>) = 0"),
                tex(r"<d'1> = \frac{<n>^{T} <B'> - <n'>^{T} (<P> + <d1> <x1> - <B>)}{<n>^{T} <x1>}"),
            ]
    for k, part in enumerate(leg.parts, start=len(leg.elements)):
        if "x" in part.element.basis:
            name = escaped(page.robot.bodies[part.element.body].name)
            turn = r"\boldsymbol{\omega}_{\text{" + name + "}}"
            line = tex(r"<x'#> = @ \times <x#>, \quad <t'#> = @^{T} <x#>", page.lines[k].label)
            equations.append(line.replace("@", turn))
    return equations


def _bar_constraints(page: LegPage) -> list[str]:
    leg = page.leg
    several = len(leg.rods) > 1 and leg.fold is None
    end = "2" if several else ""
    if page.slides:
        equations = [
            tex("<B#> = <P> + <d1> <x1> + <l2> <x2>", end),
            tex(r"<d'1> = \frac{<x2>^{T} <B'#>}{<x2>^{T} <x1>}", end),
        ]
    else:
        equations = [
            tex("<B#> = <P> + <l1> <x1> + <l2> <x2>", end),
            tex(r"<y1> = <z1> \times <x1>"),
            tex(r"<q'> = \frac{<x2>^{T} <B'#>}{<l1> <x2>^{T} <y1>}, \quad <x'1> = <y1> <q'>", end),
        ]
    for k in range(1, len(leg.elements)):
        label = page.lines[k].label
        arm = "<d'1> <x1>" if page.slides else "<l1> <x'1>"
        if several and k > 1 and not page.slides:
            # Its input lies at c from the end of the bar.
            arm += r" - <w1> \times <c#>"
        ball = "<B'#>" if several else "<B'>"
        equations.append(tex(rf"<x'#> = \frac{{{ball} - {arm}}}{{<l#>}}", label))
        if "theta" in leg.elements[k].basis:
            inner = leg.rods[k - 1].hold.letter == "U"
            before = "" if page.slides and inner else tex("<w1>" if inner else "<wn>")
            equations += _spin(page, k, before)
    return equations


def _spin(page: LegPage, k: int, before: str) -> list[str]:
    """The spin of an element about its direction; `before` is the rotation of the joint's other body."""
    letter = page.leg.rods[max(0, k - page.first)].hold.letter
    label = page.lines[k].label
    if not before and letter != "U":
        where = r" \quad \text{(the hinge is perpendicular to the element)}" if letter == "R" else ""
        return [tex("<t'#> = 0", label) + where]
    turn = (f"{before} - " if before else "-") + tex(r"<x#> \times <x'#>", label)
    line = tex(r"<t'#> = \frac{<n#>^{T} (@)}{<n#>^{T} <x#>}, \quad <n#> = <a#> \times <b#>", label)
    return [line.replace("@", turn)]


def coordinate_equations(page: LegPage) -> FormulaTable:
    """Kinematic coordinates of all bodies with mass."""
    basis = page.basis()
    rows: list[tuple[Cell, ...]] = []
    for member in page.members:
        entries = partial_velocities(page, member)
        for part, symbol in enumerate(("<S'#>", "<w#>")):
            cells = [entries.get((k, name), (None, None))[part] for k, name, _ in basis]
            shown = (Maths(entry.K if entry else "0") for entry in cells)
            rows.append((Maths(tex(symbol, member.mark)), *shown))
    return FormulaTable(("", *(Maths(symbol) for _, _, symbol in basis)), tuple(rows))


def _forces(pages: list[LegPage]) -> FormulaTable:
    """Local forces and torques of all bodies with mass."""
    rows: list[tuple[Cell, ...]] = []
    for page in pages:
        leg = str(page.number)
        for member in page.members:
            drive, friction, reaction, rotor = _joint_forces(page, member.body)
            weight = tex(r"<m#> \mathbf{g}", member.mark, leg)
            inertia = tex(r"<f#>^{*}, <T#>^{*}", member.mark, leg)
            cells = (drive, weight, friction, reaction, rotor, inertia)
            rows.append((page.robot.bodies[member.body].name, *(Maths(text) for text in cells)))
    header = ("body", "actuator", "gravity", "friction", "reaction of friction", "rotor", "inertia")
    return FormulaTable(header, tuple(rows))


def _joint_forces(page: LegPage, body: int) -> tuple[str, str, str, str]:
    """What the joints of a body do to it: actuators, friction as driven and as driving body, rotors."""
    active = {actuator.joint for actuator in page.robot.actuators}
    acting: tuple[list[str], ...] = ([], [], [], [])
    nacelle = page.robot.nacelle
    own = {*page.leg.leg.joints, *page.leg.leg.closures, *nacelle.joints, *nacelle.closures}
    for j in sorted(own):
        joint = page.robot.joints[j]
        if body not in (joint.predecessor, joint.successor):
            continue
        behind = joint.successor == body
        letter = "f" if joint.kind is JointKind.PRISMATIC else r"\tau"
        place = r"_{\text{" + short_name(joint.name) + "}}"
        if j in active:
            acting[0].append(("" if behind else "-") + letter + place)
            if joint.rotor_inertia:
                acting[3].append(("-" if behind else "") + letter + "^{*}" + place)
        if any(joint.friction):
            bar = r"\bar{" + letter + "}" + place
            acting[1 if behind else 2].append(f"-{bar}" if behind else bar)
    drive, friction, reaction, rotor = (", ".join(words) or "0" for words in acting)
    return drive, friction, reaction, rotor


def dynamic_equations(page: LegPage) -> list[str]:
    """Inertia of each body, and the dynamic coordinates."""
    equations = [
        r"\mathbf{f}^{*} = -m \ddot{S}, \quad \boldsymbol{\tau}^{*} = -\mathbf{I} "
        r"\dot{\boldsymbol{\omega}} - \boldsymbol{\omega} \times \mathbf{I} \boldsymbol{\omega}"
    ]
    listed = [(member, partial_velocities(page, member)) for member in page.members]
    for k, name, symbol in page.basis():
        terms = []
        for member, entries in listed:
            pair = entries.get((k, name), (None, None))
            for entry, force in zip(pair, ("<f#>", "<T#>"), strict=True):
                if entry is not None:
                    terms.append(f"{entry.force} {tex(force, member.mark)}".strip())
        equations.append(f"F_{{{state_symbol(symbol)}}} = {' + '.join(terms) or '0'}")
    return equations
