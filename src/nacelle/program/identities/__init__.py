"""Identities by numbers: values of a program that are equal wherever its inputs can be.

A straight-line program computes many values twice in different words: legs that are alike, rotations times
their transposes, closures that hold at every pose. Symbolic rules do not see them; numbers do. The program is
evaluated with 50 digits at a few samples of its inputs, and what is equal at all of them (up to sign) is one,
what is constant is a constant, what is zero is gone (`values`). Values that are sums, differences, products
or multiples of others are then made from them where that is cheaper (`rebuild`).

What counts as equal, and why it cannot be fooled by legs that differ by 1e-12, is said in `values`.
"""
