"""The page of `nacelle demo`: a section a step, each with claim, figure, table and command."""
