"""MJCF, the format of MuJoCo: stripped of what is only seen, compiled by `mujoco`, read as a graph."""
