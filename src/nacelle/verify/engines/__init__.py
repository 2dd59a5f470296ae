"""The engines: a robot rebuilt in each, from the description alone. Loaded by name, as they are optional."""
