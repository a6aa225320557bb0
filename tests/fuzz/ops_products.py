"""Declarations of products, convolutions, recurrent layers and attention."""
import numpy as np

from catalog import op

from values import FLOATS


@op("MatMul", 3)
def matmul(g):
    m, k, n = g.size(), g.size(), g.size()

    a = [k] if g.chance(0.1) else [m, k]
    b = [k] if g.chance(0.1) else [k, n]
    batch = g.shape((1, 2), high=3) if g.chance(0.5) else ()
    if len(a) == 2 and batch:
        a = [*(1 if g.chance(0.2) else s for s in batch), *a]
    if len(b) == 2 and batch and g.chance(0.7):
        b = [*(1 if g.chance(0.2) else s for s in batch), *b]
    left = g.arg(0, rank=(1, 4)) if g.chance(0.4) else g.arg(0, shape=a)
    if b:
        b[-2 if len(b) > 1 else -1] = left.shape[-1]
        lead = len(b) - 2
        if lead > 0 and left.rank > 2:
            b = [*left.shape[:-2], *b[-2:]]
    g.node(left, g.arg(1, shape=b))


@op("Gemm", 2)
def gemm(g):
    a = g.arg(0, rank=2)
    left, right = g.integer(0, 1), g.integer(0, 1)
    m, k = a.shape[::-1] if left else a.shape
    n = g.size()
    b = g.arg(1, shape=(n, k) if right else (k, n))
    c = g.arg(2, shape=g.choose([(m, n), (n,), (1, n), (m, 1), ()])) if g.chance(0.6) else None
    attributes = {"alpha": 0.5, "beta": 1.5} if g.chance(0.3) and a.dtype in FLOATS else {}
    g.node(a, b, c, transA=left, transB=right, **attributes)


@op("Einsum")
def einsum(g):
    letters = {letter: g.size(1, 7) for letter in "abcdij"}
    equation = g.choose(["ab,bc->ac", "abi,abj->aij", "ab,ab->ab", "abij,abjd->abid", "ab->ba", "aab->b", "ab->a", "ab,bc,cd->ad", "...ij,...jd->...id",
                         "ab,cb->ac", "a,b->ab", "iab,aj->ibj", "ii->i", "abc->", "aib,ai->ab"])
    lead = g.shape((0, 1), low=1, high=3) if "..." in equation else ()
    operands = []
    for term in equation.split("->")[0].split(","):
        shape = (*(lead if "..." in term else ()), *(letters[x] for x in term.replace("...", "")))
        operands.append(g.arg(0, shape=shape))
    g.node(*operands, equation=equation)


def window(g, spatial, size, kernel_high=3):
    """Attributes of a window over so many dimensions, and the smallest image that it fits into."""
    kernel = [g.integer(1, kernel_high) for _ in range(spatial)]
    strides = [g.choose([1, 1, 2, 3]) for _ in range(spatial)] if g.chance(0.6) else None
    dilations = [g.choose([1, 1, 2]) for _ in range(spatial)] if g.chance(0.3) else None
    pads, auto = None, None
    if g.chance(0.3):
        auto = g.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
        dilations = None
    elif g.chance(0.6):
        pads = [g.integer(0, k - 1) for k in kernel + kernel]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations or [1] * spatial, strict=True)]
    image = [g.size(1, size) + r - 1 for r in reach]
    return kernel, dict(strides=strides, dilations=dilations, pads=pads, auto_pad=auto), image


@op("Conv", 3)
def conv(g):
    spatial = g.choose([1, 2, 2, 2, 3])
    kernel, attributes, image = window(g, spatial, [0, 17, 11, 5][spatial], 4 if spatial < 3 else 2)
    groups = g.choose([1, 1, 1, 2, 3])
    ins, outs = g.size(1, 8), g.size(1, 8)
    if g.chance(0.2):
        ins, outs, groups = 1, g.integer(1, 2), g.size(2, 8)
    images = [v for v in g.values if v.rank == spatial + 2 and v.dtype in g.types(0) and all(s >= r for s, r in zip(v.shape[2:], image, strict=True))]
    if images and g.chance(0.6):
        x = g.choose(images)
        g.bind(0, x.dtype)
        ins, groups = x.shape[1], 1
    else:
        x = g.arg(0, shape=(g.size(1, 3), ins * groups, *image))
    bias = g.arg(2, shape=(outs * groups,)) if g.chance(0.5) else None
    g.node(x, g.arg(1, shape=(outs * groups, ins, *kernel)), bias, group=groups, kernel_shape=kernel if g.chance(0.7) else None, **attributes)


@op("ConvTranspose")
def conv_transpose(g):
    spatial = g.choose([1, 2, 2, 3])
    kernel = [g.integer(1, 3) for _ in range(spatial)]
    strides = [g.choose([1, 2, 2, 3]) for _ in range(spatial)]
    dilations = [g.choose([1, 1, 2]) for _ in range(spatial)] if g.chance(0.3) else [1] * spatial
    groups, ins, outs = g.choose([1, 1, 2]), g.size(1, 5), g.size(1, 5)
    x = g.arg(0, shape=(g.size(1, 2), ins * groups, *(g.size(1, [0, 13, 7, 4][spatial]) for _ in range(spatial))))
    pads, extra = None, None
    if g.chance(0.4):
        pads = [g.integer(0, (k - 1) // 2) for k in kernel] * 2
    if g.chance(0.3):
        extra = [g.integer(0, max(s, d) - 1) for s, d in zip(strides, dilations, strict=True)]
    # ONNX's evaluator, which computes doubles, gives every group the bias of the first.
    bias = g.arg(2, shape=(outs * groups,)) if g.chance(0.5) and (groups == 1 or x.dtype != np.float64) else None
    g.node(x, g.arg(1, shape=(ins * groups, outs, *kernel)), bias, group=groups, strides=strides, dilations=dilations, pads=pads, output_padding=extra)


@op("DeformConv")
def deform_conv(g):
    k, ins, outs = g.integer(1, 2), g.integer(1, 3), g.integer(1, 3)
    n, h, w = g.integer(1, 2), g.integer(2, 5), g.integer(2, 5)
    x = g.arg(0, shape=(n, ins, h, w))
    out = (h - k + 1, w - k + 1)
    # An offset on a pixel's border decides between two images of it.
    offset = g.arg(2, shape=(n, 2 * k * k, *out), low=-1, high=1)
    mask = g.arg(4, shape=(n, k * k, *out)) if g.chance(0.4) else None
    g.node(x, g.arg(1, shape=(outs, ins, k, k)), offset, g.arg(3, shape=(outs,)) if g.chance(0.5) else None, mask, kernel_shape=[k, k])


def recurrent(g, gates, states):
    steps, batch, width, hidden = g.size(1, 5), g.size(1, 3), g.size(1, 7), g.size(1, 7)
    direction = g.choose(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    layout = 0
    x = g.arg(0, shape=(steps, batch, width))
    operands = [g.arg(1, shape=(ways, gates * hidden, width)), g.arg(2, shape=(ways, gates * hidden, hidden)),
                g.arg(3, shape=(ways, 2 * gates * hidden)) if g.chance(0.6) else None,
                g.given(4, np.array([g.integer(1, steps) for _ in range(batch)], np.int32), run_time=0.5) if g.chance(0.3) else None]
    operands += [g.arg(5 + k, shape=(ways, batch, hidden)) if g.chance(0.5) else None for k in range(states)]
    more = {"linear_before_reset": g.integer(0, 1)} if g.op == "GRU" else {}
    keep = g.choose([[0], [0, 1], list(range(1 + states))])
    g.node(x, *operands, hidden_size=hidden, direction=direction, outputs=1 + states, keep=keep, layout=layout or None, **more)


@op("LSTM")
def lstm(g):
    recurrent(g, 4, 2)


@op("GRU")
def gru(g):
    recurrent(g, 3, 1)


@op("RNN")
def rnn(g):
    recurrent(g, 1, 1)


@op("Attention")
def attention(g):
    batch, heads, queries, keys, width, values = g.integer(1, 2), g.integer(1, 3), g.size(1, 7), g.size(1, 7), g.size(1, 8), g.size(1, 8)
    groups = heads if g.chance(0.7) else 1
    q = g.arg(0, shape=(batch, heads, queries, width))
    k = g.arg(1, shape=(batch, groups, keys, width))
    v = g.arg(2, shape=(batch, groups, keys, values), types=[q.dtype])
    mask = g.arg(3, shape=(queries, keys), types=[q.dtype]) if g.chance(0.4) else None
    g.node(q, k, v, mask, is_causal=1 if g.chance(0.3) and queries <= keys else None, scale=0.4 if g.chance(0.3) else None)


@op("RotaryEmbedding")
def rotary_embedding(g):
    batch, heads, steps, half = g.integer(1, 2), g.integer(1, 3), g.size(1, 5), g.integer(1, 4)
    x = g.arg(0, shape=(batch, heads, steps, 2 * half))
    cache = (batch, steps, half)
    g.node(x, g.arg(1, shape=cache), g.arg(2, shape=cache), interleaved=g.integer(0, 1))


@op("CausalConvWithState")
def causal_conv(g):
    channels, k = g.integer(1, 5), g.integer(1, 4)
    x = g.arg(0, shape=(g.integer(1, 2), channels, g.size(1, 7)))
    g.node(x, g.arg(1, shape=(channels, 1, k)), outputs=2, keep=[0])


@op("Col2Im")
def col2im(g):
    image, block = [g.integer(2, 5), g.integer(2, 5)], [g.integer(1, 2), g.integer(1, 2)]
    places = int(np.prod([i - b + 1 for i, b in zip(image, block, strict=True)]))
    x = g.arg(0, shape=(g.integer(1, 2), g.integer(1, 3) * int(np.prod(block)), places))
    g.node(x, g.given(1, np.array(image, np.int64)), g.given(2, np.array(block, np.int64)))


