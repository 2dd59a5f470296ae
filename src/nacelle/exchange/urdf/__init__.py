"""URDF, the format of ROS, Pinocchio and Gepetto, with closures beside it."""
