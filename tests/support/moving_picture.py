"""The picture that moves on the first page: PaLiDA on an inclined circle, photographed in headless Chromium.

`make moving` writes docs/pictures/moving/palida.gif; it needs Chromium (`support.browser`) and Pillow.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from nacelle.kinematics.pose_input import reference_pose
from nacelle.library import load
from nacelle.scene.figure import SceneItem, body_points, scene_page
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import poses_along
from support.browser import chromium_page

FILE = Path(__file__).parents[2] / "docs" / "pictures" / "moving" / "palida.gif"
# A turn of the circle: radius, incline about x, time, pictures.
_RADIUS, _INCLINE, _TURN, _PICTURES = 0.1, np.radians(30.0), 2.4, 36


def circle_page() -> str:
    """A page with PaLiDA on one turn of its inclined circle."""
    robot = load("palida")
    times = np.linspace(0.0, _TURN, _PICTURES + 1)
    angle = 2.0 * np.pi * times / _TURN
    x = np.tile(reference_pose(robot), (len(times), 1))
    x[:, 0] += _RADIUS * np.cos(angle)
    x[:, 1] += _RADIUS * np.cos(_INCLINE) * np.sin(angle)
    x[:, 2] += _RADIUS * np.sin(_INCLINE) * np.sin(angle)
    motion = poses_along(robot, times, x)
    item = SceneItem(robot_geometry(robot, motion), motion, traces=(body_points(motion, 1),))
    return scene_page([item], "PaLiDA", autoplay=False)


def photographs(text: str) -> list[Image.Image]:
    """Pictures of the page's figure at all times of one turn."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder, chromium_page(560, 660) as page:
        file = Path(folder) / "page.html"
        file.write_text(text, encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("figure[data-ready=true]")
        for k in range(_PICTURES):
            page.get_by_role("slider", name="time").fill(f"{_TURN * k / _PICTURES:.4f}")
            shot = Image.open(io.BytesIO(page.locator(".scene-view canvas").screenshot()))
            pictures.append(shot.convert("RGB"))
    return pictures


def main() -> None:
    """Write the file."""
    pictures = photographs(circle_page())
    palette = pictures[0].quantize(96)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    frames[0].save(
        FILE,
        save_all=True,
        append_images=frames[1:],
        duration=round(1000.0 * _TURN / _PICTURES),
        loop=0,
        optimize=True,
    )
    print(f"{FILE}: {FILE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
