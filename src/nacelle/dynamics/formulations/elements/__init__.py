"""The formulation by kinematic elements ([OAM])."""
