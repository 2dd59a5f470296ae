"""Models of a robot as FMUs of FMI 3.0: the emitted C behind the standard's interface."""
