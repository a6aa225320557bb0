"""How many work items a group has where no schedule says so is what a GPU's description states."""
import re

import numpy as np
import pytest
from onnx import helper

import fathom
from support.models import model_of

GPU = "fathom-target: 1\ntriple: nvptx64-nvidia-cuda\ncpu: sm_80\ngpu: {{ multiprocessors: 8, gigahertz: 1.5{more} }}\n"


def items(folder, elements, **keys):
    """Of the kernel of a softmax over 300 rows of so many elements."""
    path = folder / "gpu.yaml"
    path.write_text(GPU.format(more="".join(f", {key.replace('_', '-')}: {value}" for key, value in keys.items())))
    x = np.zeros((300, elements), np.float32)
    text = fathom.compile(model_of([helper.make_node("Softmax", ["x"], ["y"])], {"x": x}, {}), emit="asm", target=str(path))
    (number,) = re.findall(r"groups of (\d+) items", text)
    return int(number)


@pytest.mark.parametrize("elements, keys, expected", [
    (31, {}, 256),  # a row for each item
    (32, {}, 32),
    (4099, {}, 256),
    (4099, {"most_row_items": 64}, 64),
    (4099, {"group_items": 100}, 64),
    (129, {"row_elements_of_item": 1}, 256),
    (40, {"least_row_items": 8}, 16),
    (40, {"shared_row": 41}, 256),
    (40, {"shared_row": 41, "task_items": 96}, 96),
    (40, {"shared_row": 41, "group_items": 128}, 128),
])  # fmt: skip
def test_what_a_description_states(tmp_path, elements, keys, expected):
    assert items(tmp_path, elements, **keys) == expected


@pytest.mark.parametrize("keys, words", [
    ({"task_items": 0}, "counted by whole numbers from 1 on"),
    ({"least_row_items": 24}, "powers of two"),
    ({"least_row_items": 64, "most_row_items": 32}, "the first no more than the second"),
])  # fmt: skip
def test_what_is_wrong_in_one(tmp_path, keys, words):
    with pytest.raises(fathom.Error, match=words):
        items(tmp_path, 40, **keys)
