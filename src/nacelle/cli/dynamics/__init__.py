"""Commands of forces and vibrations: `dynamics`, `reactions`, `linearise`, `balance`, `modes`."""
