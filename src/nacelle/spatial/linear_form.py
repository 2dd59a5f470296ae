"""Linear forms: scalars that are linear in parameters, one coefficient for each.

    f = sum over k of f_k p_k

Physics that is linear in some of its numbers gives its coefficients when it runs on forms in their place: the
sum of two forms and the product of a form and a scalar are forms again. Anything else is refused: what is
not linear shows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.spatial.batch import Batch
from nacelle.spatial.operators import map_entries
from nacelle.spatial.scalar import Array, Scalar, is_zero, pack


class LinearForm:
    """A scalar that is linear in parameters.

    Attributes:
        terms: for every parameter that counts its coefficient, any scalar.
    """

    __slots__ = ("terms",)
    # NumPy leaves arithmetic between arrays and forms to the form.
    __array_ufunc__ = None

    def __init__(self, terms: dict[int, Scalar]) -> None:
        self.terms = terms

    @property
    def constant(self) -> float | None:
        """Zero for a form without terms; None for all others."""
        return None if self.terms else 0.0

    def _sum(self, other: Any, sign: float) -> Any:
        if isinstance(other, np.ndarray):
            return map_entries(lambda entry: self._sum(entry, sign), other)
        if not isinstance(other, LinearForm):
            if is_zero(other) or (isinstance(other, Batch) and not np.any(other.samples)):
                return self
            raise TypeError("a linear form and a number without parameters have no sum")
        total = dict(self.terms)
        for k, value in other.terms.items():
            value = value if sign > 0.0 else -value
            if k in total:
                value = total[k] + value
                if is_zero(value):
                    del total[k]
                    continue
            total[k] = value
        return LinearForm(total)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1.0)

    def __neg__(self) -> LinearForm:
        return LinearForm({k: -value for k, value in self.terms.items()})

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, np.ndarray):
            return map_entries(self.__mul__, factor)
        if isinstance(factor, LinearForm):
            raise TypeError("a product of two linear forms is not linear")
        if is_zero(factor):
            return LinearForm({})
        scaled = {k: factor * value for k, value in self.terms.items()}
        return LinearForm({k: value for k, value in scaled.items() if not is_zero(value)})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> LinearForm:
        return LinearForm({k: value / divisor for k, value in self.terms.items()})

    def __repr__(self) -> str:
        """Give the terms."""
        return f"<LinearForm {self.terms}>"


def is_linear_form(value: Scalar) -> bool:
    """Whether a scalar is a linear form in parameters."""
    return isinstance(value, LinearForm)


def coefficients(forms: Any, count: int) -> Array:
    """Coefficients (forms, count) of some forms; a plain 0 has none."""
    terms = [form.terms if isinstance(form, LinearForm) else {} for form in forms]
    return pack([[row.get(k, 0.0) for k in range(count)] for row in terms])
