"""Proofs as files: the equations as text, the boxes, what is claimed, and the robot's hash.

A proof of a workspace is a NumPy archive (.npz) of

    header      JSON in UTF-8: coordinates, box, margins, names of the signs, the equations, what is claimed
    tree        a code for every box by levels (uint8): the side across which it is halved at its middle,
                250 inside, 251 outside, 252 cut, 253 undecided
    cut_leaf    for every slab the leaf that it cuts, in the order of the levels (uint32, ascending)
    cut_sign    which number decides there (uint8); one more than there are signs: the conditioning
    cut_form    c, g, low and high of the slab (float32)

A checker needs this file alone: `tests/support/proof_checker.py` reads it with other arithmetic and no code
of nacelle.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.model.robot import Robot
from nacelle.program.program import Program, variable_slices
from nacelle.proof.equations import ProofError
from nacelle.proof.region import REST, Margins, PoseRegion
from nacelle.proof.workspace import Cuts, ProvenWorkspace

FORMAT = "nacelle-proof/1"
CLAIM = """\
At coordinates u of a box, and for some rest with |rest| <= rest_bound, a pose is taken if all numbers of
signs(u, rest) are above 0 and s_min/s_max of J(u, rest), the quotient of its smallest and its largest
singular value, is above the parallel margin. With u = m + h t, |t_i| <= 1, m the middle of a box and h half
its widths: all poses of a box with code 250 are taken, none of one with code 251. In a box with code 252 let
v = c + g . t for each of its slabs, |v| for one of the conditioning; poses with v > high for all slabs are
taken, poses with v < low for one slab are not. The share of the volume that this leaves open is not above
undecided."""
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def program_text(program: Program) -> str:
    """A program as text, a line for each value; numbers are the doubles that they are."""
    lines = []
    names = [
        f"{variable.name}[{k}]"
        for variable, span in variable_slices(program.inputs)
        for k in range(variable.size)
    ]
    for number, (op, *arguments) in enumerate(program.code):
        values = [f"v{k}" for k in arguments]
        if op == "input":
            text = names[arguments[0]]
        elif op == "const":
            text = repr(float(arguments[0]))
        elif op in _SYMBOLS:
            text = f"{values[0]} {_SYMBOLS[op]} {values[1]}"
        elif op == "neg":
            text = f"-{values[0]}"
        else:
            text = f"{op}({', '.join(values)})"
        lines.append(f"v{number} = {text}")
    for variable, span in variable_slices(program.outputs):
        lines += [f"{variable.name}[{k}] = v{program.results[span.start + k]}" for k in range(variable.size)]
    return "\n".join(lines) + "\n"


def save_proof(proved: ProvenWorkspace, path: str | os.PathLike[str]) -> Path:
    """Write a proof to a file (.npz)."""
    region = proved.region
    header: dict[str, Any] = {
        "format": FORMAT,
        "robot": region.robot.name,
        "hash": region.robot.hash,
        "coordinates": list(region.names),
        "units": list(region.units),
        "box": region.box.tolist(),
        "at": region.at.tolist(),
        "serial": region.margins.serial,
        "parallel": region.margins.parallel,
        "signs": list(region.sign_names),
        "rest_bound": REST,
        "jacobian": list(region.programs["rates"].outputs[0].shape),
        "undecided": proved.shares.undecided * (1.0 + 1e-9),
        "claim": CLAIM,
        "equations": {name: program_text(program) for name, program in region.programs.items()},
    }
    file = Path(path)
    if file.suffix != ".npz":
        raise ProofError(f"a proof is a file .npz, not {file.name!r}")
    np.savez_compressed(
        file,
        header=np.frombuffer(json.dumps(header, indent=1).encode(), dtype=np.uint8),
        tree=proved.tree,
        cut_leaf=proved.cuts.leaf.astype(np.uint32),
        cut_sign=proved.cuts.sign,
        cut_form=proved.cuts.form,
    )
    return file


def load_proof(robot: Robot, path: str | os.PathLike[str]) -> ProvenWorkspace:
    """Read a proof of a workspace again, for the robot that it is about; nothing of it is checked.

    Raises:
        ProofError: if the file is no proof, or about another robot.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in ("header", "tree", "cut_leaf", "cut_sign", "cut_form")}
        header = json.loads(bytes(arrays["header"]))
    except (OSError, ValueError, KeyError) as error:
        raise ProofError(f"{os.fspath(path)} is not a proof: {error}") from None
    if header.get("format") != FORMAT:
        raise ProofError(f"{os.fspath(path)} has the format {header.get('format')!r}, not {FORMAT!r}")
    if header["hash"] != robot.hash:
        raise ProofError(f"{os.fspath(path)} is about another robot than {robot.name}: their hashes differ")
    region = PoseRegion(
        robot.numeric,
        tuple(header["coordinates"]),
        np.array(header["box"]),
        np.array(header["at"]),
        Margins(header["serial"], header["parallel"]),
    )
    cuts = Cuts(arrays["cut_leaf"].astype(np.int64), arrays["cut_sign"], arrays["cut_form"])
    return ProvenWorkspace(region, arrays["tree"], cuts, len(arrays["tree"]))
