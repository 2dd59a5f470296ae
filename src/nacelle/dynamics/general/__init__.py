"""One small form for every robot: each leg on its own in local axes, forces by the transposed equations."""
