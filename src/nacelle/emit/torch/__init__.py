"""Programs as functions of PyTorch."""
