"""Texts of stages that do not fit the model, the target or themselves: each is refused by name and place, and nothing is written."""
import os
import random
import re

import onnx.parser
import pytest

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
    m (float[b, 6] x) => (float[b, 6] y) <float[6, 6] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
      25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36}> { p = MatMul (x, w) r = Relu (p) y = Softmax <axis = -1> (r) }"""
STAGES = ["graph", "kernels", "loops", "llvm"]


@pytest.fixture
def go_on(fathom, save, tmp_path):
    """Compiles from a stage's text after it was changed by a pattern, or by a function."""
    save(onnx.parser.parse_model(MODEL))

    def run(stage, change, new=None, **options):
        path = tmp_path / f"{stage}.txt"
        fathom("compile", "model.onnx", "--emit", stage, "-o", path).expect(0)
        text = path.read_text()
        changed = change(text) if callable(change) else re.sub(change, new, text, count=1, flags=re.MULTILINE)
        assert changed != text
        path.write_text(changed)
        (tmp_path / "out.fathom").unlink(missing_ok=True)
        more = [word for name, value in options.items() for word in (f"--{name}", value)]
        result = fathom("compile", "model.onnx", f"--{stage}", path, "-o", "out.fathom", *more)
        assert (tmp_path / "out.fathom").exists() == (result.code == 0)
        return result

    return run


@pytest.mark.parametrize("stage", STAGES)
def test_no_file(stage, fathom, save):
    save(onnx.parser.parse_model(MODEL))
    fathom("compile", "model.onnx", f"--{stage}", "none.txt", "-o", "out.fathom").expect(1, "[F1001]", "none.txt")


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("stage, pattern, new, said", [
    ("graph", r"graph\.Relu\(", "graph.Nonsense(", r"line \d+, column \d+: .*Nonsense"),
    ("graph", r"graph\.Relu\(%\w+\)", "graph.Relu(%none)", r"line \d+, column \d+: .*undeclared"),
    ("graph", r'graph\.name = "x"', 'graph.name = "z"', "its input 'z' is not the model's 'x'"),
    ("graph", r"@main", "@other", "not one function 'main'"),
    ("graph", r"graph\.Relu\(", "graph.Relayout(", "'graph.Relayout' is not an op of a graph before layouts"),
    ("kernels", r"^(.*)graph\.Relu\((%\w+)\)(.*)$", r"\1graph.Softmax(\2)\3", "is not of class|schedule|other"),
    ("kernels", r"^ *%\w+ = call @Softmax.*$", "", "line \\d+, column \\d+: .*undeclared"),
    ("kernels", r"func\.func private @Softmax", "func.func private @Other", "kernel 'Softmax.* is missing"),
    ("kernels", r"graph\.kernel = 1", "graph.kernel = 7", "not one of the program's"),
    ("loops", r"^// kernel .*$", "", "no line above it tells"),
    ("loops", r"(^// kernel .*)=\d+$", r"\1=12345", "line 1: the program has no kernel .*12345"),
    ("loops", r"scf\.for", "scf.none", r"line \d+, column \d+: .*scf"),
    ("loops", r"func\.func @fathom_run\(", "func.func @other(", "has no function 'fathom_run'"),
    ("llvm", r"^; host .*$", "; host for nobody", "the program has no host for nobody"),
    ("llvm", r"^define hidden i32", "define hidden nothing", r"line \d+, column \d+: "),
    ("llvm", r"@Softmax[\w.]*\.task\(", "@other(", "has no function 'Softmax"),
    ("llvm", r"\Z", "declare i32 @system(ptr)\n", "the artifact has no function 'system'"),
    ("llvm", r"\Z", '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n', "debug info is not taken"),
])
def test_what_does_not_fit(go_on, stage, pattern, new, said):
    assert re.search(said, go_on(stage, pattern, new).expect(1, "[F1009]").err)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("stage", ["loops", "llvm"])
def test_a_part_given_twice(go_on, stage):
    go_on(stage, lambda text: text + text).expect(1, "[F1009]", "twice")


def test_another_schedule(fathom, save, tmp_path):
    """The host would launch the tasks of the one, and kernels compute those of the other."""
    save(onnx.parser.parse_model(MODEL))
    fathom("compile", "model.onnx", "--target", "x86-64-v3", "--emit", "loops", "-o", "loops.txt").expect(0)
    fathom("compile", "model.onnx", "--target", "x86-64-v3", "--tune", "off", "--loops", "loops.txt", "-o", "out.fathom").expect(
        1, "[F1009]", "hint: compile with the target, the plan and the options")
    fathom("compile", "model.onnx", "--target", "neoverse-v1", "--loops", "loops.txt", "-o", "out.fathom").expect(1, "[F1009]", "has no kernel")


def change_line(lines, text, random):
    """Drops, doubles or exchanges lines, or puts another number, word or op into one."""
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    pattern = random.choice([None, r"-?\d+", r"[\w.%#]+", r"(?:graph|arith|vector|scf|llvm|math)\.\w+"])
    if pattern is None:
        lines[i], lines[j] = random.choice([(lines[j], lines[i]), ("", lines[j]), (lines[i], lines[i])])
    elif found := list(re.finditer(pattern, lines[i])):
        at = random.choice(found)
        words = ["0", "1", "-1", "7", "64", "4294967296", "9223372036854775807"] if pattern == r"-?\d+" else re.findall(pattern, text)
        lines[i] = lines[i][:at.start()] + random.choice(words) + lines[i][at.end():]


def mutated(text, random):
    lines = text.split("\n")
    while "\n".join(lines) == text:
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            change_line(lines, text, random)
    return "\n".join(lines)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("stage", STAGES)
def test_mutations(go_on, stage):
    """Whatever stands there: an artifact, or an error of the user. One seed, as of tests/fuzz: what fails is what a change broke."""
    source = random.Random(int(os.environ.get("FATHOM_FUZZ_SEED", 1)))
    for _ in range(6):
        result = go_on(stage, lambda text: mutated(text, source))
        assert result.code in (0, 1, 3), result.err
