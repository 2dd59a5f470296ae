"""LLVM IR text of the entries of a kernel: a batch of rows, and one sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.rows import move_few, move_whole, none_shared, pack_shared, straight_moves, tile_moves

_BATCH = """
define void @nacelle_batch(
    ptr %inputs, ptr %steps, ptr %outputs, i64 %start, i64 %stop, ptr %work) #0 {{
entry:
  %any = icmp ult i64 %start, %stop
  br i1 %any, label %shared, label %done
shared:
  %j = phi i64 [ 0, %entry ], [ %j1, %shared ]
  %js = mul i64 %j, {stride}
  %jt = getelementptr i8, ptr %work, i64 %js
  call void @pack_shared(ptr %inputs, ptr %steps, ptr %jt)
  %j1 = add i64 %j, 1
  %jm = icmp ult i64 %j1, {tiles}
  br i1 %jm, label %shared, label %plain
plain:
  %own = call i1 @none_shared(ptr %steps)
  br label %group
group:
  %g = phi i64 [ %start, %plain ], [ %g1, %next ]
  br label %pack
pack:
  %i = phi i64 [ 0, %group ], [ %i1, %packed ]
  %is = mul i64 %i, {width}
  %sample = add i64 %g, %is
  %left = sub i64 %stop, %sample
  %short = icmp ult i64 %left, {width}
  %count = select i1 %short, i64 %left, i64 {width}
  %io = mul i64 %i, {stride}
  %it = getelementptr i8, ptr %work, i64 %io
  %whole = icmp uge i64 %left, {width}
  %straight = and i1 %whole, %own
  br i1 %straight, label %pack.rows, label %pack.tile
pack.rows:
  call void @pack_rows(ptr %inputs, ptr %it, i64 %sample)
  br label %packed
pack.tile:
  call void @pack_tile(ptr %inputs, ptr %steps, ptr %it, i64 %sample, i64 %count)
  br label %packed
packed:
  %i1 = add i64 %i, 1
  %rest = icmp ugt i64 %left, {width}
  %room = icmp ult i64 %i1, {tiles}
  %again = and i1 %rest, %room
  br i1 %again, label %pack, label %evaluate
evaluate:
  call void @v_tiles(ptr %work, i64 %i1)
  br label %unpack
unpack:
  %k = phi i64 [ 0, %evaluate ], [ %k1, %unpacked ]
  %ks = mul i64 %k, {width}
  %ksample = add i64 %g, %ks
  %kleft = sub i64 %stop, %ksample
  %kshort = icmp ult i64 %kleft, {width}
  %kcount = select i1 %kshort, i64 %kleft, i64 {width}
  %ko = mul i64 %k, {stride}
  %kt = getelementptr i8, ptr %work, i64 %ko
  %kwhole = icmp uge i64 %kleft, {width}
  br i1 %kwhole, label %unpack.rows, label %unpack.tile
unpack.rows:
  call void @unpack_rows(ptr %outputs, ptr %kt, i64 %ksample)
  br label %unpacked
unpack.tile:
  call void @unpack_tile(ptr %outputs, ptr null, ptr %kt, i64 %ksample, i64 %kcount)
  br label %unpacked
unpacked:
  %k1 = add i64 %k, 1
  %km = icmp ult i64 %k1, %i1
  br i1 %km, label %unpack, label %next
next:
  %advance = mul i64 %i1, {width}
  %g1 = add i64 %g, %advance
  %more = icmp ult i64 %g1, %stop
  br i1 %more, label %group, label %done
done:
  ret void
}}
"""


def batch(plan: NativePlan, inputs: Sequence[int], outputs: Sequence[int], width: int, tiles: int) -> str:
    """Write `@nacelle_batch(inputs, steps, outputs, start, stop, work)`.

    Args:
        plan: layout of the program, whose evaluation is written with the prefix `v_`.
        inputs: sizes of the input variables.
        outputs: sizes of the output variables.
        width: lanes of a vector, a power of two above one.
        tiles: how many tiles are packed before they are evaluated.
    """
    texts = [move_whole(size, width, pack=True) for size in sorted(set(inputs) - {0})]
    texts += [move_whole(size, width, pack=False) for size in sorted(set(outputs) - {0})]
    texts.append(move_few(width, "v_"))
    texts += [pack_shared(inputs, width), tile_moves(inputs, 0, width, pack=True)]
    texts.append(tile_moves(outputs, plan.result, width, pack=False))
    texts += [straight_moves(inputs, 0, width, tiles, pack=True), none_shared(inputs)]
    texts.append(straight_moves(outputs, plan.result, width, tiles, pack=False))
    texts.append(_BATCH.format(width=width, stride=stride(plan, width), tiles=tiles))
    return "\n\n".join(texts)


_COPY = """
define internal void @copy(ptr noalias %from, ptr noalias %to, i64 %size) #0 {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i1, %loop ]
  %a = getelementptr double, ptr %from, i64 %i
  %v = load double, ptr %a, align 8
  %b = getelementptr double, ptr %to, i64 %i
  store double %v, ptr %b, align 8
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %size
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def single(plan: NativePlan, inputs: Sequence[int], outputs: Sequence[int]) -> str:
    """Write `@nacelle_single(call)`: one sample, with everything behind one pointer.

    `call` points at the addresses of the tile, of the inputs and of the outputs.
    """

    def move(array: str, place: str, size: int, into: bool) -> str:
        ends = f"ptr {array}, ptr {place}" if into else f"ptr {place}, ptr {array}"
        return f"call void @copy({ends}, i64 {size})"

    return _COPY + "\n" + _single(plan, inputs, outputs, 1, "s_", move)


def single_in_tile(plan: NativePlan, inputs: Sequence[int], outputs: Sequence[int], width: int) -> str:
    """Write `@nacelle_single(call)` by the evaluation of a vector of equal samples."""

    def move(array: str, place: str, size: int, into: bool) -> str:
        verb = "pack" if into else "unpack"
        return f"call void @v_{verb}_few(ptr {array}, ptr {place}, i64 {size}, i64 0, i64 1)"

    return _single(plan, inputs, outputs, width, "v_", move)


def _single(
    plan: NativePlan,
    inputs: Sequence[int],
    outputs: Sequence[int],
    width: int,
    prefix: str,
    move: Callable[[str, str, int, bool], str],
) -> str:
    lines = [
        "define void @nacelle_single(ptr %call) #0 {",
        "%tile = load ptr, ptr %call, align 8",
    ]

    def variable(number: int, place: int, size: int, into: bool) -> None:
        if size:
            lines.append(f"%g{number} = getelementptr ptr, ptr %call, i64 {number + 1}")
            lines.append(f"%a{number} = load ptr, ptr %g{number}, align 8")
            lines.append(f"%t{number} = getelementptr i8, ptr %tile, i64 {place * 8 * width}")
            lines.append(move(f"%a{number}", f"%t{number}", size, into))

    place = 0
    for number, size in enumerate(inputs):
        variable(number, place, size, True)
        place += size
    lines.append(f"call void @{prefix}tiles(ptr %tile, i64 1)")
    place = plan.result
    for number, size in enumerate(outputs, start=len(inputs)):
        variable(number, place, size, False)
        place += size
    lines += ["ret void", "}"]
    return "\n".join(lines)


def around(plan: NativePlan, width: int, prefix: str) -> str:
    """Write what a driver of this width calls."""
    return evaluation(plan, width, prefix) + "\n" + move_few(width, prefix)
