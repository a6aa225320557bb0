"""Recursion whose results are used, over data that is an input; beam search; and what happens where a recursion is too deep."""
import numpy as np
import pytest

import fathom
from support.models import floats
from support.tool import ROOT

EXAMPLES = ROOT / "examples" / "functional"


def random_tree(random, leaves):
    """Tables of a tree of so many leaves: nodes in the order in which they are come by, the root first."""
    tag, left, right = [], [], []

    def grow(leaves):
        node = len(tag)
        for column in (tag, left, right):
            column.append(0)
        if leaves > 1:
            tag[node] = 1
            here = int(random.integers(1, leaves))
            left[node], right[node] = grow(here), grow(leaves - here)
        return node

    grow(leaves)
    return [np.array(column) for column in (tag, left, right)]


def treelstm(feed):
    tag, left, right = feed["tree.tag"], feed["tree.Node.0"], feed["tree.Node.1"]
    xs, wx, wl, wr, b = (feed[name].astype(np.float64) for name in ("tree.Leaf.0", "wx", "wl", "wr", "b"))
    sigmoid = lambda x: 1 / (1 + np.exp(-x))

    def visit(node):
        if tag[node] == 0:
            i, o, u, _ = np.split(xs[node] @ wx, 4)
            c = sigmoid(i) * np.tanh(u)
        else:
            (hl, cl), (hr, cr) = visit(left[node]), visit(right[node])
            i, fl, fr, o, u = np.split(hl @ wl + hr @ wr + b, 5)
            c = sigmoid(i) * np.tanh(u) + sigmoid(fl) * cl + sigmoid(fr) * cr
        return sigmoid(o) * np.tanh(c), c

    return visit(0)[0][None]


def test_treelstm_over_random_trees(random, agrees):
    feeds = []
    for leaves in (1, 2, 3, 7, 31, 60):
        tag, left, right = random_tree(random, leaves)
        feeds.append({"tree.tag": tag, "tree.Leaf.0": floats(random, len(tag), 6), "tree.Node.0": left, "tree.Node.1": right,
                      "wx": floats(random, 6, 32), "wl": floats(random, 8, 40), "wr": floats(random, 8, 40), "b": floats(random, 40)})
    agrees(EXAMPLES / "treelstm.fir", feeds, lambda **feed: treelstm(feed), "chain")


def searched(table, first, steps):
    """The beams, their sums, and how far apart the best of a step were at least."""
    scores = table.astype(np.float64)
    scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
    beams, sums, gap = np.full((3, 1), first), np.array([0, -1e9, -1e9]), np.inf
    for _ in range(int(steps)):
        if beams[0, -1] == 0:
            break
        every = (sums[:, None] + scores[beams[:, -1]]).ravel()
        *best, fourth = np.argsort(-every, kind="stable")[:4]
        gap = min(gap, -np.diff(every[[*best, fourth]]).max())
        best = np.array(best)
        beams = np.concatenate([beams[best // len(table)], best[:, None] % len(table)], axis=1)
        sums = every[best]
    return beams, sums, gap


def decided_table(random, words, steps):
    """One whose best sequences are apart: those that make the same steps in another order are equally good, and roundings would decide."""
    while True:
        table = floats(random, words, words) * 3
        if searched(table, 1, steps)[2] > 1e-3:
            return table


def test_beam_search(random, agrees):
    feeds = [dict(table=decided_table(random, words, steps), first=np.array(1), steps=np.array(steps))
             for words in (5, 13) for steps in (2, 3, 7)]
    agrees(EXAMPLES / "beam.fir", feeds, lambda **feed: searched(**feed)[:2], "chain")


def test_numbers(agrees, program):
    """Calls in arguments of calls, calls behind calls, and results of several parts."""
    path = program("""
        fn fib(n: int64) -> int64 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }
        fn ackermann(m: int64, n: int64) -> int64 {
          if m == 0 { n + 1 } else if n == 0 { ackermann(m - 1, 1) } else { ackermann(m - 1, ackermann(m, n - 1)) }
        }
        fn divide(a: int64, b: int64) -> (int64, int64) {
          if a < b { (0, a) } else { let (q, r) = divide(a - b, b); (q + 1, r) }
        }
        fn main(n: int64) { (fib(n), ackermann(2, n), divide(n * 7, 5)) }
        """)

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    agrees(path, [dict(n=np.array(n)) for n in (0, 1, 2, 5, 9)],
           lambda n: [np.int64(value) for value in (fib(int(n)), 2 * n + 3, n * 7 // 5, n * 7 % 5)], "arithmetic")


def test_sizes_that_are_inputs(random, agrees, program):
    path = program("""
        fn power(x: Tensor[(n, n), float32], e: int64) -> Tensor[(n, n), float32] {
          if e == 1 { x } else {
            let half = power(x, e / 2);
            if Mod(e, 2) == 0 { half @ half } else { half @ half @ x }
          }
        }
        fn main(x: Tensor[(n, n), float32], e: int64) { power(x, e) }
        """)
    feeds = [dict(x=floats(random, n, n) / n, e=np.array(e)) for n in (1, 2, 7) for e in (1, 2, 5, 8)]
    agrees(path, feeds, lambda x, e: np.linalg.matrix_power(x.astype(np.float64), int(e)), "chain")


COUNT = "fn count(n: int64) -> int64 within 10 { if n == 0 { 0 } else { 1 + count(n - 1) } }\nfn main(n: int64) { count(n) }"


def test_a_recursion_that_is_too_deep_ends_the_run(program):
    session = fathom.Session(fathom.compile(str(program(COUNT))))
    assert session.run(None, {"n": np.array(9)})[0] == 9
    for n in (10, 100, -1):
        with pytest.raises(fathom.Error, match="count_deeper_than_10@2:26") as error:
            session.run(None, {"n": np.array(n)})
        assert error.value.code == "F1012"
    assert session.run(None, {"n": np.array(9)})[0] == 9


def test_a_tree_with_a_circle_ends_the_run(random, program):
    path = program("""
        type Tree { Leaf(float32), Node(Tree, Tree) }
        fn sum(t: Tree) -> float32 { match t { Leaf(x) => x, Node(l, r) => sum(l) + sum(r) } }
        fn main(t: Tree) { sum(t) }
        """)
    session = fathom.Session(fathom.compile(str(path)))
    feed = {"t.tag": np.array([1, 0]), "t.Leaf.0": floats(random, 2), "t.Node.0": np.array([1, 0]), "t.Node.1": np.array([1, 0])}
    assert np.isclose(session.run(None, feed)[0], 2 * feed["t.Leaf.0"][1])
    for children in ([0, 0], [2, 0], [-3, 0]):
        with pytest.raises(fathom.Error):
            session.run(None, feed | {"t.Node.0": np.array(children)})
