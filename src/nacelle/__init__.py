"""Kinematics, dynamics, identification and control of parallel robots, from one description.

    import nacelle

    robot = nacelle.load("palida")  # a robot of the library, or a YAML file
    x = nacelle.pose(robot, [0.0, 0.0, -0.7])
    q = nacelle.inverse_kinematics(robot, x).q  # actuator positions
    tau = nacelle.inverse_dynamics(robot, x).tau  # actuator forces

The names here are the ones that most programs need. The rest is in `nacelle.kinematics`, `nacelle.dynamics`,
`nacelle.trajectory`, `nacelle.simulation`, `nacelle.identification`, `nacelle.control`, `nacelle.elastic`,
`nacelle.vision`, `nacelle.motion`, `nacelle.proof`, `nacelle.papers`, `nacelle.io` and `nacelle.errors`;
`help(nacelle.control)` shows the way.

Conventions: the robot is the first argument; `x`, `v`, `a` are pose, twist and acceleration of the platform,
`q` the actuators' positions, `tau` their forces, `t` is time, `external` maps names to wrenches. Arrays may
have leading batch dimensions. SI units everywhere.
"""

from nacelle.lazy import attach

attach(__name__)
