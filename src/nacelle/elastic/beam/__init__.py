"""One flexible link by itself: its shape functions, their integrals, and the forces of its motion."""
