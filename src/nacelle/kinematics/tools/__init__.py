"""Named frames on the nacelle, and their motion."""
