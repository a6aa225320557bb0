"""An installed prefix that was moved: the tool works, and C and C++ programs find the runtime by CMake and by pkg-config."""
import os
import pathlib
import re
import secrets
import shutil

import numpy as np
import onnx
import pytest
from support.models import FLOAT, INT64, floats, model, node
from support.tool import BUILD, ROOT

PROGRAMS = ["cmake", "cmake-static", "pkg-config", "pkg-config-static"]


@pytest.fixture(scope="module")
def random():
    seed = int(os.environ.get("FATHOM_TEST_SEED", secrets.randbelow(1 << 31)))
    print(f"repeat with FATHOM_TEST_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def network(random):
    """rows x 5 -> their products with weights, and the places of those that are positive."""
    weights, bias = floats(random, 5, 7), floats(random, 7)
    nodes = [node("MatMul", "x w", "xw"), node("Add", "xw b", "y"), node("Greater", "y zero", "p"), node("NonZero", "p", "at")]
    constants = {"w": weights, "b": bias, "zero": np.float32(0)}
    return model(nodes, [("x", FLOAT, ["rows", 5])], [("y", FLOAT), ("at", INT64)], constants), weights, bias


@pytest.fixture(scope="module")
def artifact(network, prefix, bare_environment, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    onnx.save(network[0], folder / "net.onnx")
    # No rows at all are asked for, as otherwise one is the least.
    run(prefix / "bin/fathom", "compile", folder / "net.onnx", "--dim", "rows=0..99", "-o", folder / "net.fathom", env=bare_environment)
    return folder / "net.fathom"


@pytest.fixture(scope="module")
def plain_artifact(network, artifact, prefix, bare_environment, run):
    """Without the output whose size data decides."""
    path = artifact.with_name("plain.onnx")
    plain = onnx.ModelProto.FromString(network[0].SerializeToString())
    del plain.graph.output[1:], plain.graph.node[2:]
    onnx.save(plain, path)
    run(prefix / "bin/fathom", "compile", path, "-o", path.with_suffix(".fathom"), env=bare_environment)
    return path.with_suffix(".fathom")


@pytest.fixture(scope="module", params=PROGRAMS)
def programs(request, prefix, run, tmp_path_factory):
    """run_model and apply, built as their users would, and the environment that they run in."""
    folder = tmp_path_factory.mktemp(request.param)
    library = {"LD_LIBRARY_PATH": str(prefix / "lib")}
    if request.param.startswith("cmake"):
        run("cmake", "-S", ROOT / "tests/install/project", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DSOURCES={ROOT}/examples")
        run("cmake", "--build", folder)
        suffix = "_static" if "static" in request.param else ""
        return folder / f"run_model{suffix}", folder / f"apply{suffix}", {}
    [config] = prefix.rglob("fathom_rt.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(config.parent)}
    static = ["--static"] if "static" in request.param else []
    flags = run("pkg-config", *static, "--cflags", "--libs", "fathom_rt", env=environment).stdout.split()
    if static:
        flags = [str(prefix / "lib/libfathom_rt.a") if flag == "-lfathom_rt" else flag for flag in flags]
    run("cc", "-std=c99", ROOT / "examples/run_model.c", *flags, "-o", folder / "run_model")
    run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", ROOT / "examples/apply.cpp", *flags, "-o", folder / "apply")
    return folder / "run_model", folder / "apply", {} if static else library


def outputs_of(text):
    """name -> array, of the lines that apply prints."""
    found = {}
    for line in text.splitlines():
        head, values = line.split(" :")
        name, *shape = head.split()
        found[name] = np.array(values.split(), np.float64).reshape([int(size) for size in shape])
    return found


def test_programs_compute_what_numpy_does(programs, artifact, network, random, run):
    _, apply, environment = programs
    _, weights, bias = network
    for rows in (0, 1, 2, 13):
        x = floats(random, rows, 5)
        found = outputs_of(run(apply, artifact, f"{rows}x5", env=environment, stdin=" ".join(map(repr, x.ravel().tolist()))).stdout)
        exact = x.astype(np.float64) @ weights.astype(np.float64) + bias
        assert found["y"].shape == exact.shape
        np.testing.assert_allclose(found["y"], exact, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(found["at"], np.stack(np.nonzero(found["y"] > 0)))


def test_c_programs_run(programs, plain_artifact, run):
    run_model, _, environment = programs
    texts = {run(run_model, plain_artifact, threads, "rows=3", env=environment).stdout for threads in (1, 2)}
    checksums = {re.search(r"^y \[3, 7\].* checksum (\w+)$", text, re.M)[1] for text in texts}
    assert len(checksums) == 1


def test_mistakes_are_errors_of_cpp(programs, artifact, run, tmp_path):
    _, apply, environment = programs
    assert "[F1011]" in run(apply, ROOT / "README.md", "1x5", env=environment, stdin="", code=1).stderr
    assert "dimension" in run(apply, artifact, "5", env=environment, stdin="1 2 3 4 5", code=1).stderr
    assert "elements" in run(apply, artifact, "2x5", env=environment, stdin="1 2 3", code=1).stderr
    assert "[F1" in run(apply, artifact, "1x4", env=environment, stdin="1 2 3 4", code=1).stderr


def test_the_installed_tool_is_whole(prefix, artifact, bare_environment, run):
    tool = prefix / "bin/fathom"
    assert run(tool, "--version", env=bare_environment).stdout == run(BUILD / "bin/fathom", "--version").stdout
    assert '"median_ms"' in run(tool, "bench", artifact, "--json", "--min-time", "0.01", env=bare_environment).stdout
    assert "rows" in run(tool, "inspect", artifact, env=bare_environment).stdout
    # No library comes from LLVM or the build folder.
    libraries = run("ldd", tool).stdout
    assert "fathom_compiler" in libraries and "not found" not in libraries
    assert not re.search(r"libLLVM|libMLIR|/build/", libraries), libraries


def test_the_installed_tool_measures(prefix, artifact, bare_environment, run, tmp_path):
    model_file = artifact.with_suffix(".onnx")
    environment = {**bare_environment, "HOME": str(tmp_path)}
    words = (model_file, "--tune", "measure:2", "--db", tmp_path / "schedules.db")
    run(prefix / "bin/fathom", "tune", *words, env=environment)
    listed = run(prefix / "bin/fathom", "db", "list", "--db", tmp_path / "schedules.db", env=environment)
    assert listed.stdout.count("\n") > 1


def option_names(run, command):
    text = run(BUILD / "bin/fathom", command, "--help").stdout
    return set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", text, re.M)) - {"help"}


def commands_of(run):
    text = run(BUILD / "bin/fathom", "--help").stdout
    return re.findall(r"^  ([a-z]+) +\S", text, re.M)


def test_manual_pages_have_every_option(prefix, run):
    commands = commands_of(run)
    assert len(commands) > 10
    main = (prefix / "share/man/man1/fathom.1").read_text()
    for command in commands:
        page = (prefix / f"share/man/man1/fathom-{command}.1").read_text()
        found = {name.replace("\\-", "-") for name in re.findall(r"^\.B (?:\\-\w, )?\\-\\-([\w\\-]+)", page, re.M)}
        assert found == option_names(run, command), command
        assert f"\\-{command} (1)" in main
        assert not re.search(r"^\.(?!TH|SH|TP|B|BR|I|nf|fi)", page, re.M)


def test_completions_have_every_option(prefix, run):
    bash = prefix / "share/bash-completion/completions/fathom"
    fish = (prefix / "share/fish/vendor_completions.d/fathom.fish").read_text()
    zsh = (prefix / "share/zsh/site-functions/_fathom").read_text()
    assert zsh.startswith("#compdef fathom")
    for command in commands_of(run):
        script = f'source {bash}; COMP_WORDS=(fathom {command} --); COMP_CWORD=2; _fathom; echo "${{COMPREPLY[@]}}"'
        offered = {word.removeprefix("--") for word in run("bash", "-c", script).stdout.split()}
        assert offered == option_names(run, command) | {"help"}
        offered = re.findall(rf"__fish_seen_subcommand_from {command}' -l ([\w-]+)", fish)
        assert set(offered) == option_names(run, command)
        [block] = re.findall(rf"^    {command}\)\n(.*?)^      ;;", zsh, re.M | re.S)
        assert set(re.findall(r"^ +'\*?--([\w-]+)\[", block, re.M)) - {"help"} == option_names(run, command)
    script = f'source {bash}; COMP_WORDS=(fathom compile --fp fast); COMP_CWORD=3; _fathom; echo "${{COMPREPLY[@]}}"'
    assert run("bash", "-c", script).stdout.split() == ["fast", "fastest"]


@pytest.mark.parametrize("shell, path", [("zsh", "zsh/site-functions/_fathom"), ("fish", "fish/vendor_completions.d/fathom.fish")])
def test_shells_can_read_their_completions(prefix, run, shell, path):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here")
    run(shell, "-n", pathlib.Path(prefix, "share", path))


def test_an_unknown_shell_is_refused(run):
    assert "[F2001]" in run(BUILD / "bin/fathom", "help", "--completion", "csh", code=2).stderr
