"""Images of legs: rendered by a pixel model, and what is measured in them."""
