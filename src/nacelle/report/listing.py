"""The robots of the library in a list, kept in the user's cache: reading them all takes a second."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nacelle import robots
from nacelle.emit.store import Store
from nacelle.model import __path__ as model_folders


def library_rows() -> list[dict[str, Any]]:
    """For each robot of the library its name, numbers of legs, bodies and actuators, motion and title."""
    texts = {name: robots.text(name) for name in robots.all_names()}
    store, key = Store(), f"listing {_listing_hash(texts)}"
    stored = store.get(key)
    if stored is not None:
        return list(json.loads(stored))
    from nacelle.model.read import read_text

    rows = []
    for name, text in texts.items():
        robot, _ = read_text(text, f"{name}.yaml")
        rows.append(
            {
                "name": name,
                "legs": len(robot.legs),
                "bodies": len(robot.described_bodies),
                "actuators": len(robot.actuators),
                "motion": robot.motion.name,
                "title": robot.title,
            }
        )
    store.put(key, json.dumps(rows).encode())
    return rows


def _listing_hash(texts: dict[str, str]) -> str:
    """What the list depends on: the descriptions, and the code that reads them."""
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
    for folder in model_folders:
        for file in sorted(Path(folder).glob("*.py")):
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
