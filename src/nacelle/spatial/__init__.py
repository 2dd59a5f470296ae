"""Vectors, rotations, inertia and small solves over any scalar; the ground floor."""
