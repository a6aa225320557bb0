"""ops.py [--write]: prints docs/reference/ops.md, or writes it.

Names, versions and types come from ONNX's schemas (those of com.microsoft from ONNX Runtime's); which of them Fathom has, it says itself: a model with
a node of every operator, version and type is given to fathom.check, which names everything that is not supported. Limits are what ONNX's own
cases found (tests/conformance/expected). tests/python/test_ops_page.py holds the page against what this prints.
"""
import collections
import pathlib
import re
import sys
import textwrap

import onnx
from onnx import TensorProto, defs, helper

import fathom

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = pathlib.Path(__file__).with_name("ops.md")
UNSUPPORTED_OP, UNSUPPORTED_TYPE = "F3001", "F3003"
# Types are refused before or after a look at shapes: some of these have the rank that an operator needs.
SHAPES = [[], [2], [2, 2], [1, 2, 4], [1, 2, 4, 4]]

KINDS = {
    "floats": ["float16", "bfloat16", "float", "double"],
    "integers": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
    "bool": ["bool"],
    "string": ["string"],
    "small": ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1", "int4", "uint4", "int2", "uint2"],
    "complex": ["complex64", "complex128"],
}
ELEMENTS = {name: getattr(TensorProto, name.upper()) for names in KINDS.values() for name in names}

HEADER = """<!-- Printed by `python docs/reference/ops.py --write`; a test holds it against what that prints. -->
# Operators

Every operator of ONNX {version} (operator set {opset}), whether Fathom compiles it, and what of it.

- **operator sets**: those in which ONNX changed it; Fathom takes all of them, from the first on, unless the limits say
  otherwise.
- **types**: of the operand that may have most of them, as far as Fathom takes what ONNX allows. *floats* are float16,
  bfloat16, float and double, *integers* those of 8 to 64 bits with and without sign, *small* the types of 2, 4 and 8 bits
  that are storage only (float8, float4, int4, int2). No operator takes complex numbers. Types other than float are correct
  rather than fast.
- **limits**: what of ONNX's own test cases is refused, in the compiler's words. *(dynamic)*: only where sizes of operands
  are not known before the model runs. `fathom check` says it of a model, with the nodes' names.
"""


def element(type_text):
    """Of tensor(float), or None for what is no tensor."""
    match = re.fullmatch(r"tensor\((\w+)\)", type_text)
    return match[1] if match else None


def main_type(schema):
    """The operand that may have most types, or the result where there is none, and these types."""
    for parameters in (schema.inputs, schema.outputs):
        typed = [(parameter, [name for name in map(element, sorted(parameter.types)) if name in ELEMENTS]) for parameter in parameters]
        if any(types for _, types in typed):
            return max(typed, key=lambda pair: len(pair[1]))
    return None, []


def refused(models):
    """The labels of the nodes that are refused with one of these codes: (label, code)."""
    found = set()
    for nodes, infos, opsets in models:
        if not nodes:
            continue
        outputs = [helper.make_tensor_value_info(nodes[0].output[0], TensorProto.FLOAT, None)]
        graph = helper.make_graph(nodes, "ops", infos, outputs)
        imports = [helper.make_opsetid(*item) for item in opsets.items()]
        found |= {(problem["node"], problem["code"]) for problem in fathom.check(helper.make_model(graph, opset_imports=imports, ir_version=13))}
    return found


def node_of(schema, label, dtype=None, shape=(2, 3)):
    """A node with all operands that the operator must have, those like its first of this type, and their declarations."""
    parameter, _ = main_type(schema)
    names, infos = [], []
    for i, operand in enumerate(schema.inputs):
        if operand.option == defs.OpSchema.FormalParameterOption.Optional:
            break
        own = dtype if dtype and parameter and operand.type_str == parameter.type_str else None
        types = [name for name in map(element, sorted(operand.types)) if name in ELEMENTS]
        own = own or ("float" if "float" in types or not types else "int64" if "int64" in types else types[0])
        names.append(f"{label}.{i}")
        infos.append(helper.make_tensor_value_info(names[-1], ELEMENTS[own], list(shape)))
    return helper.make_node(schema.name, names, [f"{label}.y"], name=label, domain=schema.domain), infos


def unsupported_versions(history):
    """(operator, version) of which Fathom has nothing; what is there of an operator set is asked at once."""
    by_set = collections.defaultdict(list)
    for schema in history:
        by_set[schema.domain, schema.since_version].append(schema)
    models = []
    for (domain, version), schemas in by_set.items():
        made = [node_of(schema, f"{schema.name}@{version}") for schema in schemas]
        opsets = {"": version} if not domain else {"": 17, domain: version}
        models.append(([node for node, _ in made], [info for _, infos in made for info in infos], opsets))
    return {label for label, code in refused(models) if code == UNSUPPORTED_OP}


def refused_types(newest):
    """operator.type of all that is refused by its type, in any of the shapes."""
    models = []
    for shape in SHAPES:
        for domain in {schema.domain for schema in newest}:
            made = [
                node_of(schema, f"{schema.name}.{name}", name, shape)
                for schema in newest if schema.domain == domain for name in main_type(schema)[1] if name not in KINDS["complex"]
            ]
            opsets = {"": defs.onnx_opset_version()} | ({domain: newest_version(domain)} if domain else {})
            models.append(([node for node, _ in made], [info for _, infos in made for info in infos], opsets))
    return {label for label, code in refused(models) if code == UNSUPPORTED_TYPE}


def newest_version(domain):
    return max(schema.since_version for schema in defs.get_all_schemas_with_history() if schema.domain == domain)


def types_text(schema, refused_labels):
    taken = [name for name in main_type(schema)[1] if f"{schema.name}.{name}" not in refused_labels and name not in KINDS["complex"]]
    words = []
    for kind, names in KINDS.items():
        here = [name for name in names if name in taken]
        words += [kind] if len(here) == len(names) else here
    return ", ".join(words)


def limits():
    """By operator, what of ONNX's cases is refused, and whether only where sizes are dynamic."""
    names = {schema.name.lower(): schema.name for schema in defs.get_all_schemas_with_history()}
    found = collections.defaultdict(dict)
    for file in ("cpu.txt", "newest.txt"):
        for line in (ROOT / "tests" / "conformance" / "expected" / file).read_text().splitlines():
            match = re.match(r"(?:\w+/)?test_(?:basic_)?([^:@]+)(@\w+)?: \[F300[34]\] (.*)$", line)
            if not match:
                continue
            case, way, words = match[1].replace("_", ""), match[2] or "", match[3]
            operator = max((name for name in names if case.startswith(name)), key=len, default=None)
            if not operator:
                continue
            words = re.sub(r", but (has|is|the input has) .*$", "", re.sub(r"\b\w+\[[^]]*\]", "a tensor", re.sub(r" of type \w+\[[^]]*\]", "", words)))
            words = re.sub(rf"^{names[operator]}: ", "", words)
            ways = found[names[operator]].setdefault(words, set())
            ways.add(way)
    return {name: "; ".join(words + (" *(dynamic)*" if ways == {"@dynamic"} else "") for words, ways in sorted(told.items())) for name, told in found.items()}


def versions_text(history, name):
    return ", ".join(str(schema.since_version) for schema in sorted((s for s in history if s.name == name), key=lambda s: s.since_version))


def table(history, told):
    newest = {}
    for schema in sorted(history, key=lambda schema: schema.since_version):
        newest[schema.name] = schema
    missing = unsupported_versions(history)
    by_type = refused_types([schema for schema in newest.values() if not schema.deprecated and f"{schema.name}@{schema.since_version}" not in missing])
    lines = ["| operator | operator sets | types | limits |", "|---|---|---|---|"]
    for name, schema in sorted(newest.items()):
        own = [version for version in history if version.name == name and not version.deprecated]
        without = [version.since_version for version in own if f"{name}@{version.since_version}" in missing]
        if len(without) == len(own):
            lines.append(f"| {name} | {versions_text(history, name)} | | **not supported** |")
            continue
        words = [f"not of operator set {', '.join(map(str, sorted(without)))}"] if without else []
        words += [f"until operator set {schema.since_version - 1}"] if schema.deprecated else []
        words += [told[name]] if name in told else []
        shown = schema if not schema.deprecated else max(own, key=lambda version: version.since_version)
        lines.append(f"| {name} | {versions_text(own, name)} | {types_text(shown, by_type)} | {'; '.join(words)} |")
    return "\n".join(lines)


def microsoft():
    """The names of ONNX Runtime's own operators that are compiled, and of those that are not."""
    import onnxruntime.capi.onnxruntime_pybind11_state as runtime

    domain = "com.microsoft"
    names = sorted({schema.name for schema in runtime.get_all_operator_schema() if schema.domain == domain})
    nodes = [helper.make_node(name, ["x"], [f"{name}.y"], name=name, domain=domain) for name in names]
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    missing = {label for label, code in refused([(nodes, [info], {"": 17, domain: 1})]) if code == UNSUPPORTED_OP}
    return [name for name in names if name not in missing]


def page():
    schemas = [schema for schema in defs.get_all_schemas_with_history() if schema.support_level != defs.OpSchema.SupportType.EXPERIMENTAL]
    told = limits()
    parts = [HEADER.format(version=onnx.__version__, opset=defs.onnx_opset_version())]
    for domain in sorted({schema.domain for schema in schemas}):
        parts.append(f"## {domain or 'ai.onnx'}\n\n{table([schema for schema in schemas if schema.domain == domain], told)}\n")
    text = "ONNX Runtime's own; [decoders](../user/decoders.md) says what of those that language models have. Compiled are "
    parts.append("## com.microsoft\n\n" + textwrap.fill(text + ", ".join(microsoft()) + ".", 118) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        print(page(), end="")
