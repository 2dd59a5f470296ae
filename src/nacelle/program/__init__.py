"""The program tower: tracing, straight-line programs, passes, cost. Knows no robot."""
