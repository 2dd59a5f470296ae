"""Commands that let a robot move: simulate, control."""
