"""The verdict at the top of a page, in plain words: four questions that an estimate must answer.

Do the parameters predict the forces of the data they were estimated from? Those of another motion? May each
parameter be trusted by itself? Is there a robot that has them? The first two may be answered with yes and the
third with no: combinations of parameters are known, not each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nacelle.identification.consistency.consistent import ConsistentParameters
from nacelle.identification.identify import Identification
from nacelle.identification.validation import AT_FLOOR, Validation
from nacelle.page.markup import bullets, element, number, paragraph
from nacelle.report.identification.forces import MEMORY, predicted_well
from nacelle.report.identification.parameters import trusted

_ORDER = ("good", "fair", "poor")
# Probability up to which the distance of the nearest robot may be chance.
_CHANCE = 0.99

Answer = tuple[str, str]
"""How good an answer is, "good", "fair" or "poor", and the answer in words."""


def verdict(headline: str, answers: Sequence[Answer]) -> str:
    """A box: the headline, and all answers; its colour is that of the worst."""
    lines = bullets(words for _, words in answers)
    return element("div", paragraph(headline), lines, kind=f"verdict {_worst(answers)}")


def _worst(answers: Sequence[Answer]) -> str:
    return max((kind for kind, _ in answers), key=_ORDER.index)


def identification_verdict(
    identification: Identification, consistent: ConsistentParameters | str, validation: Validation | None
) -> str:
    """The verdict on an identification."""
    predictions = [_forces(identification.fit, "of the data that they were estimated from")]
    if validation is not None:
        predictions.append(_forces(validation, "of a motion that they were not estimated from"))
    others = [_each(identification), _excitation(identification), _robot(identification, consistent)]
    if _worst(predictions) == "poor":
        headline = "The parameters do not predict the forces: do not use them."
    else:
        headline = {
            "good": "The parameters predict the forces, and can be trusted within their intervals.",
            "fair": "The parameters predict the forces; not every one of them can be trusted by itself.",
            "poor": "The parameters predict the forces together; by themselves many are not trustworthy.",
        }[_worst(others)]
    if validation is None:
        untested = "They were not tested on another motion: how they predict one is not known."
        predictions.append(("fair", untested))
    return verdict(headline, [*predictions, *others])


def validation_verdict(validation: Validation) -> str:
    """The verdict on a validation."""
    answer = _forces(validation, "of this motion")
    headline = {
        "good": "The parameters predict the forces of this motion down to their noise.",
        "fair": "The parameters predict the forces of this motion, but not down to their noise.",
        "poor": "The parameters do not predict the forces of this motion well.",
    }[answer[0]]
    if not any(math.isfinite(ratio) for ratio in validation.ratio.tolist()) and answer[0] == "fair":
        headline = "The parameters predict the forces of this motion well; their noise is not known."
    return verdict(headline, [answer])


def _forces(validation: Validation, of_what: str) -> Answer:
    """Whether forces are predicted."""
    well = predicted_well(validation)
    ratios = [ratio for ratio in validation.ratio.tolist() if math.isfinite(ratio)]
    explained = f"{_explained(validation.score)} of their variation is explained (R²)"
    if not all(well):
        rows = ", ".join(row for row, good in zip(validation.rows, well, strict=True) if not good)
        return "poor", f"They predict the forces {of_what} poorly in {rows}; {explained}."
    noise = f", residuals up to {number(max(ratios), 2)} times the noise" if ratios else ""
    at_noise = bool(ratios) and max(ratios) <= AT_FLOOR
    chances = zip(validation.rows, validation.whiteness.tolist(), strict=True)
    remembering = ", ".join(row for row, chance in chances if chance < MEMORY)
    memory = ""
    if remembering:
        memory = f"; the residuals of {remembering} have memory: something systematic is not in the model"
        memory += ", though it is small beside the noise" if at_noise else ""
    quality = "down to the noise" if at_noise else "well"
    return (
        "good" if at_noise else "fair",
        f"They predict the forces {of_what} {quality}{noise}; {explained}{memory}.",
    )


def _explained(score: float) -> str:
    """R^2 in percent, never rounded up to all of it."""
    return "more than 99.99 %" if score > 0.9999 else f"{number(100.0 * score, 4)} %"


def _each(identification: Identification) -> Answer:
    """How many parameters are known by themselves."""
    count, trusted_count = len(identification.base), len(trusted(identification))
    words = f"{trusted_count} of {count} parameters are known to within 10 % by themselves"
    if trusted_count == count:
        return "good", words + "."
    names = identification.estimator
    bad = len(names.unidentified_) + len(set(names.not_excited_) - set(names.unidentified_))
    others = [
        f"{len(names.weak_)} are weak" if names.weak_ else "",
        f"{bad} are not identified" if bad else "",
    ]
    return "fair", f"{words}; {' and '.join(filter(None, others))}: do not read physics into those numbers."


def _excitation(identification: Identification) -> Answer:
    condition = identification.estimator.condition_
    size = f"the condition of the scaled regressor is {number(condition, 4)}"
    if identification.excitation == "good":
        return "good", f"The motion excites the parameters well: {size}."
    hint = "a motion made by `nacelle excite` would do better"
    return (
        identification.excitation,
        f"The motion excites the parameters {_ADVERB[identification.excitation]}: {size}; {hint}.",
    )


_ADVERB = {"fair": "fairly", "poor": "poorly"}


def _robot(identification: Identification, consistent: ConsistentParameters | str) -> Answer:
    """Whether there is a robot with these parameters."""
    from scipy.stats import chi2

    if isinstance(consistent, str):
        return "poor", f"No robot with such parameters was found: {consistent}."
    distance = consistent.distance
    bodies = (
        f"; at the boundary of what is possible: {', '.join(consistent.active)}" if consistent.active else ""
    )
    if distance <= math.sqrt(chi2.ppf(_CHANCE, len(identification.base))):
        return (
            "good",
            f"A robot can have them, {number(distance, 2)} standard deviations from the estimates{bodies}.",
        )
    return (
        "poor",
        f"The nearest robot that can be built is {number(distance, 2)} standard deviations from the "
        f"estimates, more than chance allows: the model or the data are wrong somewhere{bodies}.",
    )
