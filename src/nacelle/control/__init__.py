"""Control: digital controllers, their gains, and runs of them against plants."""
