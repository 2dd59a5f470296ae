"""Lowering of solve nodes to plain operations, using structure.

    n <= 3    Cramer's rule: one reciprocal, no pivoting, error of the order of the condition
    spd       L D L^T without square roots: n reciprocals
    general   elimination with partial pivoting, rows exchanged by `where`
    fixed     elimination in the given order, one reciprocal a pivot

Entries that are constant zeros take part in nothing: hash-consing and folding remove them.
"""

from __future__ import annotations

from nacelle.program.graph import Graph, reachable

Matrix = list[list[int]]


def lower_solves(graph: Graph, roots: list[int], target: Graph) -> list[int]:
    """Copy what some roots need into another graph with all solves spelled out."""
    nodes: dict[int, int] = {}
    solutions: dict[int, list[int]] = {}
    for k in reachable(graph, roots):
        op, *operands = graph.nodes[k]
        if op == "const":
            nodes[k] = target.const(operands[0])
        elif op == "input":
            nodes[k] = target.input(operands[0])
        elif op == "solve":
            kind, n = operands[0], operands[1]
            entries = [nodes[c] for c in operands[2:]]
            A = [entries[n * i : n * i + n] for i in range(n)]
            solutions[k] = lower_solve(target, kind, A, entries[n * n :])
            nodes[k] = -1
        elif op == "entry":
            nodes[k] = solutions[operands[0]][operands[1]]
        else:
            nodes[k] = target.apply(op, *(nodes[c] for c in operands))
    return [nodes[k] for k in roots]


def lower_solve(graph: Graph, kind: str, A: Matrix, b: list[int]) -> list[int]:
    """Spell a solve out; give the entries of the solution."""
    if len(b) <= 3:
        return _cramer(graph, A, b)
    if kind == "spd":
        return _ldl(graph, A, b)
    M = [[*row, right] for row, right in zip(A, b, strict=True)]
    return _back_substitute(graph, _eliminate(graph, M, pivot={"general": True, "fixed": False}[kind]))


def _cramer(g: Graph, A: Matrix, b: list[int]) -> list[int]:
    """Cramer's rule for one to three unknowns."""
    n = len(b)
    if n == 1:
        return [g.div(b[0], A[0][0])]

    def minor(r: int, s: int, p: int, q: int) -> int:
        return g.sub(g.mul(A[r][p], A[s][q]), g.mul(A[r][q], A[s][p]))

    one = g.const(1.0)
    if n == 2:
        scale = g.div(one, minor(0, 1, 0, 1))
        x = g.sub(g.mul(A[1][1], b[0]), g.mul(A[0][1], b[1]))
        y = g.sub(g.mul(A[0][0], b[1]), g.mul(A[1][0], b[0]))
        return [g.mul(x, scale), g.mul(y, scale)]
    # Cofactors, and the determinant along the first row.
    C = [[0] * 3 for _ in range(3)]
    for i in range(3):
        r, s = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            C[i][j] = minor(r, s, (j + 1) % 3, (j + 2) % 3)
    determinant = g.add(g.add(g.mul(A[0][0], C[0][0]), g.mul(A[0][1], C[0][1])), g.mul(A[0][2], C[0][2]))
    scale = g.div(one, determinant)
    return [
        g.mul(g.add(g.add(g.mul(C[0][j], b[0]), g.mul(C[1][j], b[1])), g.mul(C[2][j], b[2])), scale)
        for j in range(3)
    ]


def _ldl(g: Graph, A: Matrix, b: list[int]) -> list[int]:
    """A = L D L^T from the lower triangle; then L z = b, x = L^-T D^-1 z.

    W = L D holds the columns before they are divided: c_i = A_ij - sum_k L_ik W_jk, L_ij = c_i / c_j.
    """
    n = len(b)
    L: Matrix = [[] for _ in range(n)]
    W: Matrix = [[] for _ in range(n)]
    inverse: list[int] = []
    for j in range(n):
        for i in range(j, n):
            entry = A[i][j]
            for k in range(j):
                entry = g.sub(entry, g.mul(L[i][k], W[j][k]))
            W[i].append(entry)
        inverse.append(g.div(g.const(1.0), W[j][j]))
        for i in range(j + 1, n):
            L[i].append(g.mul(W[i][j], inverse[j]))
    z = list(b)
    for i in range(n):
        for k in range(i):
            z[i] = g.sub(z[i], g.mul(L[i][k], z[k]))
    x = [g.mul(entry, reciprocal) for entry, reciprocal in zip(z, inverse, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = g.sub(x[i], g.mul(L[k][i], x[k]))
    return x


def _eliminate(g: Graph, M: Matrix, pivot: bool) -> Matrix:
    """Gauss elimination of [A, b]; with `pivot` rows with larger entries come up, by `where`."""
    n = len(M)
    for k in range(n):
        if pivot:
            _exchange_rows(g, M, k)
        reciprocal = g.div(g.const(1.0), M[k][k])
        for i in range(k + 1, n):
            if g.values[M[i][k]] == 0.0:
                continue
            factor = g.mul(M[i][k], reciprocal)
            for j in range(k + 1, n + 1):
                M[i][j] = g.sub(M[i][j], g.mul(factor, M[k][j]))
        M[k] = [*M[k][:k], reciprocal, *M[k][k + 1 :]]
    return M


def _exchange_rows(g: Graph, M: Matrix, k: int) -> None:
    """Bring the entry of largest size in column k, below and on the diagonal, to row k."""
    n = len(M)
    candidates = [i for i in range(k, n) if g.values[M[i][k]] != 0.0]
    if candidates and candidates[0] != k:
        # Structural zeros on the diagonal: the first row that has an entry comes up.
        M[k], M[candidates[0]] = M[candidates[0]], M[k]
    for i in range(k + 1, n):
        if g.values[M[i][k]] == 0.0:
            continue
        larger = g.sub(g.unary("abs", M[i][k]), g.unary("abs", M[k][k]))
        for j in range(k, n + 1):
            upper, lower_entry = M[k][j], M[i][j]
            M[k][j] = g.where(larger, lower_entry, upper)
            M[i][j] = g.where(larger, upper, lower_entry)


def _back_substitute(g: Graph, M: Matrix) -> list[int]:
    """Back substitution; the diagonal holds reciprocals of the pivots."""
    n = len(M)
    x = [row[n] for row in M]
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            x[k] = g.sub(x[k], g.mul(M[k][j], x[j]))
        x[k] = g.mul(x[k], M[k][k])
    return x
