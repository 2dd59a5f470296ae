"""Scenarios that come with the package; they fit any robot."""

from __future__ import annotations

from typing import Any

BUILT_IN: dict[str, dict[str, Any]] = {
    "circle": {
        "name": "circle",
        "notes": "A turn of a circle at constant speed and one back, as large and as fast as suits a robot.",
        # Both ways: one way round rigid forces relieve some actuators of their friction and load others.
        "path": {"circle": {"turns": 1, "back": True}},
        "plant": {"drives": {"bandwidth": "500 Hz"}},
    },
    "pick-and-place": {
        "name": "pick-and-place",
        "notes": "Up, across and down, and back, as far and as fast as suits the robot.",
        "path": {"pick-and-place": {}},
        "plant": {"drives": {"bandwidth": "500 Hz"}},
    },
}
