"""The implicit Runge-Kutta method in C: `nacelle.emit.irk5_steps`, in files of their own.

All memory of a run is a struct of the caller; nothing is allocated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nacelle.emit.c.driver import driver_files, input_names, prototype
from nacelle.emit.c.loops import Dialect, Statements
from nacelle.emit.c.parts import format_call
from nacelle.emit.c.target import COptions, Interface, c_source
from nacelle.emit.irk5_steps import (
    CONTROL,
    COUNTERS,
    DERIVATIVE,
    MATRICES,
    PIVOTS,
    VECTORS,
    ImplicitSteps,
    StepSizes,
    StepTarget,
)
from nacelle.emit.loop_writer import ArrayWriter, Index
from nacelle.emit.lu import Parameters
from nacelle.emit.names import Identifiers
from nacelle.emit.registry import TargetError
from nacelle.emit.rk4 import integration_sizes
from nacelle.program.program import Program

_REMARK = """\
/*
 * {function}: Radau IIA with three stages, order five, in steps of fixed size; for stiff motions.
 *
 * Where Newton's iteration for the stages does not converge, a step is made of halves, up to 2^20 of them.
 *
 *   work     memory of the run, nothing of which need be set
 *   {x}: in the start, out the last state; {n} numbers
 *   {u}: input, {m} numbers a row
 *   {p}: parameter, {k} numbers
 *   u_step   distance of the rows of two steps or, with held > 1, of two periods; 0: the same row at all
 *   u_stage  distance of the rows at {stages} of a step{no_stages}
 *   h        size of a step
 *   steps    number of steps
 *   every    {x} after every such number of steps is stored; 0: none
 *   held     steps over which a row{control} is held; at least 1
 *   states   out, the stored states, steps / every rows; the start is not among them; may be NULL
 *   counts   out, steps done, 0 or 1 as below, evaluations and Jacobians, 4 numbers; may be NULL
 *
 * Returns 0, or 1 if Newton's iteration does not converge: {x} is then the last state.
 */
"""
_STAGES = "(4 - sqrt(6)) / 10, (4 + sqrt(6)) / 10 and 1"
_OUTPUTS = ("states", "counts")
_NAMES = ("work", "u_step", "u_stage", "h", "steps", "every", "held", *_OUTPUTS)


class StructSteps(StepTarget):
    """Functions of C over a struct.

    Args:
        dialect: how they are written.
        name: name of the function that is called, and the begin of all others.
        programs: names of the derivative and of the control, by `irk5_steps`' names.
        sizes: numbers of states, inputs and parameters.
        inputs: names of x, u and p.
    """

    width = 1
    head = "static"
    """What comes before the functions that a run calls."""

    def __init__(
        self,
        dialect: Dialect,
        name: str,
        programs: Mapping[str, str],
        sizes: StepSizes,
        inputs: Sequence[str],
    ) -> None:
        self.dialect, self.name, self.programs, self.sizes = dialect, name, programs, sizes
        self._inputs = dict(zip(("x0", "u", "p"), inputs, strict=True))
        self.texts: list[str] = []
        self._heads: dict[int, str] = {}
        self._memory = {"work": f"{name}_work *work"}
        self._prepare()
        ImplicitSteps(self, sizes).write()

    def _prepare(self) -> None:
        """What is needed before functions are written."""

    def _run_head(self, parameters: list[str]) -> str:
        """The head of the function that is called."""
        real, (x, u, p) = self.dialect.real, self._inputs.values()
        array_parameters = [f"{real} *{x}", f"const {real} *{u}", f"const {real} *{p}"]
        results = [f"{real} *states", f"{self.dialect.whole} *counts"]
        return format_call(
            f"int {self.name}", [*self._memory.values(), *array_parameters, *parameters, *results]
        )

    def _run_begin(self) -> list[str]:
        """Its first statements."""
        return ["every = (every != 0 && states != NULL) ? every : steps + 1;"]

    def arrays(self) -> dict[str, int]:
        """The arrays of numbers of a run, with their sizes: tiles of programs, vectors and matrices."""
        n, m, k, nw = self.sizes
        tiles = {DERIVATIVE: 2 * n + m + k} | ({} if nw is None else {CONTROL: n + nw + k + m})
        return tiles | dict.fromkeys(VECTORS, n) | {"u": 3 * m} | dict.fromkeys(MATRICES, n * n)

    def struct(self) -> list[str]:
        """The memory of a run."""
        whole = self.dialect.whole
        return [
            "typedef struct {",
            *(f"    {self.dialect.real} {name}[{max(size, 1)}];" for name, size in self.arrays().items()),
            *(f"    {whole} {name}[{self.sizes.n}];" for name in PIVOTS),
            *(f"    {whole} {name};" for name in COUNTERS),
            f"}} {self.name}_work;",
        ]

    def function(self, name: str, parameters: Parameters, *, memory: bool, result: bool) -> Statements:
        """Begin a function."""
        real, whole = self.dialect.real, self.dialect.whole
        kinds = {"array": f"{real} *", "wholes": f"{whole} *", "real": f"{real} ", "whole": f"{whole} "}
        declared = [f"{kinds[kind]}{parameter}" for kind, parameter in parameters]
        if name == "run":
            head = self._run_head(declared)
        else:
            declared = [*(self._memory.values() if memory else []), *declared]
            head = format_call(f"{self.head} {whole if result else 'void'} {self.name}_{name}", declared)
        names = (parameter for _, parameter in parameters)
        reserved = (*self._memory, *_NAMES, *self._inputs.values(), *names)
        c = Statements(self.dialect, Identifiers(reserved))
        self._heads[id(c)] = head
        c(*(self._run_begin() if name == "run" else []))
        return c

    def end(self, c: ArrayWriter, result: int | None) -> None:
        """End a function."""
        assert isinstance(c, Statements)
        head, body = self._heads.pop(id(c)), "\n".join(c.lines)
        # Without inputs or parameters, and with a control, some arguments are not used.
        names = [text.rstrip(",)").split()[-1].lstrip("*") for text in head[head.index("(") :].split(",")]
        unused = [f"    (void){name};" for name in names if not re.search(rf"\b{name}\b", body)]
        last = [] if result is None else [f"    return {result};"]
        self.texts.append("\n".join([head, "{", *unused, body, *last, "}", ""]))

    def call(
        self, c: ArrayWriter, name: str, arguments: Sequence[tuple[str, str]], *, memory: bool, result: bool
    ) -> str:
        """Call a function."""
        common = [("array", name) for name in self._memory] if memory else []
        return c.call(f"{self.name}_{name}", *common, *arguments, result=result)

    def array(self, c: ArrayWriter, name: str) -> str:
        """An array of the struct."""
        return f"work->{name}"

    def counter(self, c: ArrayWriter, name: str) -> str:
        """An integer of the struct, as it is here."""
        return c.name_value(name, f"work->{name}", "whole")

    def set_counter(self, c: ArrayWriter, name: str, value: Index) -> None:
        """Change an integer of the struct."""
        assert isinstance(c, Statements)
        c(f"work->{name} = {value};")

    def tile(self, program: str) -> tuple[str, int]:
        """The array of a program's inputs and results, and where it begins there."""
        return f"work->{program}", 0

    def fill(self, c: ArrayWriter, program: str, index: Index, vector: str) -> None:
        """Store an input of a program."""
        array, begin = self.tile(program)
        c.store(vector, array, c.whole("+", index, begin))

    def shift(self, c: ArrayWriter, program: str, index: Index, lane: int, value: str) -> None:
        """Store an input of a program."""
        self.fill(c, program, index, value)

    def bounds(self, program: str) -> tuple[int, int, int]:
        """Where the second and the third input of a program begin, and its results."""
        n, m, k, nw = self.sizes
        row = m if program == DERIVATIVE else nw or 0
        return n, n + row, n + row + k

    def result(self, c: ArrayWriter, program: str, index: Index) -> str:
        """An entry of a program's results."""
        array, begin = self.tile(program)
        return c.load(array, c.whole("+", index, begin + self.bounds(program)[2]))

    def evaluate(self, c: ArrayWriter, program: str) -> None:
        """Evaluate a program."""
        tile = f"work->{program}"
        parts = [tile, *(f"{tile} + {begin}" for begin in self.bounds(program))]
        c.call(self.programs[program], *(("array", part) for part in parts))

    def load_input(self, c: ArrayWriter, name: str, index: Index) -> str:
        """An entry of an array that the run is given."""
        return f"{self._inputs[name]}[{index}]"

    def keep(self, c: ArrayWriter, index: Index, value: str) -> None:
        """Store an entry of the states."""
        c.store(value, "states", index)

    def report(self, c: ArrayWriter, values: Sequence[Index]) -> None:
        """Give the last state and the counts."""
        with c.loop(0, self.sizes.n) as states:
            c.store(c.load("work->x", states.index), self._inputs["x0"], states.index)
        with c.when("counts != NULL"):
            for index, value in enumerate(values):
                c.store(value, "counts", index, "whole")


def irk5_source(
    program: Program, options: COptions | None = None, control: Program | None = None
) -> dict[str, str]:
    """Write the implicit Runge-Kutta method around a program, which is written too.

    Args:
        program: the derivative, of inputs x, u and p and output dx.
        options: how C is written; numbers are double.
        control: what gives u at the begin of every period, of inputs x, w and p.

    Returns:
        The text of each file, by its name: NAME.h, NAME.c, NAME_irk5.h and NAME_irk5.c; those of a control
        are NAME_control.h and NAME_control.c.

    Raises:
        TargetError: if a program's inputs and outputs are not those of a derivative or of its control, or
            numbers are not double, which its differences and tolerances are for.
    """
    options = options or COptions()
    if options.real != "double":
        raise TargetError("implicit steps need numbers of type double")
    try:
        form_sizes = integration_sizes(program, control)
    except ValueError as error:
        raise TargetError(str(error)) from None
    interface = Interface(program, options)
    files, driver, includes = c_source(program, options), f"{interface.name}_irk5", [interface.name]
    law, programs = interface, {DERIVATIVE: interface.name}
    if control is not None:
        law = Interface(control, replace(options, name=f"{interface.name}_control", about=""))
        files |= c_source(control, law.options)
        includes.append(law.name)
        programs[CONTROL] = law.name
    x, u, p = input_names(law, driver, " ".join(_NAMES))
    n, m, k = (variable.size for variable in program.inputs)
    nw = None if control is None else form_sizes.m
    dialect = Dialect(interface.real, "size_t")
    steps = StructSteps(dialect, driver, programs, StepSizes(n, m, k, nw), [x, u, p])
    about = _REMARK.format(
        **{"function": driver, "x": x, "u": u, "p": p, "n": n, "m": form_sizes.m, "k": k, "stages": _STAGES},
        control="" if control is None else ", and what the control gives,",
        no_stages="; 0: one for all" if control is None else ": not used, as the control gives the inputs",
    )
    header = "\n".join([*steps.struct(), "", about]) + prototype(steps.texts[-1])
    return files | driver_files(driver, includes, header, "\n".join(steps.texts))
