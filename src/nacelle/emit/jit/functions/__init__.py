"""sin, cos, tanh, exp and atan2 as LLVM IR text over vectors of any width, without a mathematics library.

Every lane takes the same operations at every width, so a sample alone and one in a batch get the same bits,
and results do not depend on the libraries of a machine. Errors are below one unit in the last place, with
fused multiply-add and without it. NaN, infinities and signed zeros give what C99 (Annex F) says; subnormal
numbers are numbers as others.

References: W. J. Cody, W. Waite, *Software Manual for the Elementary Functions*, 1980; J.-M. Muller,
*Elementary Functions: Algorithms and Implementation*, 3rd ed., 2016; M. Payne, R. Hanek, *Radian Reduction
for Trigonometric Functions*, 1983; T. J. Dekker, *A floating-point technique for extending the available
precision*, 1971.
"""
