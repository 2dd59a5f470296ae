"""Inverse dynamics from what is measured on the legs instead of the pose: kinematic elements, or encoders."""
