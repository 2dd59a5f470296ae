"""Write robots of the library as robot_descriptions expects them: `python packaging/descriptions.py FOLDER`.

Each robot has a folder of its own with MJCF (and a scene with a floor and a light), URDF with the file of its
closures, a README with its sources and what the formats leave out, and the licence. Next to them are the
modules and the entries of the registry for https://github.com/robot-descriptions/robot_descriptions.py.
MuJoCo and Pinocchio load each file before anything is kept.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import mujoco
import numpy as np
import pinocchio

import nacelle

ROOT = Path(__file__).parents[1]
REPOSITORY = "nacelle_descriptions"
ROBOTS = ("delta", "fivebar", "gough-stewart", "orthoglide", "quattro")

SCENE = """\
<mujoco model="{name} scene">
  <include file="{name}.xml"/>
  <visual>
    <headlight diffuse="0.6 0.6 0.6" ambient="0.3 0.3 0.3" specular="0 0 0"/>
    <global azimuth="130" elevation="-20"/>
  </visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="0.3 0.5 0.7" rgb2="0 0 0" width="512" height="3072"/>
    <texture type="2d" name="floor" builtin="checker" rgb1="0.2 0.3 0.4" rgb2="0.1 0.2 0.3" width="300"
      height="300"/>
    <material name="floor" texture="floor" texuniform="true" texrepeat="5 5" reflectance="0.2"/>
  </asset>
  <worldbody>
    <light pos="0 0 3" dir="0 0 -1" directional="true"/>
    <geom name="floor" type="plane" size="0 0 0.05" pos="0 0 {floor:.3f}" material="floor"/>
  </worldbody>
</mujoco>
"""

README = """\
# {title}

{notes}

| | |
|---|---|
| degrees of freedom | {n} |
| driven joints | {drives} |
| bodies | {bodies} |
| loops | {closures} |

## MJCF

`mjcf/{name}.xml` has the loops as equality constraints; the keyframe `home` is assembled. `mjcf/scene.xml`
adds a floor.
{mjcf}
## URDF

`urdf/{name}.urdf` is the tree alone. `urdf/{name}.yaml` lists the closures in the form of Gepetto's
parallel robots, with the driven joints and a reference configuration; Pinocchio makes constraint models of
it.
{urdf}
## Sources

{sources}

Written from nacelle {version} by `packaging/descriptions.py`; licence: [Apache-2.0](LICENSE).
"""

MODULE = '''\
# SPDX-License-Identifier: Apache-2.0

"""{title} description."""

from os import getenv as _getenv
from os import path as _path

from ._cache import clone_to_cache as _clone_to_cache

REPOSITORY_PATH: str = _clone_to_cache(
    "{repository}",
    commit=_getenv("ROBOT_DESCRIPTION_COMMIT", None),
)

PACKAGE_PATH: str = _path.join(REPOSITORY_PATH, "{folder}")

{kind}_PATH: str = _path.join(PACKAGE_PATH, "{kind_folder}", "{file}")
'''

ENTRY = """\
    "{module}": Description(
        formats={{Format.{kind}}},
        tags={{"parallel"}},
        robot="{title}",
        maker="nacelle",
        dof={n},
        repository="{repository}",
        license_spdx="Apache-2.0",
        license_file="{folder}/LICENSE",
    ),
"""


def losses(exported: nacelle.io.ExportedRobot) -> str:
    """What a format leaves out, as a list."""
    if not exported.losses:
        return ""
    return "\nLeft out or changed:\n\n" + "\n".join(f"- {loss}" for loss in exported.losses) + "\n"


def lowest(model: mujoco.MjModel) -> float:
    """The height of the lowest body in the keyframe, less a tenth of the robot's size."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return float(data.xpos[:, 2].min()) - 0.2 * float(np.ptp(data.xpos, axis=0).max())


def write_robot(name: str, out: Path, registry: Path) -> str:
    """Write a robot; its entries in the registry."""
    robot, slug = nacelle.load(name), name.replace("-", "_")
    folder = out / f"{slug}_description"
    for kind in ("mjcf", "urdf"):
        (folder / kind).mkdir(parents=True)
    mjcf = nacelle.io.export_robot(robot, "mjcf", out=folder / "mjcf" / f"{slug}.xml", name=slug)
    urdf = nacelle.io.export_robot(robot, "urdf", out=folder / "urdf" / f"{slug}.urdf", name=slug)
    model = mujoco.MjModel.from_xml_path(str(folder / "mjcf" / f"{slug}.xml"))
    (folder / "mjcf" / "scene.xml").write_text(SCENE.format(name=slug, floor=lowest(model)))
    mujoco.MjModel.from_xml_path(str(folder / "mjcf" / "scene.xml"))
    pinocchio.buildModelFromUrdf(str(folder / "urdf" / f"{slug}.urdf"))
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "README.md").write_text(
        README.format(
            title=robot.title,
            notes=robot.notes.strip(),
            n=robot.motion.n,
            drives=", ".join(f"`{actuator.name}`" for actuator in robot.actuators),
            bodies=len(robot.bodies),
            closures=model.neq,
            name=slug,
            mjcf=losses(mjcf),
            urdf=losses(urdf),
            sources="\n".join(f"- {source}" for source in robot.sources),
            version=nacelle.__version__,
        )
    )
    entries = ""
    for kind, file in (("MJCF", f"{slug}.xml"), ("URDF", f"{slug}.urdf")):
        module = f"{slug}_mj_description" if kind == "MJCF" else f"{slug}_description"
        fields = {
            "title": robot.title,
            "repository": REPOSITORY,
            "folder": folder.name,
            "kind": kind,
            "kind_folder": kind.lower(),
            "file": file,
            "module": module,
            "n": robot.motion.n,
        }
        (registry / f"{module}.py").write_text(MODULE.format(**fields))
        entries += ENTRY.format(**fields)
    return entries


def write(out: Path) -> None:
    """Write all of them, or nothing."""
    with tempfile.TemporaryDirectory(dir=out.parent) as place:
        whole = Path(place) / "all"
        registry = whole / "robot_descriptions"
        registry.mkdir(parents=True)
        entries = "".join(write_robot(name, whole, registry) for name in ROBOTS)
        (registry / "entries.txt").write_text(entries)
        shutil.copy(ROOT / "LICENSE", whole / "LICENSE")
        whole.rename(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a new folder")
    options = parser.parse_args()
    if options.folder.exists():
        parser.error(f"{options.folder} exists already")
    write(options.folder.resolve())
