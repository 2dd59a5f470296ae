"""Pictures: robots, workspaces, curves over time."""
