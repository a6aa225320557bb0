"""Command lines that make no sense, files that cannot be written, and interrupts."""

import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import time

import numpy as np
import pytest
from support.models import make_model, value
from support.networks import add_model, relu_model
from support.tool import ROOT, TOOL
from onnx import helper, numpy_helper

COMMANDS = ["compile", "run", "bench", "verify", "quantize", "check", "inspect", "doctor"]


def test_no_command(fathom):
    result = fathom()
    assert result.code == 2 and "usage" in result.err and result.out == ""


def test_unknown_command(fathom):
    fathom("frob").expect(2, "[F2001]", "'frob'", "hint:")


@pytest.mark.parametrize("command", COMMANDS)
def test_help(fathom, command):
    result = fathom(command, "--help")
    assert result.code == 0 and result.err == ""
    assert result.out.startswith(f"usage: fathom {command}")


def test_version(fathom):
    assert re.fullmatch(r"fathom \d+\.\d+\.\d+\n", fathom("--version").out)


def called_of_the_compiler(fathom, *arguments):
    """What it called of LLVM's targets and MLIR's contexts: the system's loader looks a library's function up when it is called first, and tells."""
    told = fathom(*arguments, env={"LD_DEBUG": "bindings", "LD_BIND_NOW": ""}).expect(0).err
    return set(re.findall(r"symbol `(LLVMInitialize\w+|_ZN4mlir11MLIRContextC\w+)'", told.partition("transferring control")[2]))


def test_version_starts_no_compiler(fathom, save):
    if not called_of_the_compiler(fathom, "compile", save(relu_model())):
        pytest.skip("the tool has the compiler inside, or its loader looks everything up ahead")
    assert not called_of_the_compiler(fathom, "--version")


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "doctor"])
def test_missing_operand(fathom, command):
    fathom(command).expect(2, "[F2001]", "is missing", f"fathom {command} --help")


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_option(fathom, command):
    fathom(command, "x", "--frobnicate").expect(2, "[F2001]", "unknown option '--frobnicate'")


def test_misspelt_option(fathom):
    fathom("compile", "x.onnx", "--targt", "host").expect(2, "did you mean '--target'?")


@pytest.mark.parametrize(
    "words, text",
    [
        (["--fp", "sloppy"], "one of strict, fast, fastest"),
        (["--emit", "poetry"], "one of graph, plan"),
        (["--jobs", "many"], "a whole number"),
        (["--jobs", "-1"], "a whole number"),
        (["--target"], "needs a value"),
        (["--json=1"], "takes no value"),
        (["--fp", "fast", "--fp", "fast"], "given twice"),
        (["another.onnx"], "unexpected argument"),
    ],
)
def test_bad_values(fathom, words, text):
    fathom("compile", "x.onnx", "-o", "x.fathom", *words).expect(2, "[F2001]", text)


def test_a_dash_is_stdout(fathom, save, tmp_path):
    path = save(relu_model())
    text = fathom("compile", path, "--emit", "plan").expect(0).out
    assert text and fathom("compile", path, "--emit", "plan", "-o", "-").expect(0).out == text
    fathom("compile", path, "-o", "-").expect(2, "[F2001]", "stdout", "name of a file")
    assert not (tmp_path / "-").exists()


def test_output_has_a_default(fathom, save, tmp_path):
    """In the current folder, also of a model that lies elsewhere."""
    (tmp_path / "models").mkdir()
    fathom("compile", save(relu_model(), "models/my.model.onnx")).expect(0)
    assert (tmp_path / "my.model.fathom").exists() and len(list((tmp_path / "models").iterdir())) == 1


def test_a_mistyped_command(fathom):
    fathom("compil", "x.onnx").expect(2, "[F2001]", "unknown command 'compil'; did you mean 'compile'?")
    assert "did you mean" not in fathom("nonsense").expect(2, "[F2001]", "unknown command 'nonsense'").err


def test_unknown_target(fathom, save):
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--target", "i486dx").expect(
        1, "[F1010]", "i486dx", "--target help"
    )
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--target", "sparc:ultra").expect(1, "[F1010]")


def test_list_of_targets(fathom):
    result = fathom("compile", "--target", "help").expect(0)
    assert "aarch64:neoverse-n1\n" in result.out and "x86_64:x86-64-v3\n" in result.out
    assert fathom("doctor", "--target", "help").expect(0).out == result.out
    described = json.loads(fathom("compile", "--target", "help", "--json").expect(0).out)
    assert described["cpus"] == result.out.split()


@pytest.mark.parametrize("text", ["5", "seed:x", "seed:-1", "seed:"])
def test_bad_weights(fathom, save, text):
    fathom("compile", save(add_model()), "-o", "x.fathom", "--weights", text).expect(2, "[F2001]", "seed:N")


@pytest.mark.parametrize("dim", ["batch", "=4", "batch=x", "batch=-1", "batch=1..", f"batch={2**62}", "n=1..4,opt="])
@pytest.mark.parametrize("command", ["compile", "check", "run", "bench", "verify"])
def test_bad_dim(fathom, save, command, dim):
    fathom(command, save(relu_model()), "--dim", dim).expect(2, "[F2001]", dim, "NAME=MIN..MAX")


@pytest.mark.parametrize("shape", ["x", ":2", "x:2xa", "x:-1x2"])
def test_bad_shape(fathom, save, shape):
    fathom("check", save(relu_model()), "--shape", shape).expect(2, "[F2001]", shape, "INPUT:SIZE")


def test_shapes_that_the_model_does_not_have(fathom, save):
    model = save(relu_model())
    fathom("check", model, "--shape", "x:2x3").expect(0)
    fathom("compile", model, "-o", "x.fathom", "--shape", "z:2x3").expect(1, "[F1012]", "no input 'z'")
    fathom("compile", model, "-o", "x.fathom", "--shape", "x:2").expect(1, "[F1012]", "2 dimensions, not 1")
    fathom("compile", model, "-o", "x.fathom", "--shape", "x:1..2x3").expect(1, "[F1012]", "is 2 in the model")


@pytest.mark.usefixtures("both")
def test_likely_sizes_change_the_schedule(fathom, save):
    """A range with a size to be good at is the same range with other tiles or tasks."""
    weight = numpy_helper.from_array(np.ones((64, 512), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = save(make_model(nodes, [value("x", ["n", 64])], [value("y", ["n", 512])], [weight]))
    plans = {fathom("compile", model, "--emit", "plan", "--dim", f"n=1..4096,opt={size}").expect(0).out for size in (1, 4096)}
    assert len(plans) == 2


def test_dim_given_twice(fathom, save):
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], [value("x", ["n"])], [value("y", ["n"])])
    path, twice = save(model), ["--dim", "n=4", "--dim", "n=5"]
    fathom("compile", path, "-o", "x.fathom", *twice).expect(2, "[F2001]", "twice")
    fathom("compile", path, "-o", "x.fathom").expect(0)
    for command in ("run", "bench"):
        fathom(command, "x.fathom", *twice).expect(2, "[F2001]", "twice")


def test_unknown_dim(fathom, save):
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--dim", "nothing=4").expect(1, "[F1012]", "'nothing'")


@pytest.mark.parametrize(
    "words", [["--fp", "strict"], ["--plan", "x.plan"], ["--weights", "seed:1"], ["--jobs", "1"], ["--dim", "n=1..4"]]
)
def test_compile_options_of_what_is_compiled(fathom, artifact, words):
    fathom("bench", artifact, *words).expect(2, "[F2001]", words[0], "compiled already")
    if words[0] == "--dim":
        fathom("run", artifact, *words).expect(2, "[F2001]", words[0], "compiled already")


def test_plan_that_is_missing(fathom, save):
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--plan", "nowhere.plan").expect(
        1, "[F1001]", "nowhere.plan"
    )


@pytest.mark.parametrize(
    "text", ["", "hello", "fathom-plan: 9\ntarget: x\nkernels: []\n", "fathom-plan: 1\ntarget: [\n", "kernels: 3\n"]
)
def test_plan_that_is_no_plan(fathom, save, tmp_path, text):
    (tmp_path / "bad.plan").write_text(text)
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--plan", "bad.plan").expect(1, "[F1009]", "bad.plan")


@pytest.mark.parametrize("text", ["[" * 100000, "- " * 100000, "fathom-plan: { a: " + "[{b: " * 100000], ids=["brackets", "dashes", "both"])
def test_plan_that_nests(fathom, save, tmp_path, text):
    (tmp_path / "deep.plan").write_text(text)
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--plan", "deep.plan").expect(1, "[F1009]", "nests deeper than")


def test_plan_with_something_behind_its_end(fathom, save, tmp_path):
    model, plan = save(add_model()), tmp_path / "add.plan"
    fathom("compile", model, "--emit", "plan", "-o", "add.plan").expect(0)
    whole = plan.read_text()
    plan.write_text(whole + "# '[[[\n")
    fathom("compile", model, "-o", "x.fathom", "--plan", "add.plan").expect(0)
    plan.write_text(whole + "load_ahead: 65\n")
    fathom("compile", model, "-o", "x.fathom", "--plan", "add.plan").expect(1, "[F1009]", "behind its end")


def test_plan_of_another_model(fathom, save, tmp_path):
    fathom("compile", save(add_model()), "--emit", "plan", "-o", "add.plan").expect(0)
    other = make_model([helper.make_node("Relu", ["x"], ["z"])], [value("x", [2, 3])], [value("z", [2, 3])])
    fathom("compile", save(other), "-o", "x.fathom", "--plan", "add.plan").expect(1, "[F1009]")


def test_plan_round_trip(fathom, save, tmp_path):
    path = save(add_model())
    fathom("compile", path, "--emit", "plan", "-o", "add.plan").expect(0)
    fathom("compile", path, "-o", "one.fathom").expect(0)
    fathom("compile", path, "-o", "two.fathom", "--plan", "add.plan").expect(0)
    assert (tmp_path / "one.fathom").read_bytes() == (tmp_path / "two.fathom").read_bytes()


@pytest.mark.parametrize("output", ["nowhere/x.fathom", "."])
def test_unwritable_output(fathom, save, output):
    fathom("compile", save(relu_model()), "-o", output).expect(1, "[F1014]", output)


def test_unwritable_text(fathom, save):
    fathom("compile", save(relu_model()), "--emit", "plan", "-o", "nowhere/x.plan").expect(
        1, "[F1014]", "nowhere/x.plan"
    )


def test_failed_compilation_keeps_the_old_artifact(fathom, save, artifact):
    before = artifact.read_bytes()
    fathom("compile", save(b"broken"), "-o", artifact).expect(1)
    assert artifact.read_bytes() == before


def test_full_stdout(fathom, save, tmp_path):
    """What was asked for did not arrive, so it is not a success."""
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [TOOL, "compile", str(save(add_model())), "--emit", "asm"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert process.returncode == 1 and "[F1014]" in process.stderr


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_closed_streams(save, tmp_path, closed):
    """The artifact is what counts; nothing else may get the number of a stream, and be written into."""
    path = save(add_model())
    words = [TOOL, "compile", str(path), "-o", "x.fathom"]
    close = lambda: [os.close(fd) for fd in closed]
    assert subprocess.run(words, cwd=tmp_path, preexec_fn=close).returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "x.fathom"]
    whole = (tmp_path / "x.fathom").read_bytes()
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "x.fathom").read_bytes() == whole


def test_closed_stdout(fathom, save, tmp_path):
    """Text that was asked for did not arrive."""
    words = [TOOL, "compile", str(save(add_model())), "--emit", "plan"]
    process = subprocess.run(words, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1))
    assert process.returncode == 1 and "[F1014]" in process.stderr


def test_full_stderr(save, tmp_path):
    with open("/dev/full", "w") as full:
        for words, code in ((["compile", save(add_model()), "-o", "x.fathom"], 0), (["run", "nowhere"], 1)):
            assert subprocess.run([TOOL, *words], stderr=full, cwd=tmp_path).returncode == code
    assert not list(tmp_path.glob("fathom-crash-*"))


def test_limit_of_file_sizes(save, tmp_path):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    words = [TOOL, "compile", str(save(add_model())), "-o", "x.fathom"]
    process = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, preexec_fn=limit)
    assert process.returncode == 1 and "[F1014]" in process.stderr and "File too large" in process.stderr
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_report_goes_to_stderr(fathom, save):
    result = fathom("compile", save(add_model()), "-o", "x.fathom").expect(0)
    assert result.out == ""
    for word in ("import", "graph", "code", "package", "total", "artifact", "kernels", "weights", "arena"):
        assert word in result.err
    quiet = fathom("compile", save(add_model()), "-o", "x.fathom", "--quiet").expect(0)
    assert (quiet.out, quiet.err) == ("", "")
    data = json.loads(fathom("compile", save(add_model()), "-o", "x.fathom", "--json").out)
    assert data["kernels"] == 1 and data["source_weight_bytes"] == 4096


def test_no_colour_without_a_terminal(fathom, save):
    result = fathom("compile", save(b""), "-o", "x.fathom", env={"NO_COLOR": ""})
    assert "\x1b" not in result.err


def heed_signals():
    """A test run in the background or under nohup inherits ignored signals; a user's shell gives the default."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_DFL)


INTERRUPTS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU]


@pytest.fixture
def slow(save):
    """Starts a compilation that takes a while: many products of different sizes."""
    nodes, weights, last = [], [], "x"
    for i in range(60):
        weights.append(numpy_helper.from_array(np.ones((64 + i, 65 + i), np.float32), f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]),
            helper.make_node("Tanh", [f"p{i}"], [f"t{i}"]),
        ]
        last = f"t{i}"
    path = save(make_model(nodes, [value("x", [32, 64])], [value(last, [32, 124])], weights))

    def start():
        words = [TOOL, "compile", str(path), "-o", "x.fathom", "--jobs", "1"]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=path.parent, preexec_fn=heed_signals)
        time.sleep(0.5)
        return process

    return start


@pytest.mark.parametrize("number", INTERRUPTS)
def test_interrupt_leaves_nothing(slow, tmp_path, number):
    process = slow()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.parametrize("variable", ["TMPDIR", "FATHOM_CRASH_FOLDER"])
def test_crash_writes_a_note(slow, tmp_path, monkeypatch, variable):
    """Our own bug: exit code 70 and a file that says how to reproduce it, not in the current folder."""
    monkeypatch.delenv("FATHOM_CRASH_FOLDER", raising=False)
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv(variable, str(notes))
    process = slow()
    process.send_signal(signal.SIGSEGV)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 70
    assert "error: [F7001]" in err and "bug of Fathom" in err
    (note,) = notes.glob("fathom-crash-*.txt")
    assert str(note) in err and not list(tmp_path.glob("fathom-crash-*"))
    text = note.read_text()
    assert "reproduce:" in text and "compile" in text and str(tmp_path) in text and "LLVM 22" in text


def test_reference_is_current(fathom):
    """docs/user/python.md has what the table of options says, and docs/reference/commands a page for each command, as its --help is."""
    assert fathom("help", "--markdown-python").out.strip() in (ROOT / "docs" / "user" / "python.md").read_text()
    spec = importlib.util.spec_from_file_location("commands", ROOT / "docs" / "reference" / "commands.py")
    commands = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(commands)
    made = commands.pages(fathom("help", "--markdown").out)
    assert {path.stem: path.read_text() for path in commands.FOLDER.glob("*.md")} == made, "python docs/reference/commands.py --write"
    assert commands.table(made) in commands.OVERVIEW.read_text()
    for name, text in made.items():
        assert f"```\n{fathom(name, '--help').out}```" in text


def test_every_code_is_documented():
    codes = re.findall(r"= (\d{4}),", (ROOT / "compiler" / "support" / "Diagnostics.h").read_text())
    codes += re.findall(r"ErrorCode\((\d{4})\)", (ROOT / "compiler" / "functional" / "syntax" / "Codes.h").read_text())
    documented = (ROOT / "docs" / "user" / "errors.md").read_text()
    assert len(codes) > 10
    assert [code for code in [*codes, "2001"] if f"| F{code} |" not in documented] == []
