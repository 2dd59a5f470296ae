"""One robot in the scene of the page: a frame for each body with its meshes, grips, arrows, lines.

To move the robot is to set the frames; meshes are sent once. Only what has changed is sent. Solids are sent
as triangles, round ones smooth: vertices (N, 3), m, and faces (M, 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from nacelle.kinematics.solve.inverse import BodyPoses
from nacelle.model.leg import PLATFORM
from nacelle.scene.colours import ARROW_COLOURS, NEAR_COLOUR, OUT_COLOUR, TRACE_COLOUR, rgb_bytes
from nacelle.scene.faces import cylinder_faces, solid_faces, sphere_faces, triangulate
from nacelle.scene.geometry import RobotGeometry, link_frame, robot_geometry, stretch_link
from nacelle.shapes.solid import Ball, DrawableSolid, Mesh, Rod
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_matrices
from nacelle.spatial.scalar import Array
from nacelle.view.loads import Loads, LoadScales, arrow_segments
from nacelle.view.session import Grip, PoseStatus, Session
from nacelle.view.slices import Slice

# ---- solids as triangles


_SIDES = 24


def join_meshes(meshes: Iterable[Mesh]) -> Mesh:
    """Several meshes as one."""
    parts = list(meshes)
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    return Mesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts[:-1], strict=True)]),
    )


def solid_mesh(solid: DrawableSolid) -> Mesh:
    """The triangles of a solid in its own frame."""
    if isinstance(solid, Mesh):
        return solid
    bands: Iterable[Array]
    if isinstance(solid, Rod):
        # Both ends and the side share no corners: so the edges between them stay sharp.
        quads = cylinder_faces(solid.start, solid.stop, solid.radius, np.inf, sides=_SIDES)
        bands = np.split(quads[:, ::-1], 3)
    elif isinstance(solid, Ball):
        bands = [sphere_faces(solid.centre, solid.radius, _SIDES)[:, ::-1]]
    else:
        # Nor do flat faces.
        bands = solid_faces(solid, np.inf)[:, None]
    return join_meshes(Mesh(*triangulate(band)) for band in bands)


# ---- the stage


def quaternions_wxyz(R: Array) -> Array:
    """Quaternions (..., 4), scalar first, of rotation matrices (..., 3, 3)."""
    return np.roll(quat_from_matrices(R), 1, axis=-1)


class Stage:
    """A robot on the stage.

    Attributes:
        geometry: what is drawn of it.
    """

    def __init__(self, scene: Any, root: str, session: Session, offset: Array) -> None:
        """Send everything that is drawn of a robot.

        Args:
            scene: the scene of the server.
            root: name of the node below which everything is.
            session: the robot.
            offset: where its base is (3,), m.
        """
        self._scene, self._root, self._robot = scene, root, session.robot
        self.geometry: RobotGeometry = robot_geometry(session.robot)
        extent = self.geometry.extent
        self._node = scene.add_frame(root, show_axes=False, position=tuple(offset))
        scene.add_frame(
            f"{root}/axes",
            axes_length=0.12 * extent,
            axes_radius=0.003 * extent,
            origin_radius=0.005 * extent,
        )
        self._frames = [
            scene.add_frame(f"{root}/body{b}", show_axes=False) for b in range(len(session.robot.bodies))
        ]
        self._ghosts = {
            b: scene.add_frame(f"{root}/ghost{b}", show_axes=False, visible=False)
            for b in session.robot.platform.bodies
        }
        self._meshes: dict[int, list[tuple[Any, str]]] = {}
        self._send_meshes()
        self._links = [self._send_link(k) for k in range(len(self.geometry.links))]
        self._standing = PoseStatus.GOOD
        self._sent: dict[int, Array] = {}
        self._grips: list[Any] = []
        self._others: dict[str, Any] = {}
        self._count = 0

    def _send_meshes(self) -> None:
        """One mesh for each body and colour."""
        groups: dict[tuple[int, str], list[Any]] = {}
        for part in self.geometry.parts:
            for solid, colour in zip(part.solids, part.colours, strict=True):
                groups.setdefault((part.body, colour), []).append(solid_mesh(solid))
        for (body, colour), meshes in groups.items():
            mesh = join_meshes(meshes)
            name = f"body{body}/{colour[1:]}"
            handle = self._mesh(f"{self._root}/{name}", mesh, colour, None)
            self._meshes.setdefault(body, []).append((handle, colour))
            if body in self._ghosts:
                self._mesh(f"{self._root}/ghost{body}/{colour[1:]}", mesh, OUT_COLOUR, 0.35)

    def _send_link(self, k: int) -> Any:
        """A spring or a damper, of length one until its bodies are placed."""
        link = self.geometry.links[k]
        corners, triangles = link.mesh
        mesh = Mesh(stretch_link(corners, 1.0), triangles)
        return self._mesh(f"{self._root}/link{k}", mesh, link.colour, None)

    def _mesh(self, name: str, mesh: Any, colour: str, opacity: float | None) -> Any:
        return self._scene.add_mesh_simple(
            name,
            mesh.points,
            mesh.triangles,
            color=rgb_bytes(colour),
            opacity=opacity,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )

    # ---------------------------------------------------------------------- the robot

    def move_bodies(self, bodies: BodyPoses) -> None:
        """Move all bodies."""
        quats = quaternions_wxyz(bodies.R)
        changed = set()
        for b, frame in enumerate(self._frames):
            now = np.concatenate([quats[b], bodies.p[b]])
            if b not in self._sent or not np.array_equal(now, self._sent[b]):
                frame.wxyz, frame.position = tuple(quats[b]), tuple(bodies.p[b])
                self._sent[b] = now
                changed.add(b)
        for link, handle in zip(self.geometry.links, self._links, strict=True):
            if changed & {*link.bodies}:
                poses = {b: Pose(bodies.R[b], bodies.p[b]) for b in link.bodies}
                frame, length = link_frame(*link.ends(poses))
                handle.vertices = stretch_link(link.mesh[0], length).astype(np.float32)
                handle.wxyz, handle.position = tuple(quaternions_wxyz(frame.R)), tuple(frame.p)

    def paint(self, standing: PoseStatus) -> None:
        """Colour the robot: its platform red out of reach, all that moves orange near singularities."""
        if standing is self._standing:
            return
        self._standing = standing
        for body, meshes in self._meshes.items():
            platform = body in self._ghosts
            for handle, colour in meshes:
                if standing is PoseStatus.OUT and platform:
                    colour = OUT_COLOUR
                elif standing is PoseStatus.NEAR and body:
                    colour = NEAR_COLOUR
                handle.color = rgb_bytes(colour)

    def show_ghost(self, ghost: Pose | None, bodies: BodyPoses) -> None:
        """Show the platform where it was asked for, but cannot go; hide it if None."""
        if ghost is not None:
            platform = Pose(bodies.R[PLATFORM], bodies.p[PLATFORM])
        for b, frame in self._ghosts.items():
            frame.visible = ghost is not None
            if ghost is not None:
                pose = ghost @ platform.inverse() @ Pose(bodies.R[b], bodies.p[b])
                frame.wxyz, frame.position = tuple(quaternions_wxyz(pose.R)), tuple(pose.p)

    def hide(self, bodies: Sequence[str]) -> None:
        """Hide bodies by name, and show all others."""
        visibility = [body.name not in bodies for body in self._robot.bodies]
        for frame, visible in zip(self._frames, visibility, strict=True):
            frame.visible = visible
        for link, handle in zip(self.geometry.links, self._links, strict=True):
            handle.visible = all(visibility[b] for b in link.bodies)

    # ---------------------------------------------------------------------- grips

    def add_grips(self, grips: Sequence[Grip], on_move: Callable[[int, str, Array, Array], None]) -> None:
        """Add the grips; `on_move` is called with their place, phase, position and quaternion (wxyz)."""
        size = 0.3 * self.geometry.extent
        for k, grip in enumerate(grips):
            axes = (True, True, False) if grip.rings and not all(grip.ring_axes) else (True, True, True)
            handle = self._scene.add_transform_controls(
                f"{self._root}/grip{k}",
                scale=size,
                line_width=3.5,
                active_axes=axes if grip.rings else grip.arrows,
                disable_axes=not any(grip.arrows),
                disable_sliders=not any(grip.arrows),
                disable_rotations=not grip.rings,
                depth_test=False,
                opacity=0.9,
                wxyz=tuple(quaternions_wxyz(grip.at.R)),
                position=tuple(grip.at.p),
            )
            handle.on_update(_grip_callback(k, on_move))
            self._grips.append(handle)

    def place_grips(self, grips: Sequence[Grip], held: int | None) -> None:
        """Move the grips to where they belong, but for the one that is held."""
        for k, (grip, handle) in enumerate(zip(grips, self._grips, strict=True)):
            if k != held:
                handle.wxyz, handle.position = tuple(quaternions_wxyz(grip.at.R)), tuple(grip.at.p)

    def show_grips(self, shown: bool) -> None:
        """Show or hide the grips."""
        for handle in self._grips:
            handle.visible = shown

    # ---------------------------------------------------------------------- around the robot

    def show_loads(self, kind: str, loads: Loads | None, scales: LoadScales) -> None:
        """Draw forces and moments as arrows, if any."""
        vectors = (None, None) if loads is None else (loads.forces, loads.moments)
        for what, vector, scale, colour in zip(
            ("forces", "moments"), vectors, scales, ARROW_COLOURS[kind], strict=True
        ):
            name = f"{kind.replace(' ', '-')}-{what}"
            if loads is None or vector is None:
                self._hide(name)
                continue
            arrows = arrow_segments(loads.points, vector, scale)
            long = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1) > 1e-3 * self.geometry.extent
            self._arrows(name, arrows[long], colour)

    def _arrows(self, name: str, arrows: Array, colour: str) -> None:
        if not len(arrows):
            self._hide(name)
        elif name in self._others:
            self._others[name].points = arrows.astype(np.float32)
            self._others[name].visible = True
        else:
            r = 0.006 * self.geometry.extent
            self._others[name] = self._scene.add_arrows(
                f"{self._root}/{name}",
                arrows,
                rgb_bytes(colour),
                shaft_radius=r,
                head_radius=2.5 * r,
                head_length=6.0 * r,
            )

    def show_trace(self, points: Array | None) -> None:
        """Draw the way of the tool (T, 3); hide it if None."""
        self.remove_named("trace")
        if points is not None and len(points) > 1:
            pieces = np.stack([points[:-1], points[1:]], axis=1)
            self._lines("trace", pieces, TRACE_COLOUR, 0.004)

    def show_bent_link(self, name: str, pieces: Array) -> None:
        """Draw a bent link as pieces (N, 2, 3)."""
        key = f"bent-{name}"
        if key in self._others:
            self._others[key].points = pieces.astype(np.float32)
        else:
            body = self._robot.body(name)
            self._lines(key, pieces, self._meshes[body][0][1], 0.012)

    def _lines(self, key: str, pieces: Array, colour: str, thick: float) -> None:
        # Names of bodies may hold anything: nodes are numbered.
        self._count += 1
        self._others[key] = self._scene.add_line_segments(
            f"{self._root}/line{self._count}",
            pieces,
            rgb_bytes(colour),
            thickness=thick * self.geometry.extent,
        )

    def show_slice(self, result: Slice | None) -> None:
        """Draw a slice of the workspace; take it away if None."""
        self.remove_named("slice")
        for k, patch in enumerate(result.patches if result is not None else ()):
            opacity = 0.18 if patch.is_faint else 0.75
            mesh = Mesh(patch.vertices, patch.faces)
            self._others[f"slice-{k}"] = self._mesh(f"{self._root}/slice{k}", mesh, patch.colour, opacity)

    def remove_named(self, prefix: str) -> None:
        """Take away everything around the robot whose name begins so."""
        for key in [key for key in self._others if key.startswith(prefix)]:
            self._others.pop(key).remove()

    def _hide(self, name: str) -> None:
        if name in self._others:
            self._others[name].visible = False

    def remove(self) -> None:
        """Take the robot away."""
        for handle in self._grips:
            handle.remove()
        self._node.remove()


def _grip_callback(k: int, on_move: Callable[[int, str, Array, Array], None]) -> Any:
    """A callback of viser: awaited on its event loop, so that the order of events is kept."""

    async def report(event: Any) -> None:
        on_move(k, event.phase, np.array(event.target.position), np.array(event.target.wxyz))

    return report
