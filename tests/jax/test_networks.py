"""Functions of JAX by way of ONNX, beside JAX's own results."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax import lax
from jax2onnx import to_onnx
from support.compare import agree


def convolutional(random):
    first, second = (jnp.asarray(random.standard_normal(shape, np.float32)) for shape in ((3, 3, 4, 8), (8, 5)))

    def network(x):
        x = jax.nn.relu(lax.conv_general_dilated(x, first, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        x = nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))
        return x.mean((1, 2)) @ second

    return network, (13, 17, 4)


def attention(random):
    weights = [jnp.asarray(random.standard_normal((12, 12), np.float32) / 4) for _ in range(4)]

    def network(x):
        q, k, v = (x @ weight for weight in weights[:3])
        shares = jax.nn.softmax(jnp.einsum("bid,bjd->bij", q, k) / 12**0.5)
        x = x + jnp.einsum("bij,bjd->bid", shares, v) @ weights[3]
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    return network, (7, 12)


def recurrent(random):
    inner, outer = (jnp.asarray(random.standard_normal((6, 6), np.float32) / 3) for _ in range(2))

    def network(x):
        def step(state, row):
            state = jnp.tanh(state @ inner + row @ outer)
            return state, state

        return lax.scan(step, jnp.zeros((x.shape[0], 6)), x.swapaxes(0, 1))[1].swapaxes(0, 1)

    return network, (11, 6)


def gradient(random):
    weight = jnp.asarray(random.standard_normal((9, 9), np.float32) / 3)
    return jax.grad(lambda x: jnp.sum(jnp.sin(x @ weight) ** 2)), (9,)


@pytest.mark.parametrize("make", [convolutional, attention, recurrent, gradient])
def test_networks(make, random):
    network, shape = make(random)
    model = to_onnx(network, [("batch", *shape)], model_name=make.__name__)
    [name] = [info.name for info in model.graph.input]
    feeds = [{name: random.standard_normal((batch, *shape), np.float32)} for batch in (1, 5, 2)]
    agree(model, feeds, "network", lambda feed: [np.asarray(network(feed[name]))])
