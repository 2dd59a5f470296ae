"""Pictures and tables of closed loops."""
