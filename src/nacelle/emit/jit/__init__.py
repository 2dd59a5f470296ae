"""Native code of this machine, made by LLVM."""
