"""What iteration finds at poses, and on which branch."""
