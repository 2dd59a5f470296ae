"""Tables of Khalil and Kleinfinger, typed as the papers print them.

    j   a(j)  μ  σ  γ    b  α     d    θ    r
    1i  0     1  0  γ1i  0  -π/2  d1i  θ1i  0

Frame j is placed in frame a(j) by Rz(γ) Tz(b) Rx(α) Tx(d) Rz(θ) Tz(r); joint j turns about z_j
(σ = 0: θ is the variable), slides along z_j (σ = 1: r is the variable) or is fixed (σ = 2). μ = 1 marks
an active joint. [KI2007] Table 1, [BK2013] Table I.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from nacelle.model.source.node import KeyPath, Mark, Node, Origin
from nacelle.model.source.reference import BARE_REFERENCE, Scope, Substitution
from nacelle.model.units import NUMBER, parse_number

COLUMNS = ("j", "a", "mu", "sigma", "gamma", "b", "alpha", "d", "theta", "r")
_NUMBERS = COLUMNS[4:]
_ALL_COLUMNS = "columns " + " ".join(COLUMNS)
_DEFAULTS = {"mu": "0", "gamma": "0", "b": "0"}
_ALIASES = {"μ": "mu", "µ": "mu", "σ": "sigma", "γ": "gamma", "α": "alpha", "θ": "theta"}
_JOINT_TYPES = {"0": "revolute", "1": "prismatic", "2": "fixed"}
_NAMED_VALUE = re.compile(r"(?P<name>[^\W\d]\w*)\s*=\s*(?P<value>.+)")
_VARIABLE = re.compile(rf"\$?(?P<name>[^\W\d]\w*)\s*(?P<offset>[-+]\s*(?:{NUMBER}|pi|π).*)?")
_MAX_ROWS = 64
_MAX_CELL = 80


def column_name(text: str) -> str:
    """Give a column's plain name: "μ_ji" is "mu", "a(j)" is "a", "θj" is "theta"."""
    if text.startswith(("a(", "ant")):
        return "a"
    text = text.removesuffix("(j)")
    if text in ("ji", "j_i", "j_{i}"):
        return "j"
    stem = text.split("_", maxsplit=1)[0]
    for candidate in (text, stem, stem.removesuffix("i").removesuffix("j"), stem.lower()):
        name = _ALIASES.get(candidate, candidate)
        if name in COLUMNS:
            return name
    return text


def expand_table(
    leg: Node, scope: Scope, substitution: Substitution, path: KeyPath, on_platform: Collection[str]
) -> Node:
    """Turn the table of a leg into joints and bodies, keeping the place of every cell.

    What the leg says itself under `joints` and `bodies` is added to what the table says; a row with the name
    of one of the bodies `on_platform` ends there.
    """
    assert isinstance(leg.value, dict)
    items = dict(leg.value)
    table = items.pop("table")
    faults = len(substitution.problems)
    reader = _TableReader(scope, substitution, (*path, "table"))
    rows = reader.rows(table)
    own_joints = items.get("joints", Node({}, table.mark))
    own_bodies = items.get("bodies", Node({}, table.mark))
    if not isinstance(own_joints.value, dict) or not isinstance(own_bodies.value, dict):
        return Node(items, leg.mark, leg.keys)
    joints: dict[str, Node] = {}
    bodies: dict[str, Node] = dict(own_bodies.value)
    closures: dict[str, Node] = {}
    for row in rows:
        name = str(row["j"].value)
        joint = reader.joint(row)
        if name in joints:
            # A second row for the same frame says that it is also reached from there: a closure.
            closures[f"{name}-{row['a'].value}"] = joint
            continue
        extra = own_joints.value.get(name)
        if extra is not None and isinstance(extra.value, dict):
            assert isinstance(joint.value, dict)
            joint = Node({**joint.value, **extra.value}, extra.mark, extra.keys)
        joints[name] = joint
        assert isinstance(joint.value, dict)
        if name not in on_platform and str(joint.value["child"].value) == name:
            bodies.setdefault(name, Node({}, joint.mark))
    faulty = len(substitution.problems) > faults
    for name, joint in own_joints.value.items():
        # What adds to a row that could not be read would only raise more errors.
        if not (faulty and isinstance(joint.value, dict) and "type" not in joint.value):
            joints.setdefault(name, joint)
    own_closures = items.get("closures", Node({}, table.mark))
    if closures and isinstance(own_closures.value, dict):
        items["closures"] = Node({**closures, **own_closures.value}, own_closures.mark, own_closures.keys)
    items["joints"] = Node(joints, own_joints.mark, own_joints.keys)
    items["bodies"] = Node(bodies, own_bodies.mark, own_bodies.keys)
    return Node(items, leg.mark, {**leg.keys, "joints": leg.keys.get("joints", table.mark)})


class _TableReader(NamedTuple):
    """Reads one table.

    Attributes:
        scope: constants and parameters, which cells may name.
        substitution: takes what is wrong, and scales what is named.
        path: of the table.
    """

    scope: Scope
    substitution: Substitution
    path: KeyPath

    def report(self, message: str, hint: str = "", mark: Mark | None = None) -> None:
        """Note that something is wrong in the table, at a mark if there is one."""
        self.substitution.report(self.path, message, hint, mark)

    def rows(self, table: Node) -> list[dict[str, Node]]:
        """Read the rows of a table: a block of text, a list of lists, or a list of mappings."""
        if isinstance(table.value, str):
            lines = _text_lines(table)
        elif isinstance(table.value, list) and table.value:
            lines = []
            for entry in table.value:
                if isinstance(entry.value, dict):
                    header = [Node(key, entry.keys.get(key, entry.mark)) for key in entry.value]
                    if not lines:
                        lines.append(header)
                    columns = [column_name(str(node.value)) for node in lines[0]]
                    by_name = {column_name(key): node for key, node in entry.value.items()}
                    lines.append([by_name.get(c, Node("0", entry.mark)) for c in columns])
                elif isinstance(entry.value, list):
                    lines.append(entry.value)
                else:
                    self.report("a row of the table is a list or a mapping", mark=entry.mark)
                    return []
            if lines and lines[0] and column_name(str(lines[0][0].value)) != "j":
                lines.insert(0, [Node(name, table.mark) for name in COLUMNS])
        else:
            self.report("the table is a block of text or a list of rows", _ALL_COLUMNS)
            return []
        if len(lines) > _MAX_ROWS:
            self.report(f"the table has more than {_MAX_ROWS} rows")
            return []
        return self.check_rows(lines) if lines else []

    def check_rows(self, lines: list[list[Node]]) -> list[dict[str, Node]]:
        """The rows below a header, each by the names of its columns."""
        mark = lines[0][0].mark if lines[0] else None
        if not all(_is_cell(cell) for cell in lines[0]):
            self.report("the columns are names", _ALL_COLUMNS, mark)
            return []
        header = [column_name(str(cell.value)) for cell in lines[0]]
        for name in dict.fromkeys(header):
            if name not in COLUMNS:
                self.report(f"unknown column {name!r}", _ALL_COLUMNS, mark)
        missing = [c for c in COLUMNS if c not in header and c not in _DEFAULTS]
        if missing or len(set(header)) != len(header):
            self.report(f"missing or repeated columns: {' '.join(missing)}", _ALL_COLUMNS, mark)
            return []
        rows = []
        for cells in lines[1:]:
            if len(cells) != len(header):
                where = cells[0].mark if cells else mark
                self.report(f"{len(cells)} cells under {len(header)} columns", mark=where)
            elif not all(_is_cell(cell) for cell in cells):
                self.report("a cell is a number or a short text", mark=cells[0].mark)
            else:
                defaults = {name: Node(default, cells[0].mark) for name, default in _DEFAULTS.items()}
                rows.append({**defaults, **dict(zip(header, cells, strict=True))})
        return rows

    def joint(self, row: dict[str, Node]) -> Node:
        """Make the joint of one row."""
        mark = row["j"].mark
        name, parent, sigma, mu = (str(row[column].value) for column in ("j", "a", "sigma", "mu"))
        if sigma not in _JOINT_TYPES:
            self.report(f"σ of joint {name} is {sigma!r}", "0 revolute, 1 prismatic, 2 fixed", mark)
        if mu not in ("0", "1"):
            self.report(f"μ of joint {name} is {row['mu'].value!r}", "1 active, 0 passive", mark)
        variable = {"0": "theta", "1": "r"}.get(sigma)
        cells: dict[str, Node] = {}
        for column in _NUMBERS if sigma in _JOINT_TYPES else ():
            read = self.variable if column == variable else self.constant
            cells[column] = read(row[column], name, column)
        items = {
            "type": Node(_JOINT_TYPES.get(sigma, "fixed"), mark),
            "parent": Node("base" if parent == "0" else parent, row["a"].mark),
            "child": Node(name, mark),
            "at": Node({"khalil_kleinfinger": Node(cells, mark)}, mark),
        }
        if mu == "1":
            items["active"] = Node(True, row["mu"].mark)
        return Node(items, mark)

    def variable(self, cell: Node, joint: str, column: str) -> Node:
        """Read the cell of the joint variable: a name, perhaps with an offset such as "q1 - pi/2"."""
        if isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
            return cell
        text = str(cell.value)
        if parse_number(text) is not None:
            return cell
        match = _VARIABLE.fullmatch(text)
        if match is None:
            message = f"the variable {column} of joint {joint} is {text[:40]!r}"
            self.report(message, "a name such as q1, or q1-pi/2", cell.mark)
            return Node(0, cell.mark)
        return replace(
            cell, value=(match["offset"] or "0").replace(" ", "", 1), origin_if_derived=cell.origin
        )

    def constant(self, cell: Node, joint: str, column: str) -> Node:
        """Read a cell that holds a number, a name given elsewhere, or "l = 0.4 m"."""
        if not isinstance(cell.value, str):
            return cell
        text = cell.value.strip()
        match = _NAMED_VALUE.fullmatch(text)
        if match is not None:
            return replace(cell, value=match["value"].strip(), origin_if_derived=cell.origin)
        scaled = BARE_REFERENCE.fullmatch(text)
        if scaled is not None and scaled["name"] in self.scope and float(scaled["divisor"] or 1) != 0.0:
            return self.substitution.multiple(self.scope[scaled["name"]], scaled, self.path)
        name = text.lstrip("-+ $")
        if re.fullmatch(r"[^\W\d]\w*", name) and parse_number(text) is None:
            hint = f"give it under constants or parameters; known: {', '.join(self.scope) or 'none'}"
            self.report(f"{column} of joint {joint}: nothing is called {name!r}", hint, cell.mark)
            return Node(0, cell.mark)
        return cell


_LATEX = {"mu": "μ", "sigma": "σ", "gamma": "γ", "alpha": "α", "theta": "θ", "pi": "π"}


def _plain_text(text: str) -> str:
    """Write LaTeX symbols and the long minus sign as plain characters."""
    for name, letter in _LATEX.items():
        text = text.replace(f"\\{name}", letter)
    return re.sub(r"[${}]", "", text).replace("−", "-")


def _text_lines(table: Node) -> list[list[Node]]:
    """Split a block of text to cells: at bars or tabs if there are any, else at blanks."""
    assert isinstance(table.value, str)
    lines = []
    for number, line in enumerate(table.value.splitlines()):
        text = _plain_text(line).strip()
        if not text or set(text) <= set("|-+: "):
            continue
        if "|" in text or "\t" in text:
            parts = re.split(r"[|\t]", text.strip("|"))
        else:
            parts = "=".join(part.strip() for part in text.split("=")).split()
        mark = Mark(table.block + 1 + number, 1) if table.block else table.mark
        lines.append(
            [
                Node(part.strip(), mark, origin_if_derived=Origin(table, 100 * number + k))
                for k, part in enumerate(parts)
            ]
        )
    return lines


def _is_cell(cell: Node) -> bool:
    """Whether a cell is a number or a text of one line, not too long."""
    if isinstance(cell.value, str):
        return len(cell.value) <= _MAX_CELL and cell.value.isprintable()
    return isinstance(cell.value, int | float) and not isinstance(cell.value, bool)
