"""Control laws, each a physics function with a memory."""
