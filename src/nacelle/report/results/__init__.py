"""What results hold, as named numbers with units: once for pictures and for tables."""
