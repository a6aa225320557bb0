"""Networks that PyTorch and Fathom train beside each other: a ResNet-18 for images of 32 x 32, and a small transformer."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.inwards, self.outwards = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.wide, self.narrow = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        batch, length, channels = x.shape
        query, key, value = self.inwards(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()
        scores = query @ key.transpose(-1, -2) / (channels // self.heads) ** 0.5
        x = x + self.outwards((scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, channels))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


class Transformer(nn.Module):
    """Classifies sequences of tokens."""

    def __init__(self, tokens=50, length=12, channels=32, heads=4, blocks=2, classes=5):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, channels), nn.Parameter(torch.randn(length, channels) * 0.1)
        self.blocks = nn.Sequential(*(Block(channels, heads) for _ in range(blocks)))
        self.result = nn.Linear(channels, classes)

    def forward(self, x):
        return self.result(self.blocks(self.tokens(x) + self.places).mean(1))


def transformer():
    return Transformer(), lambda step: torch.randint(50, (16, 12), generator=torch.Generator().manual_seed(step)), 5


def resnet18(batch=8):
    """As it is usual for CIFAR: a first window of 3 x 3, and no first pooling."""
    import torchvision

    network = torchvision.models.resnet18(num_classes=10)
    network.conv1, network.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    return network, lambda step: torch.randn(batch, 3, 32, 32, generator=torch.Generator().manual_seed(step)), 10


NETWORKS = {"transformer": (transformer, "adam:lr=3e-3"), "resnet18": (resnet18, "sgd:lr=0.02,momentum=0.9")}


def optimizer(network, text):
    kind, _, arguments = text.partition(":")
    values = {name: float(value) for name, value in (pair.split("=") for pair in arguments.split(","))}
    return {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[kind](network.parameters(), **values)


def labels(step, count, classes):
    return torch.randint(classes, (count,), generator=torch.Generator().manual_seed(1000 + step))


def batches(draw, classes, steps, dtype, few=4):
    """The same few batches over and over, so that there is something to learn."""
    for step in range(steps):
        x = draw(step % few)
        yield x if x.dtype == torch.int64 else x.to(dtype), labels(step % few, len(x), classes)


def step_of(network, optimizing, x, y):
    optimizing.zero_grad(set_to_none=True)
    loss = functional.cross_entropy(network(x), y)
    loss.backward()
    optimizing.step()
    return loss.item()


def export(network, x, path):
    """As it trains: normalisations take the statistics of the batch."""
    network.train()
    torch.onnx.export(network, (x,), str(path), input_names=["x"], output_names=["logits"], opset_version=17, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
