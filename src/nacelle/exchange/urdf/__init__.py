"""URDF with closures beside it: read by `pinocchio` as a graph."""
