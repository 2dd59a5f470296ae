"""What the parts of memories and gains are, with units: for the pages and headers of exported controllers."""

from __future__ import annotations

COMMON = {
    "memory.x": "pose of the platform as the encoders have it",
    "memory.y": "what iteration finds at that pose",
    "memory.v": "reduced twist of the platform; m/s, rad/s",
    "memory.unmodelled": "acceleration that the model lacks; m/s^2, rad/s^2",
    "memory.acceleration": "what the last forces give by the model; m/s^2, rad/s^2",
    "memory.earlier": "the same of the sample before; m/s^2, rad/s^2",
    "memory.a_d": "last desired acceleration; m/s^2, rad/s^2",
    "memory.y_d": "what iteration finds at the desired pose",
    "memory.q_d": "coordinates of the actuators at the last desired pose; rad, m",
    "memory.side": "sign of the determinant of the actuators' Jacobian at the start",
    "memory.started": "above 0 after the first sample",
    "memory.missed": "samples in a row without all readings",
    "memory.stopped": "0, or the status of the sample that stopped the controller",
    "gains.limit": "largest forces of the drives; N, N m",
    "gains.period": "sample time T; s",
    "gains.delay": "from a sample to the time at which its forces act; s",
    "gains.correction": "of the twist by what a prediction missed, b of v = v- + b e / T",
    "gains.learning": "of what the model lacks, c of u = u- + c e / T^2",
    "gains.patience": "samples in a row without all readings after which the controller stops",
}
"""Parts that mean the same in all kinds."""

SINGLE_JOINT = COMMON | {
    "memory.error": "last error of the actuators, desired less measured; rad, m",
    "memory.rate": "rate of that error, filtered; rad/s, m/s",
    "memory.integral": "force of the integral; N, N m",
    "gains.stiffness": "force over error; N/m, N m/rad",
    "gains.damping": "force over rate of the error; N s/m, N m s/rad",
    "gains.integral": "rate of the integral's force over error; N/(m s), N m/(rad s)",
    "gains.unwinding": "part of what a limit cuts off that is taken out of the integral at a sample",
    "gains.smoothing": "of the filter of the rate, 1 - exp(-T w) at its bandwidth w",
}
"""Feedback of each actuator."""

COMPUTED_TORQUE = COMMON | {
    "memory.disturbance": "force along the twist that the model lacks; N, N m",
    "gains.stiffness": "acceleration over error; 1/s^2",
    "gains.damping": "acceleration over rate of the error; 1/s",
}
"""Feedback linearisation."""

IMPEDANCE = COMMON | {
    "gains.stiffness": "force along the twist over displacement, row by row; N/m, N, N m/rad",
    "gains.damping": "force along the twist over twist, row by row; N s/m, N s, N m s/rad",
}
"""Impedance of the platform."""

ADAPTIVE = COMMON | {
    "memory.parameters": "parameters of the linear form, as adapted; SI units",
    "memory.excitation": "mean square of the forces that each parameter makes, over those of the robot",
    "gains.rate": "at which errors decay on the sliding surface; 1/s",
    "gains.decay": "at which the sliding variable decays; 1/s",
    "gains.damping": "K on the sliding variable, row by row; N s/m, N s, N m s/rad",
    "gains.adaptation": "P, row by row",
    "gains.lower": "lower bounds of the parameters",
    "gains.upper": "upper bounds of the parameters",
    "gains.dead_zone": "rates of the actuators that do not count; rad/s, m/s",
    "gains.scale": "sizes of the parameters",
    "gains.typical": "forces of the robot that excitation is counted in; N, N m",
    "gains.forgetting": "part of the excitation that is forgotten at a sample",
    "gains.unfelt": "excitation below which a parameter is frozen",
    "gains.fastest": "largest rate of adaptation along the sliding variable; 1/s",
}
"""Adaptive control in the parameters of the linear form."""
