"""Programs as functions of JAX."""
