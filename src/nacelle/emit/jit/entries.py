"""LLVM IR text of the entries of a kernel: a batch of rows, and one sample.

LLVM IR text that moves rows of arrays (N, size) into tiles, vectors over the samples, and back.

W rows are read as vectors along the row and turned by shuffles in registers, W x W numbers at a time, into
vectors over the samples; results go back the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.vectors import type_name

# Entries of a variable up to which its rows are moved without a loop.
_LONG = 64
# Bytes of a cache line, and how many lines of a variable are asked for before they are needed.
_LINE, _MOST = 64, 32


def _turn(names: list[str], width: int, prefix: str) -> tuple[list[str], list[str]]:
    """Transpose W vectors of W lanes: log2(W) rounds of two-way shuffles.

    In the round of step s, vectors i and i + s exchange the blocks of s lanes that are off the diagonal.
    """
    kind = type_name(width)
    lines: list[str] = []
    step = width // 2
    while step:
        turned = list(names)
        low = [lane if not lane & step else lane - step + width for lane in range(width)]
        high = [lane + step if not lane & step else lane + width for lane in range(width)]
        for i in range(width):
            if i & step:
                continue
            j = i + step
            for target, mask in ((i, low), (j, high)):
                name = f"%{prefix}.{step}.{target}"
                lanes = ", ".join(f"i32 {lane}" for lane in mask)
                lines.append(
                    f"{name} = shufflevector {kind} {names[i]}, {kind} {names[j]}, <{width} x i32> <{lanes}>"
                )
                turned[target] = name
        names = turned
        step //= 2
    return names, lines


def _mask(count: int, width: int) -> str:
    return "<" + ", ".join(f"i1 {int(lane < count)}" for lane in range(width)) + ">"


def _columns(size: int, width: int) -> tuple[int, list[tuple[int, int]]]:
    """Split the columns of a row: the number of whole blocks, and the rest as (first, count).

    The rest of a long row is a whole block too, which overlaps the one before it.
    """
    blocks, remaining = divmod(size, width)
    if not remaining:
        return blocks, []
    return (blocks, [(size - width, width)]) if blocks else (0, [(0, remaining)])


def _block(size: int, width: int, count: int, place: str, column: str, tag: str, *, pack: bool) -> list[str]:
    """Write the lines that move one block of W rows by W columns between rows and tile.

    `%rows` is where the first row begins, `%tile` the tile; in the block of a variable i, `%rows.i`.
    """
    variable = tag.partition(".")[2]
    rows = f"%rows.{variable}" if variable else "%rows"
    kind, vector = type_name(width), 8 * width
    lines = []

    def row(r: int) -> str:
        lines.append(f"%{tag}a{r} = getelementptr double, ptr {rows}, i64 {r * size}")
        lines.append(f"%{tag}b{r} = getelementptr double, ptr %{tag}a{r}, i64 {column}")
        return f"%{tag}b{r}"

    def lane(c: int) -> str:
        lines.append(f"%{tag}c{c} = getelementptr i8, ptr %tile, i64 {place}")
        lines.append(f"%{tag}d{c} = getelementptr i8, ptr %{tag}c{c}, i64 {c * vector}")
        return f"%{tag}d{c}"

    mask = _mask(count, width)
    bits = f"<{width} x i1>"
    if pack:
        for r in range(width):
            pointer = row(r)
            if count == width:
                lines.append(f"%{tag}x{r} = load {kind}, ptr {pointer}, align 8")
            else:
                lines.append(
                    f"%{tag}x{r} = call {kind} @llvm.masked.load.v{width}f64.p0"
                    f"(ptr {pointer}, i32 8, {bits} {mask}, {kind} zeroinitializer)"
                )
        turned, shuffles = _turn([f"%{tag}x{r}" for r in range(width)], width, f"{tag}t")
        lines += shuffles
        for c in range(count):
            pointer = lane(c)
            lines.append(f"store {kind} {turned[c]}, ptr {pointer}, align {vector}")
        return lines
    names = []
    for c in range(width):
        if c < count:
            pointer = lane(c)
            lines.append(f"%{tag}x{c} = load {kind}, ptr {pointer}, align {vector}")
            names.append(f"%{tag}x{c}")
        else:
            names.append("zeroinitializer")
    turned, shuffles = _turn(names, width, f"{tag}t")
    lines += shuffles
    for r in range(width):
        pointer = row(r)
        if count == width:
            lines.append(f"store {kind} {turned[r]}, ptr {pointer}, align 8")
        else:
            lines.append(
                f"call void @llvm.masked.store.v{width}f64.p0"
                f"({kind} {turned[r]}, ptr {pointer}, i32 8, {bits} {mask})"
            )
    return lines


def move_whole(size: int, width: int, *, pack: bool) -> str:
    """Write a function that moves W rows of a variable of this size into its place in the tile, or back."""
    name = f"{'pack' if pack else 'unpack'}{size}"
    vector = 8 * width
    lines = [f"define internal void @{name}(ptr noalias %rows, ptr noalias %tile) noinline #0 {{", "start:"]
    blocks, remaining = _columns(size, width)
    if blocks:
        lines += [
            "br label %loop",
            "loop:",
            "%i = phi i64 [ 0, %start ], [ %next, %loop ]",
            f"%column = mul i64 %i, {width}",
            f"%place = mul i64 %column, {vector}",
            *_block(size, width, width, "%place", "%column", "l", pack=pack),
            "%next = add i64 %i, 1",
            f"%more = icmp ult i64 %next, {blocks}",
            "br i1 %more, label %loop, label %rest",
            "rest:",
        ]
    for first, count in remaining:
        lines += _block(size, width, count, str(first * vector), str(first), "r", pack=pack)
    lines += ["ret void", "}"]
    return "\n".join(lines)


# Row by row and number by number: for the last rows, fewer than W. Lanes beyond them repeat the last row.
_FEW = """
define internal void @{prefix}{verb}_few(ptr %rows, ptr %tile, i64 %size, i64 %step, i64 %count)
    noinline #0 {{
start:
  %last = sub i64 %count, 1
  br label %outer
outer:
  %r = phi i64 [ 0, %start ], [ %r1, %next ]
  %over = icmp ugt i64 %r, %last
  %clamped = select i1 %over, i64 %last, i64 %r
  %offset = mul i64 %clamped, %step
  %row = getelementptr double, ptr %rows, i64 %offset
  br label %inner
inner:
  %c = phi i64 [ 0, %outer ], [ %c1, %inner ]
  %in.row = getelementptr double, ptr %row, i64 %c
  %index = mul i64 %c, {width}
  %at = add i64 %index, %r
  %in.tile = getelementptr double, ptr %tile, i64 %at
  %value = load double, ptr {source}, align 8
  store double %value, ptr {sink}, align 8
  %c1 = add i64 %c, 1
  %more = icmp ult i64 %c1, %size
  br i1 %more, label %inner, label %next
next:
  %r1 = add i64 %r, 1
  %rows.more = icmp ult i64 %r1, {rows}
  br i1 %rows.more, label %outer, label %done
done:
  ret void
}}
"""


def move_few(width: int, prefix: str) -> str:
    """Write `@<prefix>pack_few` and `@<prefix>unpack_few`, which move `count` rows, at most W.

    `size` is the number of entries of a row, above zero, and `step` the distance of two rows.
    """
    names = {"width": width, "prefix": prefix}
    pack = _FEW.format(**names, verb="pack", source="%in.row", sink="%in.tile", rows=width)
    return pack + _FEW.format(**names, verb="unpack", source="%in.tile", sink="%in.row", rows="%count")


def tile_moves(sizes: Sequence[int], first: int, width: int, *, pack: bool) -> str:
    """Write a function that moves all variables of W rows, or of fewer, between arrays and one tile.

    Inputs whose rows are shared have the step 0; they are packed once for all tiles, before.
    """
    verb = "pack" if pack else "unpack"
    lines = [
        f"define internal void @{verb}_tile(ptr %arrays, ptr %steps, ptr %tile, i64 %sample, i64 %count)"
        " noinline #0 {",
        "start:",
        f"%whole = icmp eq i64 %count, {width}",
        "br label %v0",
    ]
    place = first
    for i, size in enumerate(sizes):
        lines += [
            f"v{i}:",
            f"%g{i} = getelementptr ptr, ptr %arrays, i64 {i}",
            f"%a{i} = load ptr, ptr %g{i}, align 8",
            f"%t{i} = getelementptr i8, ptr %tile, i64 {place * 8 * width}",
        ]
        place += size
        if not size:
            lines += [f"br label %v{i + 1}"]
            continue
        if pack:
            lines += [
                f"%h{i} = getelementptr i64, ptr %steps, i64 {i}",
                f"%s{i} = load i64, ptr %h{i}, align 8",
                f"%z{i} = icmp eq i64 %s{i}, 0",
                f"br i1 %z{i}, label %v{i + 1}, label %move{i}",
            ]
        else:
            lines.append(f"br label %move{i}")
        lines += [
            f"move{i}:",
            f"%o{i} = mul i64 %sample, {size}",
            f"%r{i} = getelementptr double, ptr %a{i}, i64 %o{i}",
            f"br i1 %whole, label %whole{i}, label %few{i}",
            f"whole{i}:",
            f"call void @{verb}{size}(ptr %r{i}, ptr %t{i})",
            f"br label %v{i + 1}",
            f"few{i}:",
            f"call void @v_{verb}_few(ptr %r{i}, ptr %t{i}, i64 {size}, i64 {size}, i64 %count)",
            f"br label %v{i + 1}",
        ]
    lines += [f"v{len(sizes)}:", "ret void", "}"]
    return "\n".join(lines)


def straight_moves(sizes: Sequence[int], first: int, width: int, ahead: int, *, pack: bool) -> str:
    """Write a function that moves all variables of W rows between arrays and one tile, without branches.

    Long variables are moved by a call of their own function. No input may be shared. Rows that are so many
    tiles ahead are asked for: they come from memory while these are evaluated.
    """
    verb = "pack" if pack else "unpack"
    lines = [f"define internal void @{verb}_rows(ptr %arrays, ptr %tile, i64 %sample) noinline #0 {{"]
    place = first
    for i, size in enumerate(sizes):
        if size:
            lines += [
                f"%g{i} = getelementptr ptr, ptr %arrays, i64 {i}",
                f"%a{i} = load ptr, ptr %g{i}, align 8",
                f"%o{i} = mul i64 %sample, {size}",
                f"%rows.{i} = getelementptr double, ptr %a{i}, i64 %o{i}",
            ]
            whole = 8 * size * width
            for line in range(0, min(whole, _MOST * _LINE), _LINE):
                name = f"%f{i}.{line}"
                lines += [
                    f"{name} = getelementptr i8, ptr %rows.{i}, i64 {ahead * whole + line}",
                    f"call void @llvm.prefetch.p0(ptr {name}, i32 {int(not pack)}, i32 3, i32 1)",
                ]
        if size > _LONG:
            lines += [
                f"%t{i} = getelementptr i8, ptr %tile, i64 {place * 8 * width}",
                f"call void @{verb}{size}(ptr %rows.{i}, ptr %t{i})",
            ]
        elif size:
            blocks, remaining = _columns(size, width)
            for b, (column, count) in enumerate([(b * width, width) for b in range(blocks)] + remaining):
                lines += _block(
                    size, width, count, str((place + column) * 8 * width), str(column), f"b{b}.{i}", pack=pack
                )
        place += size
    return "\n".join([*lines, "ret void", "}"])


def pack_shared(sizes: Sequence[int], width: int) -> str:
    """Write a function that packs the inputs whose rows are shared into one tile."""
    lines = ["define internal void @pack_shared(ptr %arrays, ptr %steps, ptr %tile) noinline #0 {", "start:"]
    lines.append("br label %v0")
    place = 0
    for i, size in enumerate(sizes):
        lines += [
            f"v{i}:",
            f"%h{i} = getelementptr i64, ptr %steps, i64 {i}",
            f"%s{i} = load i64, ptr %h{i}, align 8",
            f"%z{i} = icmp eq i64 %s{i}, 0",
            f"br i1 %z{i}, label %move{i}, label %v{i + 1}",
            f"move{i}:",
            f"%g{i} = getelementptr ptr, ptr %arrays, i64 {i}",
            f"%a{i} = load ptr, ptr %g{i}, align 8",
            f"%t{i} = getelementptr i8, ptr %tile, i64 {place * 8 * width}",
        ]
        if size:
            lines.append(f"call void @v_pack_few(ptr %a{i}, ptr %t{i}, i64 {size}, i64 0, i64 {width})")
        lines.append(f"br label %v{i + 1}")
        place += size
    lines += [f"v{len(sizes)}:", "ret void", "}"]
    return "\n".join(lines)


def none_shared(sizes: Sequence[int]) -> str:
    """Write a function that says whether every input has rows of its own for every sample."""
    lines = ["define internal i1 @none_shared(ptr %steps) noinline #0 {"]
    all_ = "1"
    for i, size in enumerate(sizes):
        if size:
            lines += [
                f"%h{i} = getelementptr i64, ptr %steps, i64 {i}",
                f"%s{i} = load i64, ptr %h{i}, align 8",
                f"%z{i} = icmp ne i64 %s{i}, 0",
                f"%all{i} = and i1 %z{i}, {all_}",
            ]
            all_ = f"%all{i}"
    return "\n".join([*lines, f"ret i1 {all_}", "}"])


# ---- LLVM IR text of the entries of a kernel: a batch of rows, and one sample


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
