"""The statements of a laid-out program: one state, or two side by side, by functions of the header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nacelle.emit.c.parts import c_constant
from nacelle.emit.cuda.plan import ThreadPlan

_CALLS = {
    "rcp": "nc_rcp",
    "rsqrt": "nc_rsqrt",
    "root": "nc_root",
    "add": "nc_add",
    "sub": "nc_sub",
    "mul": "nc_mul",
    "fma": "nc_fma",
    "div": "nc_div",
    "sqrt": "nc_sqrt",
    "sin": "nc_sin",
    "cos": "nc_cos",
    "tanh": "nc_tanh",
    "exp": "nc_exp",
    "abs": "nc_abs",
    "sign": "nc_sign",
    "floor": "nc_floor",
    "atan2": "nc_atan2",
    "min": "nc_min",
    "max": "nc_max",
    "where": "nc_where",
}


@dataclass(frozen=True)
class ValuePlaces:
    """Where the values of a program are, as texts.

    Attributes:
        load: the statement that loads an input: called with its place, counted through, and the names of its
            values, one for each state.
        put: the statement that writes a result: called with its place and the texts of its values.
        slot: the address of a slot.
    """

    load: Callable[[int, list[str]], str]
    put: Callable[[int, list[str]], str]
    slot: Callable[[int], str]


def statements(plan: ThreadPlan, real: str, places: ValuePlaces) -> list[str]:
    """Write the statements of a program, in order."""
    return _Writer(plan, real, places).lines()


class _Writer:
    """Statements, and the names that values have now."""

    def __init__(self, plan: ThreadPlan, real: str, places: ValuePlaces) -> None:
        self.plan, self.real, self.places = plan, real, places
        self.loads: dict[int, int] = {}
        self.written: dict[int, list[int]] = {}
        for place, k in enumerate(plan.results):
            self.written.setdefault(k, []).append(place)

    def lines(self) -> list[str]:
        """All statements."""
        lines: list[str] = []
        for place in range(len(self.plan.order)):
            lines += self._operation(place)
        made = set(self.plan.order)
        for k, outputs in self.written.items():
            if k not in made:
                lines += self._fetch(k)
                lines += [self.places.put(place, self._texts(k)) for place in outputs]
        return lines

    def _names(self, k: int) -> list[str]:
        """The names of a value: they change when it is loaded again."""
        name = f"t{k}" + (f"_{self.loads[k]}" if self.loads.get(k) else "")
        return [name] if self.plan.states == 1 else [f"{name}{letter}" for letter in "ab"]

    def _texts(self, k: int) -> list[str]:
        """The texts of a value: its names, or a number."""
        step = self.plan.code[k]
        assert step is not None
        if step[0] == "const":
            return [c_constant(step[1], self.real)] * self.plan.states
        return self._names(k)

    def _fetch(self, k: int) -> list[str]:
        """Load an input or a value that was put aside."""
        step = self.plan.code[k]
        assert step is not None
        if step[0] == "const":
            return []
        self.loads[k] = self.loads.get(k, 0) + 1
        names = self._names(k)
        if step[0] == "input":
            load = self.places.load(step[1], names)
        else:
            load = f"nc_load({self.places.slot(self.plan.slots.slot[k])}, {', '.join(names)});"
        return [f"{self.real} {', '.join(names)};", load]

    def _operation(self, place: int) -> list[str]:
        k = self.plan.order[place]
        step = self.plan.code[k]
        assert step is not None
        lines = [line for a in self.plan.fetched[place] for line in self._fetch(a)]
        operands = [self._texts(a) for a in step[1:]]
        for state, name in enumerate(self._names(k)):
            text = _expression(step[0], [texts[state] for texts in operands])
            lines.append(f"const {self.real} {name} = {text};")
        if k in self.plan.slots.slot:
            lines.append(
                f"nc_keep({self.places.slot(self.plan.slots.slot[k])}, {', '.join(self._names(k))});"
            )
        lines += [self.places.put(output, self._names(k)) for output in self.written.get(k, ())]
        return lines


def _expression(op: str, texts: list[str]) -> str:
    if op == "neg":
        return f"-{texts[0]}"
    # Signs of operands are free.
    if op == "fms":
        return f"nc_fma({texts[0]}, {texts[1]}, -{texts[2]})"
    if op == "fnma":
        return f"nc_fma(-{texts[0]}, {texts[1]}, {texts[2]})"
    return f"{_CALLS[op]}({', '.join(texts)})"
