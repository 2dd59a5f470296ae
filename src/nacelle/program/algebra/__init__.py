"""Sums and products of many terms: the form in which programs are factored and paired.

A graph of binary operations is read into

    linear    c0 + sum of c_i x_i             constants are coefficients, signs are free
    power     product of x_i ** k_i           whole powers, negative ones are divisions
    atom      any other operation

where sums inside sums and products inside products that are used once are merged. It is written back
as a graph after the passes have worked on it.
"""
