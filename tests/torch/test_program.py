"""fathom.torch.compile of modules and exported programs."""

import fathom
import fathom.hf
import fathom.torch
import ml_dtypes
import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def fresh(seed):
    torch.manual_seed(seed)


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(5, 3)

    def forward(self, pair, scale=None):
        x, y = pair["x"], pair["y"]
        z = self.linear(x) * y
        return {"z": z if scale is None else z * scale, "x": x, "some": [z.sum(dim=1)]}


def arguments(batch, **more):
    return ({"x": torch.randn(batch, 5), "y": torch.randn(batch, 3)},), more


def check(got, want):
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_a_module():
    module = Two()
    args, kwargs = arguments(4, scale=torch.tensor(2.0))
    program = fathom.torch.compile(module, args, kwargs, tune="off", threads=1)
    check(program(*args, **kwargs), module(*args, **kwargs))
    assert program.session.threads == 1
    args, kwargs = arguments(4, scale=torch.tensor(3.0))
    check(program(*args, **kwargs), module(*args, **kwargs))
    with pytest.raises(fathom.Error, match="F1012.*are not those that the program was exported for"):
        program(*args)
    with pytest.raises(fathom.Error, match="F1012"):
        program(*arguments(5)[0], **kwargs)
    with pytest.raises(fathom.Error, match="F1012.*is torch.float32 on the CPU, the tensor torch.float64"):
        program({"x": args[0]["x"].double(), "y": args[0]["y"]}, **kwargs)


def test_arguments_that_are_no_tensors():
    """They are part of the program: another one is another program."""

    class Module(torch.nn.Module):
        def forward(self, x, power, scale=1.5):
            return x**power * scale

    program = fathom.torch.compile(Module(), (torch.zeros(3), 2), {"scale": 2.5}, tune="off")
    x = torch.randn(3)
    check(program(x, 2, scale=2.5), x**2 * 2.5)
    for arguments, keywords in (((x, 3), {"scale": 2.5}), ((x, 2.0), {"scale": 2.5}), ((x, 2), {"scale": 0.5})):
        with pytest.raises(fathom.Error, match="F1012.*are not those that the program was exported for"):
            program(*arguments, **keywords)


def test_a_module_that_is_in_training_stays_so():
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3).eval())
    fathom.torch.compile(module, (torch.randn(4, 3),), tune="off")
    assert [part.training for part in module.modules()] == [True, True, False]


def test_an_exported_program_of_any_batch():
    module = Two().eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(module, *arguments(3), dynamic_shapes={"pair": {"x": {0: batch}, "y": {0: batch}}})
    program = fathom.torch.compile(exported, tune="off")
    for size in (2, 3, 64, 7):
        args, _ = arguments(size)
        check(program(*args), module(*args))
    [(_, low, high)] = program.session.symbols
    assert (low, high) == (2, 64)
    with pytest.raises(fathom.Error, match="F1012"):
        program(*arguments(65)[0])


def test_no_tensor_is_copied(random):
    """What a program reads is the caller's memory."""
    program = fathom.torch.compile(torch.nn.Softmax(-1), (torch.zeros(3, 4),), tune="off")
    x = torch.randn(3, 4)
    assert program._program._prepare(0, x) is x
    check(program(x), torch.softmax(x, -1))
    x.mul_(3)
    check(program(x), torch.softmax(x, -1))


def test_sizes_that_data_decides():
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.nonzero(x)

    program = fathom.torch.compile(Module(), (torch.tensor([0.0, 1, 0, 2]),), tune="off")
    for numbers in ([0.0, 1, 0, 2], [0.0] * 4, [1.0, 1, 1, 0]):
        x = torch.tensor(numbers)
        check(program(x), torch.nonzero(x))


def test_what_cannot_be_compiled():
    class Module(torch.nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    with pytest.raises(fathom.Error, match="F1003.*cannot be compiled: it changes x in place"):
        fathom.torch.compile(Module(), (torch.zeros(3),))


def test_results_as_tensors():
    likes = [torch.zeros(1)]
    array = np.array([[1, 2.5]], ml_dtypes.bfloat16)
    got = fathom.hf.as_given(array, likes)
    check(got, torch.tensor([[1, 2.5]], dtype=torch.bfloat16))
    assert got.data_ptr() == array.ctypes.data
    check(fathom.hf.as_given([np.ones(2), np.zeros(1)], likes), [torch.ones(2, dtype=torch.double), torch.zeros(1, dtype=torch.double)])
    texts = np.array(["a"], object)
    assert fathom.hf.as_given(texts, likes) is texts and fathom.hf.as_given(None, likes) is None


def test_tensors_into_sessions(random):
    """Sessions read and write tensors through DLPack."""
    from support.networks import perceptron

    session = fathom.Session(fathom.compile(perceptron()))
    x = torch.randn(3, 16)
    y, r = session.run(None, {"x": x})
    check(torch.from_dlpack(y), torch.from_numpy(y))
    assert torch.from_dlpack(y).data_ptr() == y.ctypes.data
    outputs = {"y": torch.empty(3, 8), "r": torch.empty(3, 24)}
    session.run_into({"x": x}, outputs)
    check(outputs["y"], torch.from_numpy(y))
    check(outputs["r"], torch.from_numpy(r))
