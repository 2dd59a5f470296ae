"""URDF: the tree, closures in the dialects that add them, drives."""
