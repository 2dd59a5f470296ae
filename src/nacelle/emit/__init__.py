"""Targets: what straight-line programs become. One file a target, behind a registry."""
