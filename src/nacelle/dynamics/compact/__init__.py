"""The smallest form: equilibrium of the platform, with force densities as the only unknowns."""
