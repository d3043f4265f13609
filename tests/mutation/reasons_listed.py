"""Mutants that were looked at one by one: why each is the same program as the translation it was made from."""

from __future__ import annotations

from fnmatch import fnmatch

LISTED = (
    ("element-unchecked", "the number is multiplied by 0 next: it says nothing of where the access is"),
    ("emission carried: both branches", "it adds what the loop starts from, 0, in the only two rounds that come there"),
    ("float-divide-*", "the constant 2 is not below 0, ordered or not"),
    ("language chained comparison counts twice", "the mask is `0 < N`, and there is an element"),
    ("matmul-rank-1", "two extents that are the same number"),
    ("element-padding-infinite", "f16 has the infinity"),
    ("embedding::embedding", "where the number is not negative, which is tested beside it"),
    ("scalars-u*", "an unsigned number is never below 0: what stands beside that does not matter"),
    ("reduce-u*", "only the low bits count: they are masked next"),
    ("integer-divide-u*", "an unsigned number is never below 0: what stands beside that does not matter"),
    ("integer-add-?16", "only the low bits count: the sum is cut next"),
    ("never-row-of-matrices", "a block id is below the number of blocks that it is divided by"),
    ("order-lock", "the mask is `0 < N`, and there is an element"),
    ("part-counted", "a division by 1, or an offset of 0"),
    ("part-gathered", "no lane is inside: all are padding"),
    ("lifted-masked", "the remainder of a number that is never negative needs no correction"),
    ("language continue in while", "the remainder of a number that is never negative needs no correction"),
    ("element-atomic-unchecked", "the number is multiplied by 0 next: it says nothing of where the access is"),
    ("element-negative", "the index is negative: the lane is padding"),
    ("language break in for", "the sign of a loop's variable that is never negative"),
    ("layer_norm::layer_norm", "a sum with a block id that is 0"),
    ("never-row-of-tiles", "the store of another tile of the partition"),
)
"""Mutants that are proved and that no row of the table fits: kernels and reason."""

REJECTED = (
    ("language in", "other integer operation", "ori: is xori", "a number is equal to one of several constants only"),
    ("language tuple comparison", "*constant", "*", "a number is never 3 and 2, whatever stands beside that"),
    ("language and or", "other sign", "cmpi*", "the number is tested to be above 0 just before"),
    ("language static_iter", "float constant", "*is -0.0*", "0 and more is added to it before it is stored"),
    ("emission remainder of scalars", "other predicate", "*less_than", "below 0 is tested beside it: it is not 0 then"),
    ("emission negative numbers that come first", "other float operation", "subf: is addf",
     "the second operand is a zero and the first a whole number, which is never -0"),
    ("emission counter with a constant step", "flush to zero", "addf*", "a whole number other than 0 is added next"),
    ("emission carried: *", "other sign", "itof*", "a counter that is never negative"),
    ("view-atomics", "*", "atomic_red_view_tko: *", "(y & t) | t is t, whatever stood in y before"),
    ("view-atomics", "missing store", "*", "(y & t) | t is t, whatever stood in y before"),
    ("raw-atomics", "other atomic", "*", "(y & t) | t is t, whatever stood in y before"),
    ("raw-atomics", "other parameter", "reshape*", "(x & x) is x, and (y | t) does the rest"),
    ("arg-reduce-*", "other predicate", "cmpi: compares greater_than_or_equal", "nothing is above the greatest"),
    ("arg-reduce-*", "other predicate", "cmpi: compares less_than_or_equal", "nothing is below the least"),
    ("arg-reduce-*", "ordered or unordered", "*", "rows with NaN: the original leaves open which element it finds"),
    ("arg-reduce-*", "NaN of extremes", "*", "rows with NaN: the original leaves open which element it finds"),
    ("own-reduce-*", "ordered or unordered", "*", "rows with NaN: the original leaves open which element it finds"),
    ("arg-reduce-*", "other sign", "mini*", "places of elements are never negative"),
    ("scalars*", "ordered or unordered", "*", "with a NaN the sum that it decides on is NaN as well"),
    ("atomic-max-*", "*", "*", "the same extreme a second time changes nothing"),
    ("atomic-min-*", "*", "*", "the same extreme a second time changes nothing"),
    ("view-atomics", "missing load", "*", "(y & t) | t, and then ^ t, is 0 for every t"),
    ("language chained comparison counts twice", "other extent", "*one more", "one block an element"),
    ("gather", "inserted negation", "remi*", "the remainder by 2 of a number and of its negative are the same"),
    ("attention::attention", "initial value", "for: starts from one more 2",
     "the first round multiplies it by exp(-inf), which is 0"),
    ("astile-constants", "narrowed value", "cat*", "bf16 has the constants"),
    ("lifted-masked", "operation left out", "select: left out, its lhs*", "the lanes outside are stored nowhere"),
    ("element-padding-tile", "other mask", "*", "more is loaded than before, inside the array, and not used"),
    ("part-gathered", "*", "*", "no lane is inside: all are padding"),
    ("part-counted", "other rounding", "addf*", "a sum of one number and 0 is exact"),
    ("never-in-place-columns", "reordered stores", "*", "stores to different tiles of a partition"),
    ("language loop variable afterwards", "other sign", "itof*", "a counter that is never negative"),
    ("reduce-?16", "integer constant", "constant: 2147483647*", "what is reduced has 16 bits: it is never that number"),
    ("reduce-?16", "integer constant", "constant: 0 is*", "it stands for a row without elements, which there is not"),
    ("convert-f16-floats", "other stored value", "*", "f32 and tf32 have every number of f16"),
)  # fmt: skip
"""Mutants that the proof rejects and that no run tells: kernels, kind, what is changed, reason."""


def of_proved(kernel: str) -> str:
    return next((words for name, words in LISTED if fnmatch(kernel, name)), "")


def of_rejected(kernel: str, kind: str, what: str) -> str:
    said = (kernel, kind, what)
    return next((words for *row, words in REJECTED if all(map(fnmatch, said, row))), "")
