"""The target `linuxcnc`: a kinematics module for LinuxCNC, and a simulated machine."""
