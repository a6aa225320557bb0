// The table of notes.
#include "compiler/graph/Notes.h"

#include "compiler/graph/ByteProducts.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace fathom::graph {
namespace {

struct Note {
  StringLiteral name;
  bool (*fits)(Attribute value);
  StringLiteral meaning;
};

template <typename T> bool is(Attribute value) { return isa<T>(value); }

bool isQuads(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && llvm::is_contained(quadsNames, text.getValue());
}

constexpr Note notes[] = {
    // Of ops.
    {"graph.name", is<StringAttr>, "the model's name for the op's first result, or one derived from it"},
    {"graph.why", is<StringAttr>, "what an assertion, or a size that data decides, is there for"},
    {"graph.ahead", is<UnitAttr>, "computes weights, of constants: it is to be folded"},
    {"graph.algorithm", is<StringAttr>, "the algorithm of a convolution that needs no other op"},
    {"graph.quads", isQuads, "that a product is of bytes, and what is known of its factors: plain, centred or narrow"},
    {"graph.why_float", is<StringAttr>, "why a product of quantised numbers is computed in floating point"},
    {"graph.swapped_pairs", is<UnitAttr>, "the weights of odd output channels have their two input channels swapped"},
    {"graph.attention_cycles", is<DenseI64ArrayAttr>, "what an attention costs as one kernel, and as three"},
    {"graph.in_place", is<UnitAttr>, "a concatenation or slice that moves no data"},
    {"graph.output", is<UnitAttr>, "a copy that is stored, also of a constant"},
    {"graph.kernel", is<IntegerAttr>, "the kernel that a call is of, or that an op is put into"},
    {"graph.keys", is<ArrayAttr>, "the labels that a map's entries have as keys"},
    {"graph.recomputed", is<UnitAttr>, "computes once more what is not kept"},
    {"graph.fast", is<UnitAttr>, "a function whose cheaper approximation will do"},
    // Of the module.
    {"graph.has_algorithms", is<UnitAttr>, "that convolutions and products are in the forms of their algorithms"},
    {"graph.files", is<ArrayAttr>, "the files that the model was read from"},
    {"graph.model_hash", is<StringAttr>, "SHA-256 of the model's file"},
    {"graph.curvature", is<UnitAttr>, "that second derivatives are asked for"},
    {"graph.memory_budget", is<IntegerAttr>, "how many bytes the values of a step may take at a time"},
    {"graph.loss", is<StringAttr>, "what is to be differentiated"},
    {"graph.wrt", is<ArrayAttr>, "the inputs and weights that gradients are taken of"},
    {"graph.train", is<StringAttr>, "the optimizer that updates weights by their gradients"},
    {"graph.precision", is<StringAttr>, "of a module: what products of 32-bit floats may take their factors as"},
    {"graph.program", is<StringAttr>, "the text of the program that main is"},
    {"graph.weights", is<ArrayAttr>, "the constants that the program reads"},
    {"graph.opset", is<IntegerAttr>, "the version of ONNX's operators that the model was written for"},
    {"graph.producer", is<StringAttr>, "the program that wrote the model"},
    {"graph.vocabulary", is<ArrayAttr>, "the strings of the model, by their numbers"}};

} // namespace

LogicalResult verifyNote(Operation *op, NamedAttribute attribute) {
  auto note = llvm::find_if(notes, [&](const Note &known) { return attribute.getName() == known.name; });
  if (note == std::end(notes))
    return op->emitError() << "the graph dialect has no attribute '" << attribute.getName().getValue() << "'";
  if (!note->fits(attribute.getValue()))
    return op->emitError() << "'" << note->name << "' (" << note->meaning << ") cannot be " << attribute.getValue();
  return success();
}

} // namespace fathom::graph
