"""Legs as kinematic elements ([OAM]): bars, spindles, telescopic elements and screws, and their state."""
