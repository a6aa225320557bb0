"""What is wrong with a program is said with a code, a place and, of types, both places that disagree."""
import pytest

from support.tool import run_tool

MAIN = "fn main(x: Tensor[(n, 4), float32]) { %s }"


@pytest.mark.parametrize("text, code, messages", [
    ("fn main( { 1 }", 1017, ["1:10: expected the name of a parameter instead of '{'"]),
    ("fn main() { 1 + }", 1017, ["1:17: expected an expression"]),
    ("fn main() { $ }", 1017, ["1:13: a character that means nothing here"]),
    ("fn main() { [[1, 2], [3]] }", 1017, ["rows of 2 and of 1 elements"]),
    ("fn main() { 300u8 }", 1017, ["300 does not fit into uint8"]),
    ("fn main() { " + "(" * 2000 + "1" + ")" * 2000 + " }", 1017, ["nests deeper than 500 levels"]),
    ("fn main() { " + "1 + " * 2000 + "1 }", 1017, ["nests deeper than 500 levels"]),
    ("fn other() { 1 }", 1018, ["there is no function 'main'", "hint: its parameters are the artifact's inputs"]),
    (MAIN % "y", 1018, ["1:39: nothing is called 'y'"]),
    (MAIN % "Relu", 1018, ["hint: an operator as a value"]),
    ("fn f() { 1 }\nfn f() { 2 }\nfn main() { f() }", 1018, ["2:4: a function 'f' exists already"]),
    ("type T { A, B(int64) }\nfn main(c: bool) { match if c { A } else { B(1) } { A => 1 } }", 1018, ["2:20: no pattern matches B(_)"]),
    ("type T { A, B }\nfn main(c: bool) { match if c { A } else { B } { A => 1, _ => 2, B => 3 } }", 1018, ["this pattern is never reached"]),
    (MAIN % "if 1 { x } else { x }", 1019, ["a condition must be bool, and is int64"]),
    (MAIN % "let y: Tensor[(n, 5), float32] = x; y", 1019,
     ["must be Tensor[(n, 5), float32], and is Tensor[(n, 4), float32]", "1:46: Tensor[(n, 5), float32] comes from here", "1:12: Tensor[(n, 4)"]),
    (MAIN % "x @ x", 1019, ["1:41: MatMul:", "1:12: operand 1 is Tensor[(n, 4), float32]"]),
    ("fn main(x: Tensor[(n, 4), float32], y: Tensor[(m, 4), float32]) {\n  x + y\n}", 1019, ["2:5: Add: sizes do not fit together"]),
    (MAIN % "x + 1", 1019, ["Add:", "operand 2 is int64"]),
    (MAIN % "x(1)", 1019, ["this is no function but Tensor[(n, 4), float32]"]),
    (MAIN % "(x, x).2", 1019, ["there is no element 2 of"]),
    ("fn f(a: int64) -> int64 { a }\nfn main() { f(1, 2) }", 1019, ["takes 1 arguments, not 2"]),
    ("fn f(x) { x(x) }\nfn main() { f(1) }", 1019, ["what is called must be"]),
    ("fn main(x) { Relu(x) }", 1019, ["not known", "hint: write"]),
    ("fn f<A>(x: A) -> A { Relu(x) }\nfn main(x: float32) { f(x) }", 1019, ["tensors, and not A", "1:4: operand 1 is A"]),
    ("fn f(n: int64) -> int64 { f(n + 1) }\nfn main() { f(0) }", 1020, ["calls of f are inside each other"]),
    ("fn f(n: int64) -> int64 { if n > 0 { f(n - 1) } else { f(n + 1) } }\nfn main(n: int64) { f(n) }", 1020, ["calls itself in every case"]),
    (MAIN % "Frobnicate(x)", 3001, ["1:39: Frobnicate:"]),
    ("fn main(f: fn(float32) -> float32) { f(1.0) }", 3005, ["an input cannot be a fn(float32) -> float32"]),
    ("fn main(c: bool) { if c { fn(x: int64) { x } } else { fn(x: int64) { x + 1 } } }", 3005, ["neither a tensor nor a tuple"]),
])
def test_message(program, text, code, messages):
    result = run_tool("compile", program(text), "--emit", "graph")
    result.expect(3 if code // 1000 == 3 else 1, f"[F{code}] program.fir:", *messages)


def test_missing_file(tmp_path):
    run_tool("compile", tmp_path / "none.fir", "--emit", "graph").expect(1, "[F1001]", "none.fir")
