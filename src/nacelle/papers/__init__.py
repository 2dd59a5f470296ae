"""The formulations of the papers side by side, each as its paper writes it, and models at element states."""
