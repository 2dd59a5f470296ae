"""Models given away: packages of C, NumPy or CasADi with their documentation and self-test."""
