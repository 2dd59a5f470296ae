"""What is shown to people: summaries of robots as data and as text, pictures."""
