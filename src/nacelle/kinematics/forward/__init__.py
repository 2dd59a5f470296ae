"""Forward kinematics: from the actuators to the pose of the nacelle."""
