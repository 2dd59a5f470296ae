"""The spanning tree and its closures: positions, rates, accelerations."""
