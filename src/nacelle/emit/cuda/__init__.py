"""The target CUDA: programs over millions of states on a graphics processor."""
