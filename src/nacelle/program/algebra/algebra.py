"""Linear forms, powers and atoms: the items of a program in algebraic form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from nacelle.spatial.rounding import FOLDED_ULPS, Constants

# A scaled item: coefficient and item. ONE is the item 1, so that constants are scaled items too.
Scaled = tuple[float, int]
ONE = 0


@dataclass
class Algebra:
    """Items: linear forms, powers and atoms, by index; item 0 is the number 1."""

    linear: dict[int, dict[int, float]] = field(default_factory=dict)
    power: dict[int, dict[int, int]] = field(default_factory=dict)
    atom: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    roots: list[Scaled] = field(default_factory=list)
    size: int = 1
    _places: dict[Any, int] = field(default_factory=dict)
    _keys: dict[int, Any] = field(default_factory=dict)
    constants: Constants = field(default_factory=lambda: Constants(FOLDED_ULPS))

    def new(self, key: Any) -> int:
        """A new index for what is interned under a key."""
        self._places[key] = self.size
        self._keys[self.size] = key
        self.size += 1
        return self.size - 1

    def copy(self) -> Algebra:
        """The same items, to work on."""
        return Algebra(
            {item: form.copy() for item, form in self.linear.items()},
            {item: product.copy() for item, product in self.power.items()},
            self.atom.copy(),
            self.roots,
            self.size,
            self._places.copy(),
            self._keys.copy(),
            self.constants.copy(),
        )

    def add_linear(self, terms: dict[int, float]) -> Scaled:
        """A linear form, with a common coefficient and the leading sign taken out."""
        one = self.constants.one
        kept = {item: one(c) for item, c in terms.items() if c != 0.0}
        if len(kept) < 2:
            for item, c in kept.items():
                return c, item
            return 0.0, ONE
        leading = kept[min(kept)]
        scale = abs(leading)
        for c in kept.values():
            if abs(c) != scale:
                scale = 1.0
                break
        if leading < 0.0:
            scale = -scale
        if scale == -1.0:
            kept = {item: -c for item, c in kept.items()}
        elif scale != 1.0:
            kept = {item: one(c / scale) for item, c in kept.items()}
        return scale, self._intern_linear(kept)

    def add_scaled(self, scale: float, item: int) -> int:
        """An item that is another one scaled, computed once."""
        return self._intern_linear({item: self.constants.one(scale)})

    def _intern_linear(self, terms: dict[int, float]) -> int:
        key = ("linear", *sorted(terms.items()))
        item = self._places.get(key)
        if item is None:
            item = self.new(key)
            self.linear[item] = terms
        return item

    def add_power(self, factors: dict[int, int]) -> int:
        """A product of powers."""
        if ONE in factors or 0 in factors.values():
            factors = {item: k for item, k in factors.items() if k and item != ONE}
        if len(factors) < 2:
            for item, k in factors.items():
                if k == 1:
                    return item
            if not factors:
                return ONE
        key = ("power", *sorted(factors.items()))
        place = self._places.get(key)
        if place is None:
            place = self.new(key)
            self.power[place] = factors
        return place

    def add_atom(self, *atom: Any) -> int:
        """Any other operation on scaled items."""
        item = self._places.get(atom)
        if item is None:
            item = self.new(atom)
            self.atom[item] = atom
        return item

    def below(self, item: int) -> Iterable[int]:
        """Items that an item is made of."""
        form = self.linear.get(item)
        if form is not None:
            return form
        product = self.power.get(item)
        if product is not None:
            return product
        if item == ONE:
            return ()
        return [entry[1] for entry in self.atom[item][1:] if isinstance(entry, tuple)]

    def prune(self) -> None:
        """Forget items that the roots do not need: merged sums and products, and what passes replaced."""
        uses = self.uses()
        stack = [k for kind in (self.linear, self.power, self.atom) for k in kind if k not in uses]
        while stack:
            item = stack.pop()
            for child in self.below(item):
                uses[child] -= 1
                if not uses[child] and child != ONE:
                    stack.append(child)
            del self._places[self._keys.pop(item)]
            for kind in (self.linear, self.power, self.atom):
                kind.pop(item, None)

    def uses(self) -> Counter[int]:
        """How often each item is used by others and by the roots."""
        return Counter(
            chain(
                (item for _, item in self.roots),
                chain.from_iterable(self.linear.values()),
                chain.from_iterable(self.power.values()),
                (entry[1] for atom in self.atom.values() for entry in atom[1:] if isinstance(entry, tuple)),
            )
        )
