"""The compiler: tracing, straight-line programs, passes, cost. Knows no robot."""
