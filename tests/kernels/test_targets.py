"""A machine's description decides: other numbers lead to other plans, in the direction that the numbers say."""
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from onnx import helper

import fathom
from support.models import model_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
FATHOM = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build")) / "bin/fathom"


@pytest.fixture(scope="module")
def model():
    weights = {"w": np.zeros((768, 768), np.float32)}
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": np.zeros((256, 768), np.float32)}, weights)


def machine(tmp_path, **numbers):
    lines = ["fathom-target: 1", "cpu: neoverse-v1"] + [f"{name.replace('_', '-')}: {value}" for name, value in numbers.items()]
    path = tmp_path / "machine.yaml"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def schedule(model, target):
    plan = fathom.compile(model, emit="plan", target=target)
    part = plan[plan.index("class:           contract") :]
    return {name: int(value) for name, value in re.findall(r"^ +(\w+): +(\d+)$", part, re.MULTILINE)}


def registers(knobs):
    vectors = -(-knobs["tile_n"] // 4)
    rows = -(-knobs["tile_m"] // 4) if knobs["pack_a"] else knobs["tile_m"]
    return knobs["tile_m"] * vectors + vectors + rows


def test_fewer_registers_make_smaller_tiles(model, tmp_path):
    whole, quarter = schedule(model, "neoverse-v1"), schedule(model, machine(tmp_path, vector_registers=8))
    assert registers(quarter) <= 8 < registers(whole) <= 32


def caches(first):
    return "[{bytes: %d, bytes-per-cycle: 48}, {bytes: 1048576, bytes-per-cycle: 4}]" % first


def test_a_smaller_cache_makes_smaller_blocks(model, tmp_path):
    def block(first):
        knobs = schedule(model, machine(tmp_path, caches=caches(first), cores=2))
        return min(knobs["block_k"], 768) * knobs["tile_n"] * 4 if knobs["pack_a"] else 0

    assert block(16 << 10) < block(32 << 10) < block(64 << 10)


def tasks(knobs):
    panels = -(-768 // knobs["tile_n"])
    return -(-256 // knobs["task_m"]) * -(-panels // knobs["task_n"])


def test_more_cores_make_more_tasks(model, tmp_path):
    one, many = (tasks(schedule(model, machine(tmp_path, cores=cores))) for cores in (1, 16))
    assert one < many


def test_a_slow_core_makes_more_tasks(model, tmp_path):
    even, uneven = (tasks(schedule(model, machine(tmp_path, cores=4, slowest_core=share))) for share in (1, 0.5))
    assert even < uneven


@pytest.mark.parametrize(
    "numbers, reason",
    [
        (dict(cores=0), "positive"),
        (dict(vector_registers=64), "between 4 and 32"),
        (dict(slowest_core=0), "between 0.1 and 1"),
        (dict(slowest_core=1.5), "between 0.1 and 1"),
        (dict(caches="[{bytes: 10, bytes-per-cycle: 1}]"), "at least 1024 bytes"),
        (dict(caches="[{bytes: 65536, bytes-per-cycle: 1}, {bytes: 65536, bytes-per-cycle: 1}]"), "each larger"),
        (dict(colour="blue"), "unknown key"),
    ],
)
def test_impossible_machines_are_refused(model, tmp_path, numbers, reason):
    with pytest.raises(fathom.Error, match=reason):
        fathom.compile(model, emit="plan", target=machine(tmp_path, **numbers))


@pytest.mark.parametrize("numbers", [dict(fma_latency=40), dict(fma_per_cycle=999999), dict(vector_registers=4), dict(cores=999999), dict(caches="[{bytes: 32768, bytes-per-cycle: 32}]")], ids=str)
def test_plans_for_odd_machines_can_be_given_back(model, tmp_path, numbers):
    target, plan = machine(tmp_path, **numbers), tmp_path / "plan"
    fathom.compile(model, output=str(plan), emit="plan", target=target)
    assert fathom.compile(model, emit="plan", target=target, plan=str(plan)) == plan.read_text()


def test_the_host_as_a_file(model, tmp_path):
    """What doctor prints of this machine compiles for this machine, with the features it really has."""
    path = tmp_path / "host.yaml"
    path.write_text(subprocess.run([FATHOM, "doctor", "--target", "host"], check=True, capture_output=True, text=True).stdout)
    x = np.ones((256, 768), np.float32)
    [y] = fathom.Session(fathom.compile(model, target=str(path))).run(None, {"x": x})
    assert not y.any()


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\xff\xfe"])
def test_files_without_a_description(model, tmp_path, text):
    path = tmp_path / "machine.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(fathom.Error, match="cannot be read: .") as error:
        fathom.compile(model, emit="plan", target=str(path))
    assert "F1010" in str(error.value)
    answer = subprocess.run([FATHOM, "doctor", "--target", path], capture_output=True, text=True)
    assert answer.returncode == 1 and "F1010" in answer.stderr


@pytest.mark.parametrize("name", ["cores", "fma-per-cycle", "fma-latency", "reorder-window", "memory-bytes-per-cycle"])
@pytest.mark.parametrize("number", ["0", "-1", "1000000"])
def test_impossible_numbers_are_named(model, tmp_path, name, number):
    path = tmp_path / "machine.yaml"
    path.write_text(f"fathom-target: 1\ncpu: neoverse-n1\n{name}: {number}\n")
    with pytest.raises(fathom.Error, match=f"{name} must be positive"):
        fathom.compile(model, emit="plan", target=str(path))


def test_a_missing_file(model, tmp_path):
    with pytest.raises(fathom.Error, match="cannot read the machine description"):
        fathom.compile(model, emit="plan", target=str(tmp_path / "none.yaml"))


@pytest.mark.parametrize("target, loads", [("neoverse-n1", True), ("x86-64-v3", False)])
def test_added_constants_are_loaded_where_a_copy_would_be_needed(target, loads):
    """Multiply-adds of aarch64 overwrite what they add to."""
    model = model_of([helper.make_node("Sigmoid", ["x"], ["y"])], {"x": np.zeros((64, 64), np.float32)}, {})
    adds = [line for line in fathom.compile(model, emit="llvm", target=target).splitlines() if re.search(r"@llvm\.fma\.v\d+f32\(", line) and "call" in line]
    assert adds and any(line.endswith("))") for line in adds) != loads  # the last operand is a constant
