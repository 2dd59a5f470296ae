"""Linear forms and powers: signs and factors are taken out, equal items are one."""

from __future__ import annotations

from nacelle.program.algebra.algebra import ONE, Algebra


def test_equal_forms_are_one_item() -> None:
    algebra = Algebra()
    x, y = algebra.add_atom("input", 0), algebra.add_atom("input", 1)
    assert algebra.add_atom("input", 0) == x
    plain, doubled = algebra.add_linear({x: 1.0, y: -1.0}), algebra.add_linear({x: -2.0, y: 2.0})
    assert plain[1] == doubled[1]
    assert doubled[0] == -2.0 * plain[0]
    assert algebra.add_power({x: 2, y: -1}) == algebra.add_power({y: -1, x: 2})
    assert ONE == 0


def test_what_no_root_needs_is_forgotten() -> None:
    algebra = Algebra()
    x, y = algebra.add_atom("input", 0), algebra.add_atom("input", 1)
    scale, kept = algebra.add_linear({x: 1.0, y: 1.0})
    lost = algebra.add_power({x: 3})
    algebra.roots.append((scale, kept))
    copy = algebra.copy()
    algebra.prune()
    assert lost not in algebra.power
    assert lost in copy.power
    assert set(algebra.below(kept)) == {x, y}
    assert algebra.uses()[kept] == 1
