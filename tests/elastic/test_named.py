"""Named models of flexible robots: the smallest form that there is, and inputs that it takes."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.dynamics.models import elastic_gaps
from nacelle.elastic.named import elastic_model, random_inputs
from nacelle.errors import KinematicsError
from support.flexible_robots import flexible, prrrp


def test_the_smallest_form() -> None:
    assert elastic_model(prrrp(), "elastic_inverse_dynamics").form == "lengths"
    assert elastic_model(flexible("delta"), "elastic_inverse_dynamics").form == "condensed"
    assert elastic_model(flexible("fivebar", ("proximal",)), "elastic_forward_dynamics").form == "general"


@pytest.mark.parametrize("form", ["condensed", "general"])
def test_sampled_inputs_fit_their_model(form: str) -> None:
    """Shapes are those of the model, each input is explained, positions close all loops."""
    robot = prrrp((0.0, 0.0, -9.81))
    model = elastic_model(robot, "elastic_inverse_dynamics", form=form)
    inputs = random_inputs(model, 3)
    assert {name: value.shape[1:] for name, value in inputs.items()} == dict(model.inputs)
    assert set(model.inputs) <= set(model.meaning)
    if form == "general":
        for p in inputs["p"]:
            assert np.max(np.abs(elastic_gaps(robot, p)["gap"])) < 1e-10
    forces = [model.function(robot, *(value[k] for value in inputs.values()))["force"] for k in range(3)]
    assert np.all(np.isfinite(forces))


@pytest.mark.parametrize(
    ("name", "form", "words"),
    [
        ("elastic_invers_dynamics", None, "did you mean 'elastic_inverse_dynamics'"),
        ("elastic_inverse_dynamics", "small", "no form is called 'small'"),
    ],
)
def test_names_that_there_are_not(name: str, form: str | None, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        elastic_model(prrrp(), name, form=form)
