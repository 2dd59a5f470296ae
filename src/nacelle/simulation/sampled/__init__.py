"""Digital controllers in a loop with a plant."""
