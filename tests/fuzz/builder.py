"""Builds a random graph node by node. Every value has an array beside it, computed by the reference as the graph grows, so that what an operator
asks of its operands (an index inside, a divisor that is not zero, sizes that agree) can be looked at when it is chosen: graphs are valid by
construction."""
import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from reference import Impossible, NodeReference
from values import ALL_TYPES, MAIN_TYPES, MOST_ELEMENTS, SIZES, finite, is_float, onnx_type, random_array, type_named


class Value:
    """A tensor of the graph: its name, and what it holds with the inputs that the graph was made with."""

    def __init__(self, name, array):
        self.name, self.array = name, array

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim

    @property
    def dtype(self):
        return self.array.dtype


class Builder:
    """What declarations (ops_*.py) make a node with. `arg` takes or makes an operand of the operator at hand with the types that ONNX allows,
    `given` makes one that must hold certain numbers, `node` adds the node."""

    def __init__(self, random, opset):
        self.random, self.opset = random, opset
        self.reference = NodeReference(opset)
        self.nodes, self.values, self.inputs, self.constants = [], [], {}, {}
        # Inputs whose numbers may be any: another run may have others.
        self.free = {}
        self.count = 0
        self.main = self.choose(list(MAIN_TYPES), list(MAIN_TYPES.values()))
        self.special = random.random() < 0.15
        self.empty = random.random() < 0.08
        self.given_at_run_time = 0.3 if random.random() < 0.15 else 0.0
        self.used = set()
        # What must hold of values that other runs may change.
        self.conditions = []

    # Chance.

    def choose(self, items, weights=None):
        weights = None if weights is None else np.array(weights, float) / sum(weights)
        return items[self.random.choice(len(items), p=weights)]

    def chance(self, probability):
        return self.random.random() < probability

    def integer(self, low, high):
        """Both may come."""
        return int(self.random.integers(low, high, endpoint=True))

    def size(self, low=None, high=None):
        low = (0 if self.empty else 1) if low is None else low
        return int(self.choose([s for s in SIZES if low <= s and (high is None or s <= high)] or [low]))

    def shape(self, rank=(0, 4), low=None, high=None):
        rank = self.integer(*rank) if isinstance(rank, tuple) else rank
        while True:
            shape = tuple(self.size(low, high) for _ in range(rank))
            if np.prod(shape, dtype=object) <= MOST_ELEMENTS // 4:
                return shape

    def axis(self, value, extra=0):
        """Any axis, counted from either end."""
        rank = (value if isinstance(value, int) else value.rank) + extra
        if rank == 0:
            raise Impossible("no axis")
        return self.integer(-rank, rank - 1)

    def axes(self, value, least=0):
        rank = value if isinstance(value, int) else value.rank
        count = self.integer(min(least, rank), rank)
        axes = sorted(self.random.permutation(rank)[:count].tolist())
        return [axis - rank if self.chance(0.3) else axis for axis in axes]

    # Operands.

    def begin(self, op):
        """The operator that the next operands are for; false where this operator set has none."""
        try:
            self.schema = defs.get_schema(op, self.opset, "")
        except defs.SchemaError:
            return False
        self.op, self.bound = op, {}
        return not self.schema.deprecated

    def formal(self, i):
        return self.schema.inputs[min(i, len(self.schema.inputs) - 1)]

    def takes(self, name):
        """Whether this version of the operator has an operand or attribute of this name."""
        return name in self.schema.attributes or any(formal.name == name for formal in self.schema.inputs)

    def types(self, i):
        formal = self.formal(i)
        if formal.type_str in self.bound:
            return [self.bound[formal.type_str]]
        allowed = {type_named(text) for text in formal.types} - {None}
        return [dtype for dtype in ALL_TYPES if dtype in allowed]

    def bind(self, i, dtype):
        self.bound[self.formal(i).type_str] = dtype

    def pick_type(self, types):
        if not types:
            raise Impossible("no type")
        if self.main in types and self.chance(0.8):
            return self.main
        return self.choose(types, [MAIN_TYPES[t] for t in types])

    def arg(self, i, rank=(0, 4), shape=None, where=None, types=None, low=None, high=None, numbers=True, sizes=(None, None)):
        """An operand: of this rank or shape, for which `where` holds. `numbers`: NaN and infinity may not be among its elements."""
        allowed = [dtype for dtype in self.types(i) if types is None or dtype in types]
        ranks = range(rank[0], rank[1] + 1) if isinstance(rank, tuple) else [rank]

        def legal(array):
            return ((not numbers or finite(array))
                    and (low is None or not array.size or bool((array >= low).all())) and (high is None or not array.size or bool((array <= high).all()))
                    and (sizes[0] is None or all(s >= sizes[0] for s in array.shape)) and (where is None or bool(where(array))))

        def fits(array):
            return array.dtype in allowed and (array.shape == tuple(shape) if shape is not None else array.ndim in ranks) and legal(array)

        candidates = [value for value in self.values if fits(value.array)]
        if candidates and self.chance(0.85):
            # What came last is taken most, so that graphs get deep.
            value = self.choose(candidates, [1 + 3 * (k + 1 == len(candidates)) for k in range(len(candidates))])
        else:
            dtype = self.pick_type(allowed)
            for _ in range(8):
                sizes_now = shape if shape is not None else self.shape(rank, *sizes)
                array = random_array(self.random, dtype, sizes_now, low, high, special=self.special and not numbers)
                if where is None or where(array):
                    break
            else:
                raise Impossible("no operand fits")
            value = self.new(array, free=(dtype, low, high))
        self.bind(i, value.dtype)
        self.conditions.append((value.name, legal))
        return value

    def new(self, array, free=None, constant=0.25):
        """An input or a constant with this content."""
        array = np.asarray(array)
        if array.size > MOST_ELEMENTS:
            raise Impossible("too large")
        self.count += 1
        value = Value(f"{'c' if self.chance(constant) else 'x'}{self.count}", array)
        if value.name[0] == "c":
            self.constants[value.name] = array
        else:
            self.inputs[value.name] = array
            if free:
                self.free[value.name] = free
        self.values.append(value)
        return value

    def given(self, i, array, dtype=None, run_time=None):
        """An operand with these numbers, mostly a constant."""
        types = self.types(i)
        if dtype is None:
            dtype = np.asarray(array).dtype if np.asarray(array).dtype in types else self.pick_type(types)
        self.bind(i, np.dtype(dtype))
        chance = self.given_at_run_time if run_time is None else run_time
        value = self.new(np.asarray(array, dtype), constant=1 - chance)
        self.values.pop()  # nothing else is made of it
        return value

    def index(self, i, shape, bound, negative=True):
        """Indices into `bound` places."""
        if bound == 0 and np.prod(shape, dtype=object):
            raise Impossible("nothing to index")
        array = self.random.integers(-bound if negative and self.chance(0.3) else 0, max(bound, 1), tuple(shape))
        types = [t for t in self.types(i) if not is_float(t)]
        dtype = self.choose(types)
        return self.given(i, array.astype(dtype), dtype, run_time=0.6)

    # Nodes.

    def node(self, *inputs, outputs=1, keep=None, op=None, **attributes):
        """Adds a node; None is an operand that is left out. Returns its results, of which `keep` (default all) may be used by others."""
        op = op or self.op
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        names = [f"v{self.count + k + 1}" if k in (range(outputs) if keep is None else keep) else "" for k in range(outputs)]
        self.count += outputs
        while names and not names[-1]:
            names.pop()
        proto = helper.make_node(op, [value.name if value else "" for value in inputs], names, name=f"n{len(self.nodes)}", **attributes)
        arrays = self.reference.run(proto, {value.name: value.array for value in [*inputs, *self.captured(attributes)] if value})
        if any(isinstance(a, np.ndarray) and a.size > MOST_ELEMENTS for a in arrays):
            raise Impossible("too large")
        self.nodes.append(proto)
        self.used.add(op)
        results = [Value(name, array) for name, array in zip([n for n in names if n], arrays, strict=True)]
        self.values += [value for value in results if isinstance(value.array, np.ndarray) and value.dtype in ALL_TYPES]
        return results if outputs > 1 else results[0]

    def captured(self, attributes):
        graphs = [a for a in attributes.values() if isinstance(a, onnx.GraphProto)]
        names = {name for graph in graphs for node in graph.node for name in node.input}
        return [value for value in self.values if value.name in names]

    def undo(self, mark):
        nodes, values, inputs, constants = mark
        del self.nodes[nodes:]
        del self.values[values:]
        for kept, table in ((inputs, self.inputs), (constants, self.constants)):
            for name in list(table)[kept:]:
                del table[name]
                self.free.pop(name, None)

    def mark(self):
        return len(self.nodes), len(self.values), len(self.inputs), len(self.constants)


def tensor_info(name, array, dims=None):
    return helper.make_tensor_value_info(name, onnx_type(array.dtype), array.shape if dims is None else dims)


def initializer(name, array):
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
