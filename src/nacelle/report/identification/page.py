"""The pages about an identification and about a validation: one HTML file each that needs no other."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nacelle.errors import NacelleError
from nacelle.files import write_whole
from nacelle.identification.data.preparation import Samples
from nacelle.identification.identify import Identification
from nacelle.identification.validation import Validation
from nacelle.model.robot import Robot
from nacelle.page.markup import bullets, number, page, paragraph, table, text
from nacelle.report.identification.bodies import body_section, consistent_or_reason
from nacelle.report.identification.forces import force_section
from nacelle.report.identification.parameters import parameter_section
from nacelle.report.identification.verdict import identification_verdict, validation_verdict


def identification_page(identification: Identification, validation: Validation | None = None) -> str:
    """The page about an identification: one HTML file that needs no other.

    Args:
        identification: the estimates and the data that they were fitted to.
        validation: of the estimates on another motion; None if there was none.
    """
    robot, consistent = identification.robot, consistent_or_reason(identification)
    head = _about(robot) + identification_verdict(identification, consistent, validation)
    sections = [
        ("trust", "In plain words: what not to trust", bullets(_doubts(identification, validation))),
        ("data", "Data and method", _data_section(identification)),
        ("fit", "Forces that were fitted", force_section(identification.fit)),
    ]
    if validation is not None:
        sections.append(("validation", "Forces of another motion", force_section(validation)))
    sections += [
        ("parameters", "Base parameters", parameter_section(identification)),
        ("bodies", "Physically consistent parameters", body_section(consistent)),
    ]
    return page(f"Identification of {robot.name}", head, sections)


def validation_page(validation: Validation) -> str:
    """The page about a validation: one HTML file that needs no other."""
    head = _about(validation.robot) + validation_verdict(validation)
    data = validation.regression
    words = paragraph(
        f"{data.count} of {len(data.used)} filtered samples of {len(data.rows)} forces count, "
        f"in {_parts_in_words(len(data.lengths))}{_of_files(validation.files)}. "
        f"The model has {len(data.base)} base parameters."
    )
    sections = [("data", "Data", words), ("forces", "Forces", force_section(validation))]
    return page(f"Validation of {validation.robot.name}", head, sections)


def write_page(path: str | os.PathLike[str], page_text: str) -> Path:
    """Write a page to a file that does not exist yet, whole or not at all.

    Raises:
        NacelleError: if the file exists, or cannot be written.
    """
    target = Path(path)
    try:
        write_whole(target, page_text, new=True)
    except FileExistsError:
        raise NacelleError(f"{target} exists already; it is left as it is") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NacelleError(f"cannot write {str(target)[:80]!r}: {reason}") from None
    return target


def _about(robot: Robot) -> str:
    """The robot in one line."""
    title = f"{robot.title}; " if robot.title else ""
    words = f"{title}{len(robot.actuators)} actuators, motion {robot.motion.name}, hash {robot.hash[:16]}"
    return paragraph(words, "quiet")


def _doubts(identification: Identification, validation: Validation | None) -> list[str]:
    """What is not trustworthy, in plain words."""
    said = identification.words()
    if validation is None:
        said.append("no other motion was predicted: a model that fits its own data may fail beyond them")
    said.append(
        "intervals hold what noise does to the estimates of this model; effects that it does not have "
        "(elasticity, other friction, wrong geometry) move estimates by more"
    )
    return said


def _data_section(identification: Identification) -> str:
    """What was measured, how it was filtered, and how it was estimated."""
    estimator, data = identification.estimator, identification.estimator.regression_
    base = identification.base
    about = (inspect.getdoc(type(estimator)) or "").partition("\n")[0]
    options = repr(estimator)
    shown = options if len(options) <= 300 else options[:300] + " ..."
    return (
        paragraph(f"Method: {about} {shown}")
        + paragraph(
            f"{data.count} of {len(data.used)} filtered samples of {len(data.rows)} forces count, for "
            f"{len(base)} base parameters ({len(base.rigid)} of inertia, rotors and springs, "
            f"{len(base.friction)} of friction)."
        )
        + _part_table(identification.samples, [data.used[part] for part in data.parts()])
        + paragraph(
            "Encoders pass a filter without phase and are differentiated; regressor and forces pass the "
            "filter of the decimation side by side. Instruments are motions without the errors of the "
            "encoders. Below the rate at rest (rad/s or m/s) dry friction is undetermined, and samples do "
            "not count.",
            "quiet",
        )
    )


def _part_table(samples: Sequence[Samples], used: Sequence[np.ndarray]) -> str:
    """How every uninterrupted part was prepared."""
    rows = []
    for part, counts in zip(samples, used, strict=True):
        chosen = part.preparation
        rows.append(
            [
                text(part.file or "not named"),
                text(f"{number(float(part.time[0]))} to {number(float(part.time[-1]))}"),
                number(part.rate),
                number(part.band, 3),
                "none" if chosen.cutoff is None else number(chosen.cutoff, 3),
                "every one" if (chosen.decimation or 1) == 1 else f"1 of {chosen.decimation}",
                text(chosen.instruments),
                "none" if chosen.rest is None else number(chosen.rest, 2),
                f"{int(np.count_nonzero(counts))} of {len(counts)}",
            ]
        )
    heads = [
        "file",
        "time s>",
        "samples a second>",
        "band of the motion Hz>",
        "encoders filtered at Hz>",
        "kept>",
        "instruments",
        "rate at rest>",
        "samples that count>",
    ]
    return table(heads, rows)


def _of_files(files: Sequence[str]) -> str:
    return f" of {', '.join(files)}" if files else ""


def _parts_in_words(count: int) -> str:
    return "one uninterrupted part" if count == 1 else f"{count} uninterrupted parts"
