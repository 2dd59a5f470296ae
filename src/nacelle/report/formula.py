"""Formulas, tables and pages, written once in LaTeX and read as text on a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Formula:
    """A formula in LaTeX, without dollars."""

    latex: str

    def __str__(self) -> str:
        """Give the formula as plain text."""
        return formula_text(self.latex)


Cell = str | Formula


@dataclass(frozen=True)
class FormulaTable:
    """A table."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class FormulaSection:
    """A heading with a sentence, tables and equations."""

    title: str
    sentence: str = ""
    grids: tuple[FormulaTable, ...] = ()
    equations: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class ElementReport:
    """A robot as kinematic elements.

    Attributes:
        name: of the robot.
        title: one line about it.
        grammar: its elements, "2BB".
        sections: title and content of each.
    """

    name: str
    title: str
    grammar: str
    sections: tuple[FormulaSection, ...]

    def text(self) -> str:
        """The report as plain text."""
        lines = [f"{self.name}  {self.title}", f"kinematic elements {self.grammar}"]
        for section in self.sections:
            lines += ["", section.title, "-" * len(section.title)]
            lines += textwrap.wrap(section.sentence, 110)
            for grid in section.grids:
                lines += ["", *_text_table(grid)]
            lines += [""] * bool(section.equations) + [
                "  " + formula_text(line) for line in section.equations
            ]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def latex(self) -> str:
        """The report as a LaTeX document."""
        lines = [
            r"\documentclass[a4paper,10pt]{article}",
            r"\usepackage[utf8]{inputenc}",
            r"\usepackage[margin=15mm,landscape]{geometry}",
            r"\usepackage{amsmath,booktabs,longtable}",
            r"\setlength{\parindent}{0pt}",
            r"\allowdisplaybreaks",
            r"\begin{document}",
            rf"\section*{{{escape_latex(self.name)}: {escape_latex(self.title)}}}",
            rf"Kinematic elements {escape_latex(self.grammar)}.",
        ]
        for section in self.sections:
            lines += [rf"\subsection*{{{escape_latex(section.title)}}}", escape_latex(section.sentence)]
            for grid in section.grids:
                lines += _latex_table(grid)
            if section.equations:
                body = [rf"& {line}" for line in section.equations]
                lines += [r"\begin{align*}", " \\\\\n".join(body), r"\end{align*}"]
        return "\n".join([*lines, r"\end{document}", ""])


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After a line's end a bracket would be read as its option.
    "[": "{[}",
    "]": "{]}",
    '"': "''",
}
_SIGNS = {
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "times": "×",
    "cdot": "·",
    "quad": "  ",
    "ell": "l",
    "theta": "θ",
    "omega": "ω",
    "tau": "τ",
    "Gamma": "Γ",
}
_ACCENTS = {"dot": "'", "ddot": "''", "tilde": "~", "bar": "\u0304"}


def escape_latex(text: str) -> str:
    """Text for LaTeX: special characters escaped, Greek letters as formulas, what it cannot set as "?"."""
    return "".join(_escape_character(character) for character in " ".join(text.split()))


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character if character.isprintable() else "?"
    name_parts = unicodedata.name(character, "").split()
    if name_parts[:3] == ["GREEK", "SMALL", "LETTER"] and len(name_parts) == 4 and name_parts[3] in _GREEK:
        return rf"\ensuremath{{\{_GREEK[name_parts[3]]}}}"
    return character if name_parts[:1] == ["LATIN"] and ord(character) < 0x180 else "?"


_GREEK = {
    letter.upper(): letter
    for letter in (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "mu", "nu"),
        *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    )
} | {"LAMDA": "lambda"}


def formula_text(latex: str) -> str:
    """A formula of this page as plain text."""
    text = " ".join(_read_group(latex, 0)[0].split())
    for spaced, tight in ((" · 10^", "e"), ("( ", "("), (" )", ")"), ("[ ", "["), (" ]", "]")):
        text = text.replace(spaced, tight)
    return text


def _read_group(s: str, i: int) -> tuple[str, int]:
    """Read up to the end of a group."""
    out = ""
    while i < len(s) and s[i] != "}":
        if s[i] == "\\":
            word, i = _command(s, i + 1)
            out += word
        elif s[i] in "_^":
            mark = s[i]
            inner, i = _argument(s, i + 1)
            inner = inner.replace(" ", "")
            if inner in ("×", "*"):
                out += inner
            else:
                out += "ᵀ" if (mark, inner) == ("^", "T") else mark + inner
        elif s[i] == "{":
            inner, i = _argument(s, i)
            out += inner
        else:
            out += s[i]
            i += 1
    return out, i


def _argument(s: str, i: int) -> tuple[str, int]:
    """Read a group in braces, or one character."""
    if s[i] != "{":
        return s[i], i + 1
    inner, i = _read_group(s, i + 1)
    return inner, i + 1


def _command(s: str, i: int) -> tuple[str, int]:
    """Read a command behind its backslash."""
    end = i
    while end < len(s) and s[end].isalpha():
        end += 1
    if end == i:
        return s[i], i + 1
    name = s[i:end]
    if name == "frac":
        above, end = _argument(s, end)
        below, end = _argument(s, end)
        return f"({above}) / ({below})", end
    if name in _SIGNS:
        return _SIGNS[name], end + 2 if s[end : end + 2] == "{}" else end
    inner, end = _argument(s, end)
    return inner + _ACCENTS.get(name, ""), end


def _text_table(grid: FormulaTable) -> list[str]:
    rows = [[str(cell) for cell in row] for row in (grid.header, *grid.rows)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(grid.header))]
    lines = ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return [lines[0], "  " + "  ".join("-" * w for w in widths), *lines[1:]]


def _latex_table(grid: FormulaTable) -> list[str]:
    def row(cells: tuple[Cell, ...]) -> str:
        texts = [f"${cell.latex}$" if isinstance(cell, Formula) else escape_latex(cell) for cell in cells]
        return " & ".join(texts) + r" \\"

    return [
        r"{\footnotesize",
        rf"\begin{{longtable}}{{{'l' * len(grid.header)}}}",
        r"\toprule",
        row(grid.header),
        r"\midrule",
        r"\endhead",
        *(row(cells) for cells in grid.rows),
        r"\bottomrule",
        r"\end{longtable}",
        "}",
    ]
