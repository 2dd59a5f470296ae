"""The independent checker accepts proofs and rejects those that were tampered with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nacelle import robots
from nacelle.proof.file import load_proof, save_proof
from nacelle.proof.region import Margins
from nacelle.proof.workspace import ProvenWorkspace, prove_workspace
from proof.test_workspace import REGIONS, are_taken
from support.library import library_robot

pytest.importorskip("flint", reason="python-flint is missing: it comes with requirements/dev.txt")
from support import proof_checker as checker
from support import proof_equations


@pytest.fixture(scope="module")
def proved() -> ProvenWorkspace:
    """A small proof, with leaves of all kinds."""
    return prove_workspace(library_robot("fivebar"), REGIONS["fivebar"], decided=0.95, boxes=900)


@pytest.fixture(scope="module")
def proof(proved: ProvenWorkspace, tmp_path_factory: pytest.TempPathFactory) -> checker.Proof:
    """The same as the checker reads it."""
    return checker.read_proof(save_proof(proved, tmp_path_factory.mktemp("proof") / "fivebar.npz"))


def mixed_leaves(proved: ProvenWorkspace) -> np.ndarray:
    """Leaves that hold poses that are taken and poses that are not, at least a tenth of each."""
    boxes, _ = proved.leaves
    t = np.random.default_rng(1).uniform(0.0, 1.0, (60, boxes.shape[1]))
    u = boxes[:, None, :, 0] + t * (boxes[..., 1] - boxes[..., 0])[:, None]
    share = are_taken(proved, u.reshape(-1, boxes.shape[1])).reshape(len(boxes), -1).mean(axis=1)
    return np.flatnonzero((share > 0.1) & (share < 0.9))


def test_accepts(proof: checker.Proof) -> None:
    checked, deciding = checker.check_proof(proof)
    assert checked == deciding > 100
    assert {250, 251, 252, 253} <= set(proof.tree.tolist())


@pytest.mark.parametrize("name", proof_equations.ROBOTS)
def test_equations_are_those_of_the_robot(name: str, tmp_path: Path) -> None:
    proved = prove_workspace(library_robot(name), REGIONS[name], boxes=1)
    proof = checker.read_proof(save_proof(proved, tmp_path / "proof.npz"))
    compared, worst = proof_equations.compare(proof, robots.text(name), 5)
    assert compared == 5
    assert worst < 1e-13
    # A length that is another one is noticed.
    other = (
        robots.text(name).replace("250 mm", "251 mm").replace("600 mm", "601 mm").replace("310 mm", "311 mm")
    )
    with pytest.raises(checker.RejectedError):
        proof_equations.compare(proof, other, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGIONS)
def test_accepts_proofs_of_robots(name: str, tmp_path: Path) -> None:
    proved = prove_workspace(library_robot(name), REGIONS[name], decided=0.9, boxes=40_000)
    file = save_proof(proved, tmp_path / "proof.npz")
    checker.check_proof(checker.read_proof(file), 200)
    again = load_proof(library_robot(name), file)
    u = np.random.default_rng(0).uniform(*proved.region.box.T, (1000, len(proved.region.names)))
    assert np.array_equal(again.classify(u), proved.classify(u))


def tampered(proof: checker.Proof, mixed: np.ndarray, count: int) -> Iterator[tuple[str, checker.Proof]]:
    """Proofs that are wrong, in one thing each."""
    rng = np.random.default_rng(0)
    header, tree = proof.header, proof.tree
    _, codes = checker.walk(proof)
    # Places in the tree of the leaves, in their order.
    places = np.flatnonzero(tree >= 250)
    undecided, cut = (mixed[codes[mixed] == code] for code in (253, 252))
    # Cut by one slab alone, which goes through the midst of the box then.
    single = cut[np.bincount(proof.leaf, minlength=len(codes))[cut] == 1]
    for number in range(count):
        kind = number % 10
        other = replace(proof, tree=tree.copy(), form=proof.form.copy(), header=dict(header))
        if kind < 4:
            leaves, new = (
                (undecided, 250),
                (undecided, 251),
                (np.flatnonzero(codes == 250), 251),
                (np.flatnonzero(codes == 251), 250),
            )[kind]
            other.tree[places[rng.choice(leaves)]] = new
        elif kind < 6:
            # A cut box that is called inside, or outside, as a whole; its slabs go, too.
            leaf = int(rng.choice(cut))
            kept = proof.leaf != leaf
            other.tree[places[leaf]] = 250 + kind - 4
            other = replace(other, leaf=proof.leaf[kept], sign=proof.sign[kept], form=proof.form[kept])
        elif kind == 6:
            row = rng.choice(np.flatnonzero(np.isin(proof.leaf, single)))
            kept = np.arange(len(proof.leaf)) != row
            other = replace(other, leaf=proof.leaf[kept], sign=proof.sign[kept], form=proof.form[kept])
        elif kind == 7:
            row = rng.choice(np.flatnonzero(np.isin(proof.leaf, single)))
            # The slab elsewhere, by more than it is wide.
            width = other.form[row, -1] - other.form[row, -2]
            other.form[row, 0] += 2.0 * width * rng.choice([-1.0, 1.0])
        elif kind == 8:
            place = rng.integers(len(tree))
            other = replace(
                other, tree=np.delete(tree, place) if rng.uniform() < 0.5 else np.insert(tree, place, 0)
            )
        else:
            choice = number // 10 % 4
            if choice == 0:
                other.header["undecided"] *= 0.9
            elif choice == 1:
                other.header["parallel"] = 0.2
            elif choice == 2:
                other.header["box"] = (1.2 * proof.box).tolist()
            else:
                # Longer bars on one side.
                texts = dict(header["equations"])
                texts["signs"] = texts["signs"].replace("0.01124999", "0.01324999")
                assert texts != header["equations"]
                other.header["equations"] = texts
                other.steps = {name: checker.read_equations(text) for name, text in texts.items()}
        yield f"{number} ({kind})", other


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_rejects_tampered_proofs(proof: checker.Proof, proved: ProvenWorkspace, count: int) -> None:
    for label, other in tampered(proof, mixed_leaves(proved), count):
        with pytest.raises(checker.RejectedError):
            pytest.fail(f"{label}: {checker.check_proof(other)}")


def test_refuses_other_files(tmp_path: Path) -> None:
    (tmp_path / "proof.npz").write_bytes(b"no proof")
    with pytest.raises(checker.RejectedError):
        checker.read_proof(tmp_path / "proof.npz")


def test_margin_of_a_proof_is_kept(tmp_path: Path) -> None:
    proved = prove_workspace(
        library_robot("fivebar"), REGIONS["fivebar"], serial=0.02, parallel=0.05, boxes=500
    )
    again = load_proof(library_robot("fivebar"), save_proof(proved, tmp_path / "p.npz"))
    assert again.region.margins == Margins(0.02, 0.05)
