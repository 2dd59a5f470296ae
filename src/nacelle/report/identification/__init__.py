"""Pages about an identification and a validation: what was measured, what was found, what it is worth."""
