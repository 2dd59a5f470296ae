"""Forces that depend on coordinates: springs between bodies, and end stops of joints."""
