"""XML as it is written: numbers that read back, rotations to the last digit, comments that end in time."""

from xml.etree import ElementTree

import numpy as np
import pytest

from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.write.text import XmlNode, file_text, joined_numbers, principal, rpy, shortest_number
from nacelle.spatial.rotation import rotation_rpy
from support.random_robots import random_rotation


def test_numbers_read_back_to_the_last_bit() -> None:
    values = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    assert [float(word) for word in joined_numbers(values).split()] == values.tolist()
    assert (shortest_number(2.0), shortest_number(-0.0)) == ("2", "0")


@pytest.mark.parametrize("tip", [0.0, 1e-9, 1e-5])
def test_angles_are_exact_at_right_angles_too(tip: float) -> None:
    rng = np.random.default_rng(1)
    listed = [random_rotation(rng) for _ in range(20)]
    listed += [rotation_rpy(np.array([0.3, sign * (0.5 * np.pi - tip), 0.7])) for sign in (1.0, -1.0)]
    for R in listed:
        np.testing.assert_allclose(rotation_rpy(rpy(R)), R, atol=4e-16)


def test_principal_moments_give_the_inertia_back() -> None:
    rng = np.random.default_rng(2)
    R = random_rotation(rng)
    I = R @ np.diag([1.0, 2.0, 3.0]) @ R.T
    moments, axes = principal(I)
    np.testing.assert_allclose((axes * moments) @ axes.T, I, atol=1e-15)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    # A flat body: engines compare the sum as it is.
    assert moments[0] + moments[1] >= moments[2]
    assert np.array_equal(principal(np.diag([3.0, 2.0, 2.0]))[1], np.eye(3))


def test_a_report_cannot_end_its_comment() -> None:
    root = XmlNode("a")
    root.add("b", name='x"<&>')
    report = ExchangeReport(["done -- so"], ["lost --> <c/>"])
    text = file_text(root, "title", report)
    assert ElementTree.fromstring(text).find("b").get("name") == 'x"<&>'  # type: ignore[union-attr]  # it is there
    assert text.count("-->") == 1
    assert "- lost - -> <c/>" in text
