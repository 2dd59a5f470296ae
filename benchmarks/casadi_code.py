"""A straight-line program in CasADi: its virtual machine, and its C under gcc."""

import ctypes

import numpy as np
from native_code import gcc
from timing import once

OPERATIONS = {
    "add": lambda c, a, b: a + b,
    "sub": lambda c, a, b: a - b,
    "mul": lambda c, a, b: a * b,
    "div": lambda c, a, b: a / b,
    "neg": lambda c, a: -a,
    "sqrt": lambda c, a: c.sqrt(a),
    "sin": lambda c, a: c.sin(a),
    "cos": lambda c, a: c.cos(a),
    "tanh": lambda c, a: c.tanh(a),
    "exp": lambda c, a: c.exp(a),
    "atan2": lambda c, a, b: c.atan2(a, b),
    "sign": lambda c, a: c.sign(a),
    "floor": lambda c, a: c.floor(a),
    "abs": lambda c, a: c.fabs(a),
    "min": lambda c, a, b: c.fmin(a, b),
    "max": lambda c, a, b: c.fmax(a, b),
    "where": lambda c, a, b, d: c.if_else(a > 0, b, d),
}

LOOP = """
void run(long n, const double *x, double *y) {{
  casadi_real w[{work}]; casadi_int iw[{iwork}];
  for (long k = 0; k < n; ++k) {{
    const casadi_real *arg[{arg}] = {{x + k * {inputs}}};
    casadi_real *res[{res}] = {{y + k * {outputs}}};
    f(arg, res, iw, w, 0);
  }}
}}
"""


class CasadiProgram:
    """A program as a `casadi.Function` of one vector that gives one vector.

    Attributes:
        function: the function.
        seconds: to build it.
        compile_seconds: to compile its C, once that is done.
    """

    def __init__(self, program):
        import casadi

        self.casadi, self.program, self.compile_seconds = casadi, program, None
        x = casadi.SX.sym("x", program.input_size)
        values = []
        for op, *rest in program.code:
            if op == "const":
                values.append(casadi.SX(rest[0]))
            elif op == "input":
                values.append(x[rest[0]])
            else:
                values.append(OPERATIONS[op](casadi, *(values[k] for k in rest)))
        y = casadi.vertcat(*(values[k] for k in program.results))
        self.seconds, self.function = once(lambda: casadi.Function("f", [x], [y]))

    def machine_call(self, row):
        """A call of the virtual machine on fixed buffers, without conversions."""
        buffer, call = self.function.buffer()
        given, out = np.array(row, dtype=float), np.zeros(self.program.output_size)
        buffer.set_arg(0, memoryview(given))
        buffer.set_res(0, memoryview(out))

        def run():
            call()

        # Neither keeps what it reads and writes alive.
        run.kept = (self.function, buffer, given, out)
        return run

    def library(self, folder):
        """Its C under gcc, in a loop over samples."""
        generator = self.casadi.CodeGenerator("casadi_model.c")
        generator.add(self.function)
        f = self.function
        loop = LOOP.format(
            work=max(1, f.sz_w()),
            iwork=max(1, f.sz_iw()),
            arg=f.sz_arg(),
            res=f.sz_res(),
            inputs=self.program.input_size,
            outputs=self.program.output_size,
        )
        self.compile_seconds, library = gcc(generator.dump() + loop, folder, "casadi_model")
        return library

    def native_call(self, library, flat):
        """A call of the C on samples (N, inputs), and where its results (N, outputs) come."""
        out = np.empty((len(flat), self.program.output_size))
        call = (ctypes.c_long(len(flat)), ctypes.c_void_p(flat.ctypes.data), ctypes.c_void_p(out.ctypes.data))

        def run():
            library.run(*call)

        # The addresses above do not keep the arrays alive.
        run.arrays = (flat, out)
        return run, out
