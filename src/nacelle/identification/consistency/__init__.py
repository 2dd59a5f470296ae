"""Physically consistent parameters: every body one that could be built."""
