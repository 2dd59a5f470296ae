"""Passive coordinates at poses, solved numerically, and their branch."""
