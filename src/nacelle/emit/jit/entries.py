"""LLVM IR text of the entries of a kernel: a batch of rows, and one sample.

Rows of arrays (N, size) are moved into tiles, vectors over the samples, and back: W rows are read as vectors
along the row and turned by shuffles in registers, W x W numbers at a time, into vectors over the samples;
results go back the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nacelle.emit.jit.instructions import evaluation_functions, tile_stride
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.plan import NativePlan

# Entries of a variable up to which its rows are moved without a loop.
_LONG = 64
# Bytes of a cache line, and how many lines of a variable are asked for before they are needed.
_LINE, _MOST = 64, 32


def _function(width: int, head: str) -> Lines:
    """Begin a function of the module."""
    return Lines(width, False, f"define internal {head} noinline")


def _byte_address(c: Lines, base: str, bytes_: str | int) -> str:
    """The address a number of bytes after another."""
    return c.address(base, bytes_, "i8")


def _transpose(c: Lines, names: Sequence[str]) -> list[str]:
    """Transpose W vectors of W lanes: log2(W) rounds of two-way shuffles.

    In the round of step s, vectors i and i + s exchange the blocks of s lanes that are off the diagonal.
    """
    width, vectors = c.width, list(names)
    step = width // 2
    while step:
        low = [lane if not lane & step else lane - step + width for lane in range(width)]
        high = [lane + step if not lane & step else lane + width for lane in range(width)]
        for i in (i for i in range(width) if not i & step):
            pair = f"{c.type} {vectors[i]}, {c.type} {vectors[i + step]}"
            for target, mask in ((i, low), (i + step, high)):
                lanes = ", ".join(f"i32 {lane}" for lane in mask)
                vectors[target] = c.value(f"shufflevector {pair}, <{width} x i32> <{lanes}>")
        step //= 2
    return vectors


def _column_blocks(size: int, width: int) -> tuple[int, list[tuple[int, int]]]:
    """Split the columns of a row: the number of whole blocks, and the rest as (first, count).

    The rest of a long row is a whole block too, which overlaps the one before it.
    """
    blocks, remaining = divmod(size, width)
    if not remaining:
        return blocks, []
    return (blocks, [(size - width, width)]) if blocks else (0, [(0, remaining)])


def _move_block(
    c: Lines, rows: str, tile: str, size: int, column: str | int, count: int, *, pack: bool
) -> None:
    """Move one block of W rows by `count` columns between rows and the tile of their variable."""
    width, kind, vector = c.width, c.type, 8 * c.width
    addresses = [c.address(c.address(rows, r * size), column) for r in range(width)]
    first = _byte_address(
        c, tile, column * vector if isinstance(column, int) else c.whole("*", column, vector)
    )
    lanes = [_byte_address(c, first, k * vector) for k in range(count)]
    masked = f"llvm.masked.{'load' if pack else 'store'}.v{width}f64.p0"
    mask = "<" + ", ".join(f"i1 {int(lane < count)}" for lane in range(width)) + ">"
    bits = f"i32 8, {c.bit} {mask}"
    if pack:
        values = [
            c.value(f"load {kind}, ptr {address}, align 8")
            if count == width
            else c.value(f"call {kind} @{masked}(ptr {address}, {bits}, {kind} zeroinitializer)")
            for address in addresses
        ]
        for value, lane in zip(_transpose(c, values), lanes, strict=False):
            c(f"store {kind} {value}, ptr {lane}, align {vector}")
        return
    values = [c.value(f"load {kind}, ptr {lane}, align {vector}") for lane in lanes]
    values += ["zeroinitializer"] * (width - count)
    for value, address in zip(_transpose(c, values), addresses, strict=True):
        if count == width:
            c(f"store {kind} {value}, ptr {address}, align 8")
        else:
            c(f"call void @{masked}({kind} {value}, ptr {address}, {bits})")


def move_row_block(size: int, width: int, *, pack: bool) -> str:
    """Write a function that moves W rows of a variable of this size into its place in the tile, or back."""
    name = f"{'pack' if pack else 'unpack'}{size}"
    c = _function(width, f"void @{name}(ptr noalias %rows, ptr noalias %tile)")
    blocks, remaining = _column_blocks(size, width)
    if blocks:
        with c.loop(0, blocks) as loop:
            _move_block(c, "%rows", "%tile", size, c.whole("*", loop.index, width), width, pack=pack)
    for first, count in remaining:
        _move_block(c, "%rows", "%tile", size, first, count, pack=pack)
    return c.text()


def move_remaining_rows(width: int, prefix: str) -> str:
    """Write `@<prefix>pack_few` and `@<prefix>unpack_few`, which move `count` rows, at most W.

    Row by row and number by number: for the last rows, fewer than W. Lanes beyond them repeat the last row.
    `size` is the number of entries of a row, above zero, and `step` the distance of two rows.
    """
    texts = []
    for verb, stop in (("pack", width), ("unpack", "%count")):
        arguments = "ptr %rows, ptr %tile, i64 %size, i64 %step, i64 %count"
        c = _function(width, f"void @{prefix}{verb}_few({arguments})")
        last = c.whole("-", "%count", 1)
        with c.loop(0, stop) as lanes:
            clamped = c.value(f"call i64 @llvm.umin.i64(i64 {lanes.index}, i64 {last})")
            row = c.address("%rows", c.whole("*", clamped, "%step"))
            with c.loop(0, "%size") as columns:
                index = c.whole("+", c.whole("*", columns.index, width), lanes.index)
                if verb == "pack":
                    c.store(c.load(row, columns.index), "%tile", index)
                else:
                    c.store(c.load("%tile", index), row, columns.index)
        texts.append(c.text())
    return "\n\n".join(texts)


def _variables(
    c: Lines, sizes: Sequence[int], first: int, arrays: str = "%arrays", tile: str = "%tile"
) -> Iterator[tuple[int, int, str, str]]:
    """Of every variable with entries its number, its size, its array and its place in a tile."""
    for i, size in enumerate(sizes):
        if size:
            array = c.value(f"load ptr, ptr {c.address(arrays, i, 'ptr')}, align 8")
            yield i, size, array, _byte_address(c, tile, first * 8 * c.width)
        first += size


def tile_moves(sizes: Sequence[int], first: int, width: int, *, pack: bool) -> str:
    """Write a function that moves all variables of W rows, or of fewer, between arrays and one tile.

    Inputs whose rows are shared have the step 0; they are packed once for all tiles, before.
    """
    verb = "pack" if pack else "unpack"
    c = _function(width, f"void @{verb}_tile(ptr %arrays, ptr %steps, ptr %tile, i64 %sample, i64 %count)")
    whole = c.whole("==", "%count", width)
    for i, size, array, address in _variables(c, sizes, first):
        is_moved = c.whole("!=", c.load("%steps", i, "whole"), 0) if pack else "true"
        rows = c.address(array, c.whole("*", "%sample", size))
        with c.when(is_moved):
            few = f"ptr {rows}, ptr {address}, i64 {size}, i64 {size}, i64 %count"
            c.call_either(whole, f"@{verb}{size}(ptr {rows}, ptr {address})", f"@v_{verb}_few({few})")
    return c.text()


def straight_moves(sizes: Sequence[int], first: int, width: int, ahead: int, *, pack: bool) -> str:
    """Write a function that moves all variables of W rows between arrays and one tile, without branches.

    Long variables are moved by a call of their own function. No input may be shared. Rows that are
    `ahead` tiles further on are prefetched: they come from memory while these are evaluated.
    """
    verb = "pack" if pack else "unpack"
    c = _function(width, f"void @{verb}_rows(ptr %arrays, ptr %tile, i64 %sample)")
    for _, size, array, address in _variables(c, sizes, first):
        rows = c.address(array, c.whole("*", "%sample", size))
        whole = 8 * size * width
        for line in range(0, min(whole, _MOST * _LINE), _LINE):
            prefetched = _byte_address(c, rows, ahead * whole + line)
            c(f"call void @llvm.prefetch.p0(ptr {prefetched}, i32 {int(not pack)}, i32 3, i32 1)")
        if size > _LONG:
            c(f"call void @{verb}{size}(ptr {rows}, ptr {address})")
            continue
        blocks, remaining = _column_blocks(size, width)
        for column, count in [(b * width, width) for b in range(blocks)] + remaining:
            _move_block(c, rows, address, size, column, count, pack=pack)
    return c.text()


def pack_shared(sizes: Sequence[int], width: int) -> str:
    """Write a function that packs the inputs whose rows are shared into one tile."""
    c = _function(width, "void @pack_shared(ptr %arrays, ptr %steps, ptr %tile)")
    for i, size, array, address in _variables(c, sizes, 0):
        with c.when(c.whole("==", c.load("%steps", i, "whole"), 0)):
            c(f"call void @v_pack_few(ptr {array}, ptr {address}, i64 {size}, i64 0, i64 {width})")
    return c.text()


def none_shared(sizes: Sequence[int]) -> str:
    """Write a function that says whether every input has rows of its own for every sample."""
    c, all_ = _function(1, "i1 @none_shared(ptr %steps)"), "true"
    for i in (i for i, size in enumerate(sizes) if size):
        all_ = c.value(f"and i1 {c.whole('!=', c.load('%steps', i, 'whole'), 0)}, {all_}")
    return c.text(f"i1 {all_}")


# ---- LLVM IR text of the entries of a kernel: a batch of rows, and one sample


def batch_entry(
    plan: NativePlan, inputs: Sequence[int], outputs: Sequence[int], width: int, tiles: int
) -> str:
    """Write `@nacelle_batch(inputs, steps, outputs, start, stop, work)`.

    Args:
        plan: layout of the program, whose evaluation is written with the prefix `v_`.
        inputs: sizes of the input variables.
        outputs: sizes of the output variables.
        width: lanes of a vector, a power of two above one.
        tiles: how many tiles are packed before they are evaluated.
    """
    texts = [move_row_block(size, width, pack=True) for size in sorted(set(inputs) - {0})]
    texts += [move_row_block(size, width, pack=False) for size in sorted(set(outputs) - {0})]
    texts.append(move_remaining_rows(width, "v_"))
    texts += [pack_shared(inputs, width), tile_moves(inputs, 0, width, pack=True)]
    texts.append(tile_moves(outputs, plan.result, width, pack=False))
    texts += [straight_moves(inputs, 0, width, tiles, pack=True), none_shared(inputs)]
    texts.append(straight_moves(outputs, plan.result, width, tiles, pack=False))
    texts.append(_batch_loop(tile_stride(plan, width), width, tiles))
    return "\n\n".join(texts)


def _batch_loop(bytes_: int, width: int, tiles: int) -> str:
    """Write the entry itself: groups of tiles, `bytes_` apart in memory, are packed and evaluated."""
    arguments = "ptr %inputs, ptr %steps, ptr %outputs, i64 %start, i64 %stop, ptr %work"
    c = Lines(width, False, f"define void @nacelle_batch({arguments})")

    def tile(index: str) -> str:
        return _byte_address(c, "%work", c.whole("*", index, bytes_))

    def move(verb: str, arrays: str, steps: str, per_sample: str, first: str, count: str) -> None:
        """Move the rows of `count` tiles, samples from the first on."""
        with c.loop(0, count) as loop:
            sample, address = c.whole("+", first, c.whole("*", loop.index, width)), tile(loop.index)
            left = c.whole("-", "%stop", sample)
            straight = c.value(f"and i1 {c.whole('>=', left, width)}, {per_sample}")
            few = c.value(f"call i64 @llvm.umin.i64(i64 {left}, i64 {width})")
            ends = f"ptr {arrays}, ptr {steps}, ptr {address}, i64 {sample}, i64 {few}"
            rows = f"@{verb}_rows(ptr {arrays}, ptr {address}, i64 {sample})"
            c.call_either(straight, rows, f"@{verb}_tile({ends})")

    with c.loop(0, tiles) as loop:
        c(f"call void @pack_shared(ptr %inputs, ptr %steps, ptr {tile(loop.index)})")
    none_shared = c.value("call i1 @none_shared(ptr %steps)")
    with c.loop("%start", "%stop", tiles * width) as groups:
        left = c.whole("-", "%stop", groups.index)
        vectors = c.whole("/", c.whole("+", left, width - 1), width)
        count = c.value(f"call i64 @llvm.umin.i64(i64 {vectors}, i64 {tiles})")
        move("pack", "%inputs", "%steps", none_shared, groups.index, count)
        c(f"call void @v_tiles(ptr %work, i64 {count})")
        move("unpack", "%outputs", "null", "true", groups.index, count)
    return c.text()


def _copy() -> str:
    """Write `@copy(from, to, size)`, which copies numbers."""
    c = Lines(1, False, "define internal void @copy(ptr noalias %from, ptr noalias %to, i64 %size)")
    with c.loop(0, "%size") as loop:
        c.store(c.load("%from", loop.index), "%to", loop.index)
    return c.text()


def single_entry(plan: NativePlan, inputs: Sequence[int], outputs: Sequence[int]) -> str:
    """Write `@nacelle_single(call)`: one sample, with everything behind one pointer.

    `call` points at the addresses of the tile, of the inputs and of the outputs.
    """

    def move(array: str, address: str, size: int, to_tile: bool) -> str:
        ends = f"ptr {array}, ptr {address}" if to_tile else f"ptr {address}, ptr {array}"
        return f"call void @copy({ends}, i64 {size})"

    return _copy() + "\n\n" + _single_entry(plan, inputs, outputs, 1, "s_", move)


def single_entry_by_vector(
    plan: NativePlan, inputs: Sequence[int], outputs: Sequence[int], width: int
) -> str:
    """Write `@nacelle_single(call)` by the evaluation of a vector of equal samples."""

    def move(array: str, address: str, size: int, to_tile: bool) -> str:
        verb = "pack" if to_tile else "unpack"
        return f"call void @v_{verb}_few(ptr {array}, ptr {address}, i64 {size}, i64 0, i64 1)"

    return _single_entry(plan, inputs, outputs, width, "v_", move)


def _single_entry(
    plan: NativePlan,
    inputs: Sequence[int],
    outputs: Sequence[int],
    width: int,
    prefix: str,
    move: Callable[[str, str, int, bool], str],
) -> str:
    c = Lines(width, False, "define void @nacelle_single(ptr %call)")
    tile = c.value("load ptr, ptr %call, align 8")

    for _, size, array, address in _variables(c, inputs, 0, c.address("%call", 1, "ptr"), tile):
        c(move(array, address, size, True))
    c(f"call void @{prefix}tiles(ptr {tile}, i64 1)")
    arrays = c.address("%call", 1 + len(inputs), "ptr")
    for _, size, array, address in _variables(c, outputs, plan.result, arrays, tile):
        c(move(array, address, size, False))
    return c.text()


def driver_support(plan: NativePlan, width: int, prefix: str) -> str:
    """Write what a driver of this width calls."""
    return evaluation_functions(plan, width, prefix) + "\n" + move_remaining_rows(width, prefix)
