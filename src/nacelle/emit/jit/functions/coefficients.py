"""Constants and coefficients of the functions: tests/emit/jit/functions/test_coefficients.py makes them anew.

A polynomial meets its function at points that spread its error evenly: the zeros of a Chebyshev polynomial on
the interval (Muller 2016, 3.2). Where it is in r² they are stretched so that the least of them is 0, at which
the function's value is exact already. Errors given are relative to the function.
"""

# (sin r - r) / r³ in r², |r| <= π/4: 2^-57
SIN = (
    -0.16666666666666632,
    0.008333333333322418,
    -0.00019841269829812066,
    2.755731369363644e-06,
    -2.505075841826956e-08,
    1.5896815007836776e-10,
)
# (cos r - 1 + r²/2) / r⁴ in r², |r| <= π/4: 2^-59
COS = (
    0.041666666666666644,
    -0.0013888888888882061,
    2.480158729442023e-05,
    -2.755731576479866e-07,
    2.0875912664852156e-09,
    -1.1369298846560313e-11,
)
# (e^r - 1 - r) / r² in r, |r| <= ln 2 / 2: 2^-61
EXP = (
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326141,
    0.0013888888888883752,
    0.00019841269874800493,
    2.4801587325533363e-05,
    2.7557255425746435e-06,
    2.7557273661348637e-07,
    2.510520637395701e-08,
    2.0914679376583935e-09,
)
# (atan t - t) / t³ in t², |t| <= tan(π/8): 2^-57
ATAN = (
    -0.3333333333333319,
    0.1999999999995175,
    -0.14285714280020284,
    0.11111110775075181,
    -0.0909089752829588,
    0.07692056327821091,
    -0.06663061908268893,
    0.05847596410715069,
    -0.05038042193743716,
    0.038033832821496305,
    -0.017874933079750424,
)

# π/2 in parts of 37, 37 and 53 bits.
HALF_PI = (
    1.5707963267923333,
    2.5633441515839558e-12,
    1.0562999066987428e-23,
)
# π/2 in two parts of 53 bits.
HALF_PI_PAIR = (
    1.5707963267948966,
    6.123233995736766e-17,
)
# π/4 in parts of 50 and 53 bits.
QUARTER_PI = (
    0.7853981633974483,
    3.061616997868383e-17,
)
# ln 2 in parts of 42 and 53 bits.
LN2 = (
    0.6931471805598903,
    5.497923018708371e-14,
)
# The first 1280 bits of 2/π.
TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)
