"""Passes over a graph of bodies and joints: each gives a graph that moves alike, and reports what it did."""
