"""Drives of a plant: current loops, force limits, cogging and stiction at the actuated joints."""
