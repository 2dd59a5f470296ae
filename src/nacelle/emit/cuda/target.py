"""The target "cuda": a program as one CUDA source, its kernels behind the header.

Kernels evaluate a laid-out program for many states, one state a thread or two side by side. Arrays are
structures of arrays: entry j of a variable of state i is at `base[j * ld + i]`, ld the distance of rows in
numbers. Variables that all states share are at `base[j]`. There are two kernels:

- NAME_tiled, on devices of compute capability 9 and later: a persistent grid of which each block computes
  a tile of states while the copy engine brings the rows of the next one, by tensor maps. Rows begin at
  multiples of 16 bytes;
- NAME_plain, everywhere: each thread loads its own states, all rows at once, to its
  column of a tile; where there are more rows than shared memory holds, it loads them where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nacelle.emit.c.parts import c_constant, format_call
from nacelle.emit.cuda.header import HEADER
from nacelle.emit.cuda.plan import THREADS, CudaOptions, ThreadPlan, plan_program
from nacelle.emit.names import Identifiers, entry_name
from nacelle.emit.registry import Target, register
from nacelle.program.program import Program, Variable

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
class ValueAccess:
    """Where the values of a program are, as texts.

    Attributes:
        load: the statement that loads an input: called with its index, counted through, and the names of its
            values, one for each state.
        put: the statement that writes a result: called with its index and the texts of its values.
        slot: the address of a slot.
    """

    load: Callable[[int, list[str]], str]
    put: Callable[[int, list[str]], str]
    slot: Callable[[int], str]


def program_statements(plan: ThreadPlan, real: str, access: ValueAccess) -> list[str]:
    """Write the statements of a program, in order."""
    return _Writer(plan, real, access).lines()


class _Writer:
    """Statements, and the names that values have now."""

    def __init__(self, plan: ThreadPlan, real: str, access: ValueAccess) -> None:
        self.plan, self.real, self.access = plan, real, access
        self.loads: dict[int, int] = {}
        self.output_positions: dict[int, list[int]] = {}
        for index, k in enumerate(plan.results):
            self.output_positions.setdefault(k, []).append(index)

    def lines(self) -> list[str]:
        """All statements."""
        lines: list[str] = []
        for position in range(len(self.plan.order)):
            lines += self._operation(position)
        operations = set(self.plan.order)
        for k, outputs in self.output_positions.items():
            if k not in operations:
                lines += self._fetch(k)
                lines += [self.access.put(position, self._texts(k)) for position in outputs]
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
            load = self.access.load(step[1], names)
        else:
            load = f"nc_load({self.access.slot(self.plan.slots.slot[k])}, {', '.join(names)});"
        return [f"{self.real} {', '.join(names)};", load]

    def _operation(self, position: int) -> list[str]:
        k = self.plan.order[position]
        step = self.plan.code[k]
        assert step is not None
        lines = [line for a in self.plan.fetched[position] for line in self._fetch(a)]
        operands = [self._texts(a) for a in step[1:]]
        for state, name in enumerate(self._names(k)):
            text = _expression(step[0], [texts[state] for texts in operands])
            lines.append(f"const {self.real} {name} = {text};")
        if k in self.plan.slots.slot:
            lines.append(
                f"nc_keep({self.access.slot(self.plan.slots.slot[k])}, {', '.join(self._names(k))});"
            )
        lines += [self.access.put(output, self._names(k)) for output in self.output_positions.get(k, ())]
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


# ---- kernels that evaluate a program for many states, as text


SHARED_PER_SM = 227 * 1024
"""Bytes of shared memory that the blocks of a multiprocessor have together (compute capability 9)."""

# What kernels and the functions that launch them call their own variables.
_OWN = """
    n i t tiles lane memory tile slots common now phase next to bar bars first arrived
    processors capability error grid stream
"""

# Tiles of a block: one that is computed, one that is on its way.
_BUFFERS = 2

SHARED_PER_BLOCK = 1024
"""Bytes of each block that the system takes."""


@dataclass(frozen=True)
class KernelArgument:
    """A variable as an argument of a kernel.

    Attributes:
        name: in the source.
        variable: what it is.
        shared: whether all states share it.
        first: its first row in the tile, or its first number among those that all states share.
    """

    name: str
    variable: Variable
    shared: bool
    first: int

    @property
    def size(self) -> int:
        """Number of scalars."""
        return self.variable.size


@dataclass(frozen=True)
class KernelLayout:
    """The arrays of a program, and how a block's shared memory is used.

    Attributes:
        name: prefix of all names.
        inputs: arrays that are read.
        outputs: arrays that are written.
        options: how CUDA is written.
    """

    name: str
    inputs: tuple[KernelArgument, ...]
    outputs: tuple[KernelArgument, ...]
    options: CudaOptions

    @property
    def rows(self) -> int:
        """Rows of a tile: numbers of a state that are its own."""
        return sum(array.size for array in self.inputs if not array.shared)

    @property
    def common(self) -> int:
        """Numbers that all states share."""
        return sum(array.size for array in self.inputs if array.shared)

    def shared_bytes(self, plan: ThreadPlan, buffers: int) -> int:
        """Bytes of a block's shared memory with `buffers` tiles."""
        column = THREADS * plan.states * self.options.bytes
        return self.common_bytes + (buffers * self.rows + plan.slots.count) * column

    @property
    def common_bytes(self) -> int:
        """Bytes of the numbers that all states share, up to a multiple of 128."""
        return -(-self.common * self.options.bytes // 128) * 128


def array_layout(program: Program, options: CudaOptions, shared: Sequence[str] = ()) -> KernelLayout:
    """Name the arrays of a program; `shared` names variables of which all states have one."""
    name = entry_name(options.name or program.name)
    names = Identifiers((*_OWN.split(), name))
    counters = {True: 0, False: 0}
    inputs = []
    for variable in program.inputs:
        is_shared = variable.name in shared
        inputs.append(
            KernelArgument(names.unique(variable.name, "x"), variable, is_shared, counters[is_shared])
        )
        counters[is_shared] += variable.size
    outputs = [KernelArgument(names.unique(v.name, "y"), v, False, 0) for v in program.outputs]
    return KernelLayout(name, tuple(inputs), tuple(outputs), options)


@dataclass(frozen=True)
class Launch:
    """What the launch of a kernel needs.

    Attributes:
        kernel: its name.
        states: that a thread computes at a time.
        blocks: on a multiprocessor.
        shared_bytes: of a block's shared memory.
        spilled_values: values of a thread that are put aside in it.
    """

    kernel: str
    states: int
    blocks: int
    shared_bytes: int
    spilled_values: int


@dataclass(frozen=True)
class Kernels:
    """Kernels of a program as text, and what their launch needs.

    Attributes:
        text: the source, without the header.
        plain: the launch of the plain kernel.
        tiled: that of the tiled one; None if its tiles do not fit.
    """

    text: str
    plain: Launch
    tiled: Launch | None


def kernels(program: Program, options: CudaOptions | None = None, shared: Sequence[str] = ()) -> Kernels:
    """Write the kernels of a program.

    Args:
        program: what they evaluate.
        options: how CUDA is written.
        shared: names of inputs that all states share.
    """
    options = options or CudaOptions()
    layout = array_layout(program, options, shared)
    tiled = plan_program(program, options, fits=lambda plan: _fits(layout, plan, _BUFFERS))
    plain = tiled if tiled.states == 1 else plan_program(program, options, states=1)
    staged = _fits(layout, plain, 1)
    text = _plain_kernel(layout, plain, staged)
    launch = _launch(layout, plain, "plain", int(staged))
    if not _fits(layout, tiled, _BUFFERS) or not layout.rows:
        return Kernels(text, launch, None)
    return Kernels(
        text + "\n" + _tiled_kernel(layout, tiled), launch, _launch(layout, tiled, "tiled", _BUFFERS)
    )


def _launch(layout: KernelLayout, plan: ThreadPlan, kind: str, buffers: int) -> Launch:
    shared = layout.shared_bytes(plan, buffers)
    return Launch(f"{layout.name}_{kind}", plan.states, plan.blocks, shared, plan.slots.count)


def _fits(layout: KernelLayout, plan: ThreadPlan, buffers: int) -> bool:
    """Whether as many blocks as planned have room for `buffers` tiles each."""
    return layout.shared_bytes(plan, buffers) <= SHARED_PER_SM // plan.blocks - SHARED_PER_BLOCK


def _kernel(layout: KernelLayout, plan: ThreadPlan, kind: str, buffers: int, lines: list[str]) -> str:
    """Write a kernel: its head, the numbers that all states share, and the lines of its loop."""
    real, size = layout.options.real, layout.options.bytes
    heads = [x for a in layout.inputs for x in _array_parameters(a, f"const {real}", kind)]
    heads += [x for a in layout.outputs for x in _array_parameters(a, real, "")]
    heads.append("const unsigned long long n")
    begin = layout.common_bytes + buffers * layout.rows * _row_bytes(layout, plan)
    common = []
    for a in layout.inputs:
        if a.shared and a.size:
            common += [
                f"    for (unsigned j = lane; j < {a.size}; j += {THREADS}) {{",
                f"        nc_keep(common + ({a.first} + j) * {size}, {a.name}[j]);",
                "    }",
            ]
    texts = [
        f'extern "C" __global__ void __launch_bounds__({THREADS}, {plan.blocks})',
        format_call(f"{layout.name}_{kind}", heads),
        "{",
        "    extern __shared__ __align__(128) unsigned char memory[];",
        "    const unsigned lane = threadIdx.x;",
        "    const nc_address common = nc_shared(memory);",
        f"    const nc_address slots = common + {begin} + lane * {plan.states * size};",
        "    (void)slots;",
        *common,
        *lines,
        "}",
    ]
    return "\n".join(texts) + "\n"


def _row_bytes(layout: KernelLayout, plan: ThreadPlan) -> int:
    """Bytes of a row of a tile."""
    return THREADS * plan.states * layout.options.bytes


def _array_parameters(a: KernelArgument, real: str, kind: str) -> list[str]:
    """The arguments of an array."""
    if not a.size:
        return []
    if kind == "tiled" and not a.shared:
        return [f"const __grid_constant__ nc_map {a.name}_map"]
    pointer = f"{real} *__restrict__ {a.name}"
    return [pointer] if a.shared else [pointer, f"const unsigned long long {a.name}_ld"]


def _plain_kernel(layout: KernelLayout, plan: ThreadPlan, staged: bool) -> str:
    """Write the plain kernel."""
    size, column = layout.options.bytes, _row_bytes(layout, plan)
    body = program_statements(plan, layout.options.real, _value_access(layout, plan, staged))
    staging = []
    if staged:
        staging.append(f"const nc_address tile = common + {layout.common_bytes} + lane * {size};")
        for a in layout.inputs:
            if not a.shared and a.size:
                staging += [
                    "#pragma unroll",
                    f"for (unsigned j = 0; j < {a.size}; ++j) {{",
                    f"    nc_keep(tile + ({a.first} + j) * {column}, {a.name}[j * {a.name}_ld + i]);",
                    "}",
                ]
    first = f"blockIdx.x * {THREADS}ull + lane"
    lines = [
        "    __syncthreads();",
        f"    for (unsigned long long i = {first}; i < n; i += gridDim.x * {THREADS}ull) {{",
        *(f"        {line}" for line in [*staging, *body]),
        "    }",
    ]
    return _kernel(layout, plan, "plain", int(staged), lines)


def _tiled_kernel(layout: KernelLayout, plan: ThreadPlan) -> str:
    """Write the tiled kernel."""
    size, states, column = layout.options.bytes, plan.states, _row_bytes(layout, plan)
    body = program_statements(plan, layout.options.real, _value_access(layout, plan, True))
    tile, across = layout.rows * column, THREADS * states
    copies = [
        f"nc_copy(to + {a.first * column}, &{a.name}_map, first, bar);"
        for a in layout.inputs
        if not a.shared and a.size
    ]
    lines = [
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900",
        "    __shared__ __align__(8) unsigned long long arrived[2];",
        "    const nc_address bars = nc_shared(arrived);",
        "    if (lane == 0) {",
        "        nc_barrier(bars);",
        "        nc_barrier(bars + 8);",
        "        nc_barriers_ready();",
        "    }",
        "    __syncthreads();",
        f"    const unsigned tiles = (unsigned)((n + {across - 1}) / {across});",
        "    unsigned now = 0, phase = 0;",
        "    /* The first copy of a block comes one turn before its first tile. */",
        "    for (long long t = (long long)blockIdx.x - gridDim.x; t < tiles; t += gridDim.x) {",
        "        if (lane == 0 && t + gridDim.x < tiles) {",
        "            const unsigned next = t < 0 ? 0u : now ^ 1u;",
        f"            const nc_address to = common + {layout.common_bytes} + next * {tile};",
        "            const nc_address bar = bars + next * 8;",
        f"            const unsigned first = (unsigned)(t + gridDim.x) * {across}u;",
        f"            nc_expect(bar, {tile});",
        *(f"            {line}" for line in copies),
        "        }",
        "        if (t < 0) continue;",
        "        nc_wait(bars + now * 8, phase);",
        f"        const nc_address tile = common + {layout.common_bytes} + now * {tile}",
        f"            + lane * {states * size};",
        f"        const unsigned long long i = (unsigned long long)t * {across} + lane * {states};",
        *(f"        {line}" for line in body),
        "        __syncthreads();",
        "        phase ^= now;",
        "        now ^= 1u;",
        "    }",
        "#endif",
    ]
    return _kernel(layout, plan, "tiled", _BUFFERS, lines)


def _value_access(layout: KernelLayout, plan: ThreadPlan, staged: bool) -> ValueAccess:
    """Where the values of a program are in a kernel: its inputs in a tile if they are staged."""
    size, column = layout.options.bytes, _row_bytes(layout, plan)
    flat = [(a, j) for a in layout.inputs for j in range(a.size)]
    output_elements = [(a, j) for a in layout.outputs for j in range(a.size)]

    def load(index: int, names: list[str]) -> str:
        a, j = flat[index]
        if a.shared:
            statement = f"nc_load(common + {(a.first + j) * size}, {names[0]});"
            return statement + "".join(f" {name} = {names[0]};" for name in names[1:])
        if staged:
            return f"nc_load(tile + {(a.first + j) * column}, {', '.join(names)});"
        return f"nc_read({a.name} + {j} * {a.name}_ld + i, {', '.join(names)});"

    def put(index: int, texts: list[str]) -> str:
        a, j = output_elements[index]
        return f"nc_write({a.name} + {j} * {a.name}_ld + i, {', '.join(texts)}, i, n);"

    return ValueAccess(load, put, lambda slot: f"slots + {slot * column}")


# ---- the target "cuda": a program as one CUDA source, its kernels behind the header


def source_text(text: str, options: CudaOptions) -> str:
    """A whole source: the header, then the kernels."""
    return ("#define NACELLE_IEEE\n" if options.ieee else "") + HEADER.lstrip() + "\n" + text


def source(program: Program) -> str:
    """Write a program as one text, in double."""
    return source_text(kernels(program).text, CudaOptions())


register(Target("cuda", source))
