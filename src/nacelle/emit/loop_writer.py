"""What loops around programs are written with, whatever the language: values, vectors, arrays, loops.

Newton's iteration, the Runge-Kutta method and the implicit method are functions that call a writer
(`newton.write_newton`, `rk4.write_rk4`, `irk5_steps`). LLVM writes an instruction for each call
(`jit.loops`), C and CUDA statements (`c.loops`).

A `SampleWriter` is for loops of a sample: LLVM has one sample in each lane of a vector, C one alone. A
sample that leaves a loop keeps its values: in lanes under a mask, in C as its loop has ended. An
`ArrayWriter` is for functions over arrays in memory.

A value is text: a name of LLVM, an expression of C. An expression is evaluated where it is used, so what must
not change meanwhile, or is used often, gets a name by `let`. Kinds of values are "real", "whole" and "bit",
and "vector" for `width` numbers that follow one another in an array; in C that is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

Index = str | int
"""An integer: a number that is known, or a value."""

Entries = Callable[[Index], str]
"""A vector that is read: its entry of an index."""


class WrittenLoop(ABC):
    """A loop that is being written.

    Attributes:
        index: of the round, an integer.
    """

    index: str

    @abstractmethod
    def carry(self, name: str, first: Index, kind: str = "real") -> str:
        """A value that each round hands to the next, and the last one to what follows the loop."""

    @abstractmethod
    def set_next(self, name: str, value: str) -> None:
        """What the next round has for a carried value; the old one is not used after this."""


class Writer(ABC):
    """Writes values and branches.

    Operators of `real` are + - * / and the comparisons < <= > >= == !=; of `whole` + - * / % << >> and the
    comparisons == != < > >=; of `combine_bits` & and |; of `unary` "-", "abs", "sqrt", "finite" of numbers,
    "not" of
    bits, "real" of an integer as a number. Comparisons with NaN are false, but for !=.

    Attributes:
        width: numbers in a vector of the target: samples side by side, or entries of an array.
    """

    width: int

    @abstractmethod
    def argument(self, name: str) -> str:
        """A number or an integer that the function is called with."""

    @abstractmethod
    def name_value(self, name: str, value: str, kind: str = "real") -> str:
        """Give a value a name, and evaluate it here."""

    @abstractmethod
    def number(self, value: float) -> str:
        """A constant."""

    @abstractmethod
    def unary(self, operator: str, a: str, kind: str = "real") -> str:
        """An operation on one value."""

    @abstractmethod
    def real(self, operator: str, a: str, b: str, kind: str = "real") -> str:
        """An operation on numbers, or a comparison of them."""

    @abstractmethod
    def product_sum(self, a: str, b: str, c: str, kind: str = "real") -> str:
        """Give a b + c."""

    @abstractmethod
    def whole(self, operator: str, a: Index, b: Index) -> str:
        """An operation on integers that are the same for all samples, or a comparison of them."""

    @abstractmethod
    def combine_bits(self, operator: str, a: str, b: str) -> str:
        """Join bits."""

    @abstractmethod
    def choose(self, bit: str, a: Index, b: Index, kind: str = "real") -> str:
        """Take a where a bit is set, else b."""

    @abstractmethod
    def when(self, condition: str) -> AbstractContextManager[None]:
        """What is done only if a condition holds that is the same for all samples."""


# ---- loops of a sample


class Vector(ABC):
    """A vector of a sample, in memory or in registers."""

    @abstractmethod
    def get(self, j: Index) -> str:
        """Entry j."""

    @abstractmethod
    def put(self, j: Index, value: str) -> None:
        """Write entry j, of the samples that are in the loop still."""


class SampleLoop(WrittenLoop):
    """A loop that samples leave one by one.

    Attributes:
        active: the samples that are in it.
    """

    active: str

    @abstractmethod
    def leave_unless(self, bit: str) -> None:
        """Samples without the bit leave; what follows in this round, and the next ones, are of the others."""

    @abstractmethod
    def count(self, name: str) -> None:
        """Add one to a carried integer of the samples that have not left."""


class SampleWriter(Writer):
    """Writes loops of a sample."""

    @abstractmethod
    def load_vector(self, vector: Vector, size: int) -> Vector:
        """A vector whose entries are loaded here, once; what is put into it is not got from it."""

    def unless(self, a: str, b: str) -> str:
        """Whether a is set and b is not."""
        return self.combine_bits("&", a, self.unary("not", b, "bit"))

    @abstractmethod
    def only_if(self, condition: str, a: str) -> str:
        """Whether a bit is set, and a condition that is the same for all samples."""

    @abstractmethod
    def select_if(self, condition: str, a: str, b: str) -> str:
        """Take the number a if a condition holds that is the same for all samples, else b."""

    @abstractmethod
    def each(self, size: int, body: Callable[[Index], None]) -> None:
        """Statements for every entry of a vector."""

    @abstractmethod
    def fold(
        self, name: str, size: int, first: str, body: Callable[[Index, str], str], kind: str = "real"
    ) -> str:
        """What all entries of a vector give: the next value from the one so far, entry by entry."""

    @abstractmethod
    def stages(self, count: int, body: Callable[[Index], None]) -> None:
        """Statements for every stage of a step, each with an evaluation of a program."""

    @abstractmethod
    def pick(self, stage: Index, values: Sequence[str]) -> str:
        """The value of a stage."""

    @abstractmethod
    def rounds(self, name: str, stop: Index) -> AbstractContextManager[SampleLoop]:
        """A loop from 0 to before the stop, which ends when all samples have left."""

    @abstractmethod
    def where(self, bit: str) -> AbstractContextManager[None]:
        """What is put only where a bit is set."""


# ---- functions over arrays


class ArrayWriter(Writer):
    """Writes a function over arrays in memory; arrays are addresses, matrices are by columns."""

    @abstractmethod
    def maximum(self, a: str, b: str) -> str:
        """The larger of two numbers; NaN if one of them is."""

    def combination(self, weights: Sequence[float], values: Sequence[str]) -> str:
        """A sum of values with constant weights."""
        total = self.real("*", values[0], self.number(weights[0]))
        for weight, value in zip(weights[1:], values[1:], strict=True):
            total = self.product_sum(value, self.number(weight), total)
        return total

    def spread(self, scalar: str) -> str:
        """A vector of one number."""
        return self.lanes([scalar] * self.width)

    @abstractmethod
    def lanes(self, scalars: Sequence[str]) -> str:
        """A vector of numbers."""

    @abstractmethod
    def lane(self, vector: str, lane: int) -> str:
        """A number of a vector."""

    @abstractmethod
    def address(self, array: str, index: Index) -> str:
        """The array from an entry on."""

    @abstractmethod
    def load(self, array: str, index: Index, kind: str = "real") -> str:
        """An entry of an array of numbers or integers, or a vector from there on."""

    @abstractmethod
    def store(self, value: Index, array: str, index: Index, kind: str = "real") -> None:
        """Write an entry of an array, or a vector from there on."""

    @abstractmethod
    def loop(self, first: Index, stop: Index, step: int = 1) -> AbstractContextManager[WrittenLoop]:
        """A loop of an index from the first to before the stop; none where that is not above it."""

    @abstractmethod
    def endless_loop(self) -> AbstractContextManager[None]:
        """A loop that is left from within the function alone."""

    @abstractmethod
    def return_integer(self, result: Index) -> None:
        """Return an integer from within the function."""

    @abstractmethod
    def call(self, function: str, *arguments: tuple[str, str], result: bool = False) -> str:
        """Call a function with values of kinds, addresses are "array" or "wholes"; it may give an integer."""
