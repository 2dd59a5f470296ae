"""Springs and counterweights that take the weight off the actuators."""
