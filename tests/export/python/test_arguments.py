"""Names and docstrings of functions written in Python."""

from __future__ import annotations

from nacelle.compile import make_program
from nacelle.export.entry import Entry
from nacelle.export.python.arguments import Arguments


def test_names_are_words_of_python_and_apart() -> None:
    program = make_program(
        lambda a, b, c: {"out": a[0] + b[0] + c[0]}, None, {"np": (1,), "class": (1,), "v'": (1,)}
    )
    made = Arguments(Entry("total", "a sum", program, {"np": "first, m"}, None))
    assert len(set(made.inputs)) == 3
    assert all(name.isidentifier() for name in made.inputs)
    assert "np" not in made.inputs
    assert "class" not in made.inputs
    assert not any(
        name.startswith(made.prefix) and name[len(made.prefix) :].isdigit() for name in made.inputs
    )
    text = "\n".join(made.docstring("Compute", "..."))
    assert text.count('"""') == 2
    assert "(..., 1); first, m." in text
    assert "Args:" in text
    assert "Returns:" in text
