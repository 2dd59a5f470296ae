"""Forces and moments that the joints transmit."""
