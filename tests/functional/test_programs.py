"""Programs against the same in NumPy at double precision, with sizes of one, primes and none."""
import numpy as np
import pytest

from support.models import PRIMES, floats
from support.tool import ROOT, run_tool

EXAMPLES = ROOT / "examples" / "functional"


def relu(x):
    return np.maximum(x, 0)


def wide(*arrays):
    return [np.asarray(array, np.float64) if array.dtype.kind == "f" else array for array in arrays]


def recurrent(xs, w, u):
    """Weights of the state are halved where they are drawn: with larger ones roundings can grow from step to step."""
    xs, w, u = wide(xs, w, u)
    h = np.zeros((2, 5))
    for x in xs:
        h = np.tanh(x @ w + h @ u)
    return h


def test_layers(random, agrees):
    def reference(x, w1, b1, w2, b2):
        x, w1, b1, w2, b2 = wide(x, w1, b1, w2, b2)
        y = relu(x @ w1 + b1) @ w2 + b2
        y = np.exp(y - y.max(-1, keepdims=True))
        return y / y.sum(-1, keepdims=True)

    weights = dict(w1=floats(random, 4, 8), b1=floats(random, 8), w2=floats(random, 8, 3), b2=floats(random, 3))
    agrees(EXAMPLES / "mlp.fir", [dict(x=floats(random, n, 4), **weights) for n in PRIMES], reference)


def test_recursion_of_an_unknown_length_is_a_loop(random, agrees):
    feeds = [dict(xs=floats(random, n, 2, 3), w=floats(random, 3, 5), u=floats(random, 5, 5) / 2) for n in PRIMES]
    agrees(EXAMPLES / "rnn.fir", feeds, recurrent)
    assert run_tool("compile", EXAMPLES / "rnn.fir", "--emit", "graph").out.count("graph.Loop") == 1


@pytest.mark.parametrize("steps", [1, 5])
def test_recursion_of_a_known_length_is_unrolled(random, agrees, program, steps):
    path = program((EXAMPLES / "rnn.fir").read_text().replace("(steps, 2, 3)", f"({steps}, 2, 3)"))
    agrees(path, [dict(xs=floats(random, steps, 2, 3), w=floats(random, 3, 5), u=floats(random, 5, 5) / 2)], recurrent)
    graph = run_tool("compile", path, "--emit", "graph").out
    assert "graph.Loop" not in graph and graph.count("graph.Tanh") == steps


def test_branches_tuples_and_closures(random, agrees, program):
    """Which function `g` is only the input knows."""
    path = program("""
        fn twice(f, x) { f(f(x)) }
        fn main(x: Tensor[(n, 3), float32], c: bool) {
          let (a, b) = if c { (Relu(x), 2.0) } else { (-x, 3.0) };
          let g = if c { fn(y) { y + a } } else { fn(y) { y * b } };
          (twice(g, x), a)
        }
        """)

    def reference(x, c):
        (x,) = wide(x)
        return (x + 2 * relu(x), relu(x)) if c else (9 * x, -x)

    agrees(path, [dict(x=floats(random, n, 3), c=np.array(c)) for n in PRIMES for c in (False, True)], reference, "arithmetic")


def test_data_that_a_branch_makes(random, agrees, program):
    path = program("""
        type Shape { Circle(float32), Box(float32, float32), Point }
        fn area(s: Shape) -> float32 {
          match s { Circle(r) => r * r * 3.0, Box(a, b) => a * b, Point => 0.0 }
        }
        fn choose(kind: int64, a: float32, b: float32) {
          if kind == 0 { Circle(a) } else if kind == 1 { Box(a, b) } else { Point }
        }
        fn main(kinds: Tensor[(2), int64], a: float32, b: float32) {
          let one = choose(Gather(kinds, 0), a, b);
          let two = choose(Gather(kinds, 1), b, a + 1.0);
          match (one, two) {
            (Point, Point) => -1.0,
            (Circle(r), Box(x, _)) => r - x,
            (s, t) => area(s) + area(t),
          }
        }
        """)

    def reference(kinds, a, b):
        def area(kind, a, b):
            return [3 * a * a, a * b, 0.0][kind]
        a, b = float(a), float(b)
        if tuple(kinds) == (2, 2):
            return np.float64(-1)
        if tuple(kinds) == (0, 1):
            return np.float64(a - b)
        return np.float64(area(kinds[0], a, b) + area(kinds[1], b, a + 1))

    scalar = lambda: np.asarray(random.standard_normal(), np.float32)
    agrees(path, [dict(kinds=np.array([i, j]), a=scalar(), b=scalar()) for i in range(3) for j in range(3)], reference, "arithmetic")


def test_lists_that_are_known_cost_nothing(random, agrees, program):
    path = program("""
        type List<A> { Nil, Cons(A, List<A>) }
        fn map<A, B>(f: fn(A) -> B, list: List<A>) -> List<B> {
          match list { Nil => Nil, Cons(x, rest) => Cons(f(x), map(f, rest)) }
        }
        fn fold<A, B>(f: fn(B, A) -> B, start: B, list: List<A>) -> B {
          match list { Nil => start, Cons(x, rest) => fold(f, f(start, x), rest) }
        }
        fn main(x: Tensor[(n, 4), float32], w: Tensor[(4, 4), float32]) {
          let layers = map(fn(scale) { fn(x) { Tanh(x @ w * scale) } }, Cons(0.5, Cons(-1.0, Cons(2.0, Nil))));
          fold(fn(x, layer) { layer(x) }, x, layers)
        }
        """)

    def reference(x, w):
        x, w = wide(x, w)
        for scale in (0.5, -1, 2):
            x = np.tanh(x @ w * scale)
        return x

    agrees(path, [dict(x=floats(random, n, 4), w=floats(random, 4, 4)) for n in PRIMES], reference)
    assert "graph.If" not in run_tool("compile", path, "--emit", "graph").out


def test_references_change_in_branches_and_loops(agrees, program):
    path = program("""
        fn main(n: int64) {
          let odd = ref(0);
          let all = ref(1);
          fn go(i) {
            if i < n {
              let seen = if Mod(i, 2) == 1 { odd := *odd + i; true } else { false };
              all := *all + i;
              go(i + 1)
            } else { i }
          }
          let count = go(0);
          (*odd, *all, count)
        }
        """)

    def reference(n):
        n = int(n)
        return [np.int64(value) for value in (sum(range(1, n, 2)), 1 + sum(range(n)), max(n, 0))]

    agrees(path, [dict(n=np.array(n)) for n in (-1, 0, 1, 2, 7, 31)], reference, "arithmetic")


def test_functions_that_call_each_other(agrees, program):
    path = program("""
        fn even(n: int64) -> bool { if n == 0 { true } else { odd(n - 1) } }
        fn odd(n: int64) -> bool { if n == 0 { false } else { even(n - 1) } }
        fn main(n: int64) { even(n) }
        """)
    agrees(path, [dict(n=np.array(n)) for n in (0, 1, 2, 13, 14)], lambda n: np.bool_(n % 2 == 0), "arithmetic")


def test_what_a_loop_carries_may_grow(random, agrees, program):
    path = program("""
        fn main(x: Tensor[(n, 3), float32], times: int64) {
          fn go(i: int64, y: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] {
            if i < times { go(i + 1, Concat(y, x, axis=0)) } else { y }
          }
          go(0, x)
        }
        """)
    feeds = [dict(x=floats(random, n, 3), times=np.array(times)) for n in (1, 2, 7) for times in (0, 1, 3)]
    agrees(path, feeds, lambda x, times: np.concatenate([x] * (1 + int(times))), "arithmetic")


def test_state_machine_in_a_loop(agrees, program):
    """What a loop carries is another construction from iteration to iteration."""
    path = program("""
        type State { Idle, Busy(int64), Done(int64, int64) }
        fn step(s, i) {
          match s {
            Idle => Busy(i),
            Busy(n) => if n > 20 { Done(n, i) } else { Busy(n * 3) },
            Done(a, b) => Done(a, b),
          }
        }
        fn main(n: int64) {
          fn go(i, s) { if i < n { go(i + 1, step(s, i + 2)) } else { s } }
          match go(0, Idle) { Idle => (-1, -1), Busy(k) => (k, -1), Done(a, b) => (a, b) }
        }
        """)

    def reference(n):
        state = None
        for i in range(int(n)):
            if state is None:
                state = (i + 2, -1)
            elif state[1] == -1:
                state = (state[0], i + 2) if state[0] > 20 else (state[0] * 3, -1)
        return [np.int64(value) for value in state or (-1, -1)]

    agrees(path, [dict(n=np.array(n)) for n in range(9)], reference, "arithmetic")


def test_passes_are_told_of_programs():
    assert "outline-kernels" in run_tool("passes", EXAMPLES / "mlp.fir").expect(0).out
    assert run_tool("passes", "--why", EXAMPLES / "rnn.fir").expect(0).out.startswith("class recurrent")
