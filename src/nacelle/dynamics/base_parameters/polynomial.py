"""Polynomials in coordinates of joints, so that groupings can be read: `m_3 (y^2 + z^2)`, not `0.0128 m_3`.

A polynomial is a sum of products of atoms, each with a factor; an atom is one coordinate of a joint's point
in the frame of a body, and has a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# A factor that differs from a whole number by less than this is that number.
_WHOLE = 1e-9
Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in named coordinates.

    Attributes:
        terms: the factor of every product of atoms; the empty product is the constant.
        values: of the atoms, m.
    """

    terms: Mapping[Monomial, float]
    values: Mapping[str, float]

    @staticmethod
    def number(value: float) -> Polynomial:
        """A polynomial that is a number."""
        return Polynomial({(): value} if value else {}, {})

    @staticmethod
    def atom(name: str, value: float) -> Polynomial:
        """A polynomial that is a coordinate."""
        return Polynomial({(name,): 1.0}, {name: value})

    @property
    def value(self) -> float:
        """Its value."""
        total = 0.0
        for atoms, factor in self.terms.items():
            product = factor
            for atom in atoms:
                product *= self.values[atom]
            total += product
        return total

    @property
    def constant(self) -> float | None:
        """The number that it is; None if it has atoms."""
        return self.terms.get((), 0.0) if all(not atoms for atoms in self.terms) else None

    def __add__(self, other: Polynomial) -> Polynomial:
        """Sum."""
        terms = dict(self.terms)
        for atoms, factor in other.terms.items():
            total = terms.pop(atoms, 0.0) + factor
            if abs(total) > _WHOLE * abs(factor):
                terms[atoms] = total
        return Polynomial(terms, {**self.values, **other.values})

    def __mul__(self, other: Polynomial) -> Polynomial:
        """Product."""
        total = Polynomial({}, {})
        for atoms, factor in self.terms.items():
            part = {tuple(sorted((*atoms, *more))): factor * by for more, by in other.terms.items()}
            total = total + Polynomial(part, {**self.values, **other.values})
        return total

    def scaled(self, factor: float) -> Polynomial:
        """Product with a number."""
        return self * Polynomial.number(factor)


def polynomial_text(polynomial: Polynomial) -> str:
    """A polynomial as text: `1.5`, `joint.x^2 + joint.y^2`."""
    parts: list[str] = []
    for atoms, factor in sorted(polynomial.terms.items()):
        powers = [
            atom if atoms.count(atom) == 1 else f"{atom}^{atoms.count(atom)}" for atom in dict.fromkeys(atoms)
        ]
        size = abs(factor)
        number = [] if powers and abs(size - 1.0) < _WHOLE else [number_text(size)]
        parts.append(("- " if factor < 0.0 else "+ ") + " ".join([*number, *powers]))
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:] if text else "0"


def number_text(value: float) -> str:
    """A number with as many digits as tell it from others, whole where it is."""
    whole = round(value)
    return str(whole) if abs(value - whole) < _WHOLE * max(1.0, abs(value)) else f"{value:.6g}"
