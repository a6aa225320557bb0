"""torch.compile(backend="fathom") beside eager PyTorch: values, sizes, weights that change, and what is left to PyTorch."""

import logging

import fathom.torch
import pytest
import torch
from fathom import dynamo

# The schedules are not what is tested.
OPTIONS = {"tune": "off"}


@pytest.fixture(autouse=True)
def fresh(seed):
    torch._dynamo.reset()
    torch.manual_seed(seed)


@pytest.fixture
def compiled(monkeypatch):
    """The programs that were compiled during a test."""
    made = []

    class Program(dynamo.TensorProgram):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(dynamo, "TensorProgram", Program)
    return made


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def compile(function, **more):
    return torch.compile(function, backend="fathom", options=OPTIONS, **more)


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(13, 7)
        self.norm = torch.nn.BatchNorm1d(7)
        self.register_buffer("shift", torch.randn(7))

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)) + self.shift)


def test_a_module_and_its_batches(compiled):
    module = Small().eval()
    fast = compile(module)
    with torch.no_grad():
        for batch in (2, 5, 3, 17):
            x = torch.randn(batch, 13)
            close(fast(x), module(x))
    # The second size makes the batch one that changes.
    assert len(compiled) == 2
    assert [type(program.session.inputs[0].shape[0]) for program in compiled] == [int, str]
    assert all(program.session.threads == torch.get_num_threads() for program in compiled)


def test_weights_that_change(compiled):
    module = Small().eval()
    fast = compile(module)
    x = torch.randn(4, 13)
    with torch.no_grad():
        before = fast(x)
        close(before, module(x))
        module.linear.weight.mul_(2)
        close(fast(x), module(x))
        module.shift.data = torch.randn(7)
        close(fast(x), module(x))
        assert not torch.equal(fast(x), before)
        count = len(compiled)
        fast(x)
    assert count == len(compiled) == 3


def test_what_pytorch_does_not_count(compiled):
    """The page says so, and what to do."""
    module = Small().eval()
    fast = compile(module)
    x = torch.randn(4, 13)
    with torch.no_grad():
        before = fast(x)
        module.linear.weight.data.mul_(2)
        assert torch.equal(fast(x), before) and len(compiled) == 1
        module.linear.weight.mul_(1)
        close(fast(x), module(x))
        module.linear.weight.data.mul_(2)
        torch.compiler.reset()
        close(fast(x), module(x))
        assert not torch.allclose(fast(x), before) and len(compiled) == 3


def test_weights_that_the_graph_holds(compiled):
    """As it does where Inductor is told to freeze them."""
    import torch._inductor.config

    module = Small().eval()
    x = torch.randn(4, 13)
    with torch._inductor.config.patch(freezing=True), torch.no_grad():
        fast = compile(module)
        close(fast(x), module(x))
        module.linear.weight.mul_(2)
        close(fast(x), module(x))
    assert len(compiled) == 2


def test_inference_mode_and_strides(compiled):
    module = Small().eval()
    fast = compile(module)
    with torch.inference_mode():
        for x in (torch.randn(13, 6).T, torch.randn(6, 26)[:, ::2], torch.randn(6, 13, requires_grad=True)):
            close(fast(x), module(x))
    assert compiled


def test_results_of_all_kinds(compiled):
    def function(x, y):
        z = x * y
        return {"z": z, "again": z, "x": x, "three": 3, "none": None, "rows": x.shape[0], "sum": (x + y).sum()}

    fast = compile(function, dynamic=True)
    for rows in (3, 5):
        x, y = torch.randn(rows, 4), torch.randn(rows, 4)
        got, want = fast(x, y), function(x, y)
        assert got.keys() == want.keys()
        assert got["x"] is x and got["again"] is got["z"]
        assert (got["three"], got["none"], got["rows"]) == (3, None, rows)
        close(got["z"], want["z"])
        close(got["sum"], want["sum"])
    assert len(compiled) == 1


def test_numbers_among_the_arguments():
    def function(x, factor, count):
        return (x * factor).repeat(count, 1)

    fast = compile(function, dynamic=True)
    x = torch.randn(3, 4)
    for factor, count in ((0.5, 2), (0.25, 2), (0.25, 3), (0.5, 2)):
        close(fast(x, factor, count), function(x, factor, count))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_types(dtype, compiled):
    def function(x, y):
        return torch.where(x == y, x, y), torch.cat([x, y]) if dtype is torch.bool else x + y

    fast = compile(function)
    x, y = (torch.randint(0, 2, (3, 5)).to(dtype) for _ in range(2))
    for got, want in zip(fast(x, y), function(x, y), strict=True):
        assert got.dtype == want.dtype
        torch.testing.assert_close(got, want)
    assert compiled


def test_graph_breaks(compiled):
    def function(x):
        y = torch.tanh(x) * 2
        torch._dynamo.graph_break()
        return torch.sigmoid(y) + x

    x = torch.randn(3, 4)
    close(compile(function)(x), function(x))
    assert len(compiled) == 2


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count


def view_of(x):
    return x.view(-1), x + 1


@pytest.mark.parametrize(
    "make, words",
    [
        (Counter, "in place"),
        (lambda: torch.nn.Dropout(0.5).train(), "random numbers"),
        (lambda: view_of, "is the memory of an argument"),
        (lambda: lambda x: torch.linalg.eigvals(torch.outer(x[0], x[0])), ""),
        (lambda: lambda x: x.shape[0] + 1, None),
    ],
    ids=["mutation", "random", "view", "operator", "number"],
)
def test_what_pytorch_runs(make, words, caplog, compiled):
    function, other = make(), make()
    fast = compile(function)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "fathom"):
        for _ in range(2):
            x = torch.randn(2, 3)
            torch.manual_seed(1)
            got = fast(x)
            torch.manual_seed(1)
            torch.testing.assert_close(got, other(x))
    assert compiled == []
    if words is not None:
        assert "runs in PyTorch" in caplog.text and words in caplog.text


def test_dropout_that_drops_nothing(compiled):
    module = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Dropout(0.5)).eval()
    x, q = torch.randn(3, 5), torch.randn(1, 2, 3, 4)
    with torch.no_grad():
        close(compile(module)(x), module(x))
        attention = torch.nn.functional.scaled_dot_product_attention
        close(compile(attention)(q, q + 1, q * 2), attention(q, q + 1, q * 2))
    assert len(compiled) == 2


def test_gradients(caplog, compiled):
    module = Small().eval()
    x = torch.randn(3, 13)
    compile(module)(x).sum().backward()
    assert module.linear.weight.grad is not None
    assert compiled == [] and "gradients are asked for" in caplog.text


def test_options_reach_the_compiler(compiled):
    fast = torch.compile(torch.tanh, backend="fathom", options={**OPTIONS, "threads": 1, "fp": "strict"})
    x = torch.randn(3, 5)
    close(fast(x), torch.tanh(x))
    [program] = compiled
    assert program.session.threads == 1 and program.session.manifest["fp"] == "strict"


def test_the_entry_point(tmp_path, monkeypatch):
    """An installed package is found by its name alone."""
    import tomllib

    from support.tool import ROOT

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["torch_dynamo_backends"]
    [(name, where)] = declared.items()
    module, _, attribute = where.partition(":")
    assert name == "fathom" and getattr(__import__(module, fromlist=[attribute]), attribute) is dynamo.backend
