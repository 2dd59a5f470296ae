"""Legs: what each of them is, recognised once (`leg_type`), and their inverse kinematics in closed form."""
