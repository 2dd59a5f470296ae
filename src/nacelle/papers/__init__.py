"""The formulations of the papers side by side, and the equivalent tree: the reference."""
