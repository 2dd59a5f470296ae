"""The interactive viewer: robots in the browser, on this machine alone.

What is shown (`session`, `grips`, `loads`, `timeline`, `slices`, `vibration`) knows no browser; `browser/`
puts it on the screen through viser, which is optional (`pip install 'nacelle-robotics[view]'`).
"""
