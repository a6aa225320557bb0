"""python -m fathom.farm: tuning on a cluster of Ray, whose workers may die, and what is wrong with its words."""
import importlib.util
import json
import os
import subprocess
import sys

import fathom as fathom_package
import numpy as np
import onnx
import pytest
from onnx import external_data_helper, helper
from support import models
from support.tool import BUILD, TOOL, Result

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="./dev test full installs Ray")


@pytest.fixture
def network(save):
    """Three kernels that are worth tuning."""
    random = np.random.default_rng(5)
    nodes = [models.node("MatMul", "x v", "a"), models.node("Softmax", "a", "b", axis=0), models.node("MatMul", "b w", "c")]
    weights = {"v": models.floats(random, 24, 32), "w": models.floats(random, 32, 16)}
    return save(models.model(nodes, [("x", models.FLOAT, [16, 24])], [("c", models.FLOAT, [16, 16])], weights))


@pytest.fixture
def farm(tmp_path):
    def run(*words, env=None):
        package = os.environ.get("FATHOM_PACKAGE", str(BUILD / "python"))
        environment = {**os.environ, "FATHOM_BIN": TOOL, "PYTHONPATH": package, "NO_COLOR": "1", **(env or {})}
        command = [sys.executable, "-m", "fathom.farm", *map(str, words)]
        return Result(subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300))

    return run


def found(fathom, database="x.db"):
    """What is known of each kernel, without when it was found."""
    entries = json.loads(fathom("db", "list", "--json", "--db", database).expect(0).out)
    return sorted((entry["target"], entry["provenance"], entry["cycles"], json.dumps(entry["schedule"])) for entry in entries)


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_are_together_the_whole(fathom, network, parts):
    words = ["tune", network, "--tune", "static:4", "--target", "x86-64-v3"]
    fathom(*words, "--db", "whole.db").expect(0)
    for part in range(1, parts + 1):
        fathom(*words, "--part", f"{part}/{parts}", "--db", "x.db").expect(0)
    assert found(fathom) == found(fathom, "whole.db") and len(found(fathom)) == 3
    for part in "0/2", "3/2", "1", "x/2", "1/0":
        fathom(*words, "--part", part).expect(2, "[F2001]", "--part")


def test_what_makes_no_sense(farm, network, tmp_path):
    (tmp_path / "text.onnx").write_text("no model")
    farm("nothing.onnx", "--db", "x.db").expect(1, "[F1001]", "nothing.onnx")
    farm("text.onnx", "--db", "x.db").expect(1, "[F1002]", "text.onnx")
    farm(network, "--db", "no/where.db").expect(1, "[F1014]", "where.db")
    farm(network, "--db", "postgresql://127.0.0.1:1/x").expect(1, "[F1014]", "cannot be reached")
    assert farm(network, "--db", "x.db", "--parts", "0").code == 2
    assert farm(network).code == 2


def test_no_ray(farm, network):
    """It may not be installed, and then that is said; or nobody may listen."""
    result = farm(network, "--db", "x.db", "--ray", "127.0.0.1:1")
    result.expect(5, "[F5001]", "127.0.0.1:1" if importlib.util.find_spec("ray") else "not installed", "hint:")


@needs_ray
def test_a_worker_that_is_killed(farm, fathom, network, tmp_path):
    """Four at once, of whom the first takes its process of Ray with it: another one does the task."""
    killer = tmp_path / "killer"
    killer.write_text(f'#!/bin/sh\nif [ "$1" = tune ] && mkdir "{tmp_path}/killed" 2>/dev/null; then kill -9 $PPID; sleep 100; fi\nexec "{TOOL}" "$@"\n')
    killer.chmod(0o700)
    words = ["--target", "x86-64-v3", "--target", "neoverse-n1"]
    result = farm(network, "--db", "x.db", "--ray", "local", "--cpus", "0.5", *words, "--parts", "2", "--", "--tune", "static:4", env={"FATHOM_BIN": str(killer)})
    result.expect(0)
    assert (tmp_path / "killed").exists() and "[4/4]" in result.out
    for target in "x86-64-v3", "neoverse-n1":
        fathom("tune", network, "--tune", "static:4", "--target", target, "--db", "alone.db").expect(0)
    assert found(fathom) == found(fathom, "alone.db")
    # What fails by itself is told, and the rest is there.
    result = farm(network, "--db", "y.db", "--ray", "local", "--target", "x86-64-v3", "--target", "nonsense", "--", "--tune", "static:2")
    result.expect(5, "[F1010]", "for nonsense, part 1 of 1", "1 tasks failed")
    assert found(fathom, "y.db")


def test_a_cluster_by_the_tools_own_option(fathom, network, tmp_path):
    """fathom tune --ray: what is wrong with its words, or with what it needs."""
    words = ["tune", network, "--db", "x.db", "--ray", "127.0.0.1:1"]
    has_ray = importlib.util.find_spec("ray") is not None
    fathom(*words, "--tune", "static:4").expect(5, "[F5001]", "127.0.0.1:1" if has_ray else "not installed", "hint:")
    fathom(*words, env={"FATHOM_PYTHON": "/no/such/python"}).expect(5, "[F5001]", "/no/such/python", "FATHOM_PYTHON")
    package = tmp_path / "package"
    (package / "fathom").mkdir(parents=True)
    (package / "fathom" / "__init__.py").write_text("raise ImportError('nothing here')")
    lone = tmp_path / "python"
    lone.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} "$@"\n')
    lone.chmod(0o700)
    fathom(*words, env={"FATHOM_PYTHON": str(lone)}).expect(5, "[F5001]", "nothing here", "requirements-ray.txt")
    fathom("tune", "nothing.onnx", *words[2:]).expect(1, "[F1001]", "nothing.onnx")
    fathom(*words[:3], "none", *words[4:]).expect(2, "[F2001]", "database")
    for more in ["--output", "x.plan"], ["--json"], ["--part", "1/2"], ["--calibration", "c.yaml"]:
        fathom(*words, *more).expect(2, "[F2001]", more[0], "--ray")
    fathom("tune", network, "--ray-tasks", "2").expect(2, "[F2001]", "--ray-tasks")
    fathom(*words, "--ray-tasks", "0").expect(2, "[F2001]", "--ray-tasks")


@needs_ray
def test_the_tool_starts_a_cluster(fathom, network):
    words = ["tune", network, "--tune", "static:4", "--target", "x86-64-v3"]
    told = fathom(*words, "--db", "x.db", "--ray", "local", "--ray-tasks", "2", "--ray-cpus", "0.5", env={"FATHOM_BIN": TOOL}).expect(0)
    assert "[2/2]" in told.out
    fathom(*words, "--db", "alone.db").expect(0)
    assert found(fathom) == found(fathom, "alone.db")


def test_files_of_a_model_are_sent_along(tmp_path):
    """Those of branches and of constants, too; and none from outside of its folder."""
    from fathom.farm import files_of

    def external(name, location):
        tensor = helper.make_tensor(name, onnx.TensorProto.FLOAT, [1], np.zeros(1, np.float32).tobytes(), raw=True)
        external_data_helper.set_external_data(tensor, location)
        tensor.ClearField("raw_data")
        (tmp_path / location).write_bytes(bytes(4))
        return tensor

    constant = helper.make_node("Constant", [], ["c"], value=external("c", "constant.bin"))
    branch = helper.make_graph([constant, helper.make_node("Add", ["c", "w"], ["r"])], "branch", [], [helper.make_tensor_value_info("r", models.FLOAT, [1])], [external("w", "branch.bin")])
    node = helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)
    model = models.model([node], [("x", onnx.TensorProto.BOOL, [])], [("y", models.FLOAT, [1])])
    model.graph.initializer.append(external("v", "whole.bin"))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert set(files_of(path)) == {"model.onnx", "constant.bin", "branch.bin", "whole.bin"} and next(iter(files_of(path))) == "model.onnx"
    constant.attribute[0].t.external_data[0].value = "../constant.bin"
    outside = models.model([constant], [], [("c", models.FLOAT, [1])])
    path.write_bytes(outside.SerializeToString())
    with pytest.raises(fathom_package.Error, match="outside of its folder"):
        files_of(path)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "linked.bin").symlink_to("constant.bin")
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("linked.bin", "names a link"), ("link/constant.bin", "names a link"), ("pipe", "no plain file")):
        constant.attribute[0].t.external_data[0].value = name
        path.write_bytes(models.model([constant], [], [("c", models.FLOAT, [1])]).SerializeToString())
        with pytest.raises(fathom_package.Error, match=message):
            files_of(path)
