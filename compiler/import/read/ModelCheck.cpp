// Checks of a parsed model before anything is imported: limits, names, operator sets and recursion.
#include "compiler/import/read/ModelCheck.h"
#include "compiler/import/read/DeclaredType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using google::protobuf::RepeatedPtrField;

namespace fathom::importer {

std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domainOf(domain) + "::" + name + "::" + overload).str();
}

std::string nameOf(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return node.op_type() + "_" + output;
  return node.op_type();
}

// Bytes that are no text, to be shown: all but ASCII's printable characters as \xNN.
static std::string escaped(StringRef bytes) {
  constexpr size_t most = 64;
  std::string text;
  llvm::raw_string_ostream out(text);
  for (unsigned char c : bytes.take_front(most)) {
    if (llvm::isPrint(c))
      out << c;
    else
      out << llvm::format("\\x%02x", c);
  }
  return bytes.size() > most ? text + "..." : text;
}

namespace {
class Checker {
public:
  Checker(const onnx::ModelProto &model, const ImportLimits &limits, Location loc)
      : model(model), limits(limits), loc(loc) {}

  LogicalResult run() {
    if (failed(checkGraph(model.graph())))
      return failure();
    for (const auto &function : model.functions()) {
      std::string key = functionKey(function.domain(), function.name(), function.overload());
      if (!functions.try_emplace(key, &function).second)
        return emitError(loc, ErrorCode::BadGraph) << "function '" << function.name() << "' is defined twice";
      if (failed(checkName(function.name())) || failed(checkNames(function.input())) ||
          failed(checkNames(function.output())) || failed(checkNodes(function.node())))
        return failure();
    }
    for (const auto &function : model.functions())
      if (failed(extentOf(function)))
        return failure();
    // Functions that call others twice double the model with every level: counted before anything is inlined.
    FailureOr<Extent> whole = extentOf(model.graph().node());
    if (failed(whole))
      return failure();
    if (whole->nodes > limits.nodes)
      return hint(emitError(loc, ErrorCode::Limit)
                      << "the model has more than " << limits.nodes << " nodes after inlining functions",
                  "its functions call each other so often that they cannot be inlined");
    return success();
  }

private:
  LogicalResult checkName(const std::string &name) {
    if (name.size() > limits.nameBytes)
      return emitError(loc, ErrorCode::Limit)
             << "a name has " << name.size() << " bytes, the limit is " << limits.nameBytes;
    if (!llvm::json::isUTF8(name))
      return emitError(loc, ErrorCode::BadGraph) << "the name '" << escaped(name) << "' is not valid UTF-8";
    // Names are C strings in the artifact: what follows the null character would be lost.
    if (StringRef(name).contains('\0'))
      return emitError(loc, ErrorCode::BadGraph)
             << "the name '" << StringRef(name).split('\0').first << "...' contains a null character";
    return success();
  }

  LogicalResult checkValue(const onnx::ValueInfoProto &value) {
    if (failed(checkName(value.name())))
      return failure();
    const onnx::TypeProto::Tensor *tensor = tensorIn(value.type());
    return success(!tensor || llvm::all_of(tensor->shape().dim(),
                                           [&](const auto &dim) { return succeeded(checkName(dim.dim_param())); }));
  }

  LogicalResult checkNames(const RepeatedPtrField<std::string> &names) {
    return success(llvm::all_of(names, [&](const std::string &name) { return succeeded(checkName(name)); }));
  }

  // Recursion is as deep as protobuf's parser allowed the messages to be.
  LogicalResult checkGraph(const onnx::GraphProto &graph) {
    auto valueIsFine = [&](const auto &value) { return succeeded(checkValue(value)); };
    auto nameIsFine = [&](const auto &named) { return succeeded(checkName(named.name())); };
    if (!llvm::all_of(graph.input(), valueIsFine) || !llvm::all_of(graph.output(), valueIsFine) ||
        !llvm::all_of(graph.value_info(), valueIsFine) || !llvm::all_of(graph.initializer(), nameIsFine))
      return failure();
    return checkNodes(graph.node());
  }

  LogicalResult checkNodes(const Nodes &list) {
    nodes += list.size();
    if (nodes > limits.nodes)
      return emitError(loc, ErrorCode::Limit) << "the model has more than " << limits.nodes << " nodes";
    for (const auto &node : list) {
      if (failed(checkName(node.name())) || failed(checkName(node.op_type())) || failed(checkName(node.domain())) ||
          failed(checkNames(node.input())) || failed(checkNames(node.output())))
        return failure();
      for (const auto &attribute : node.attribute())
        if (failed(checkAttribute(attribute)))
          return failure();
    }
    return success();
  }

  LogicalResult checkAttribute(const onnx::AttributeProto &attribute) {
    auto tooLong = [&](const std::string &text) { return text.size() > limits.stringBytes; };
    if (tooLong(attribute.s()) || llvm::any_of(attribute.strings(), tooLong))
      return emitError(loc, ErrorCode::Limit) << "a string attribute has more than " << limits.stringBytes << " bytes";
    if (failed(checkName(attribute.name())) || (attribute.has_g() && failed(checkGraph(attribute.g()))))
      return failure();
    return success(llvm::all_of(attribute.graphs(), [&](const auto &graph) { return succeeded(checkGraph(graph)); }));
  }

  // What a list of nodes becomes when all calls in it are replaced by what they call.
  struct Extent {
    int height = 0;     // how deep calls nest
    uint64_t nodes = 0; // saturates
    void include(const Extent &other) {
      height = std::max(height, other.height);
      nodes = llvm::SaturatingAdd(nodes, other.nodes);
    }
  };

  // Calls of model-local functions must end: none may reach itself. A function is looked at once, however often it is
  // called; its height is 0 meanwhile.
  FailureOr<Extent> extentOf(const onnx::FunctionProto &function) {
    auto [it, isNew] = extents.try_emplace(&function);
    if (!isNew && it->second.height == 0)
      return emitError(loc, ErrorCode::BadGraph) << "function '" << function.name() << "' calls itself";
    if (!isNew)
      return it->second;
    ++depth;
    FailureOr<Extent> extent = extentOf(function.node());
    if (failed(extent))
      return failure();
    --depth;
    if (extent->height >= limits.nesting)
      return tooDeep();
    ++extent->height;
    return extents[&function] = *extent;
  }

  FailureOr<Extent> extentOf(const Nodes &list) {
    if (depth > limits.nesting)
      return tooDeep();
    Extent extent{0, uint64_t(list.size())};
    auto include = [&](FailureOr<Extent> other) {
      if (succeeded(other))
        extent.include(*other);
      return succeeded(other);
    };
    for (const auto &node : list) {
      auto callee = functions.find(functionKey(node.domain(), node.op_type(), node.overload()));
      if (callee != functions.end() && !include(extentOf(*callee->second)))
        return failure();
      for (const auto &attribute : node.attribute()) {
        if (attribute.has_g() && !include(extentOf(attribute.g().node())))
          return failure();
        for (const auto &graph : attribute.graphs())
          if (!include(extentOf(graph.node())))
            return failure();
      }
    }
    return extent;
  }

  InFlightDiagnostic tooDeep() {
    return emitError(loc, ErrorCode::Limit) << "functions call each other more than " << limits.nesting << " deep";
  }

  const onnx::ModelProto &model;
  const ImportLimits &limits;
  Location loc;
  uint64_t nodes = 0;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::DenseMap<const onnx::FunctionProto *, Extent> extents;
  int depth = 0;
};
} // namespace

LogicalResult checkModel(const onnx::ModelProto &model, const ImportLimits &limits, Location loc) {
  return Checker(model, limits, loc).run();
}

FailureOr<Opsets> readOpsets(const RepeatedPtrField<onnx::OperatorSetIdProto> &imports, Location loc) {
  Opsets opsets;
  for (const auto &import : imports) {
    StringRef domain = domainOf(import.domain());
    // Tools that merge models leave the same import several times.
    auto [known, isNew] = opsets.try_emplace(domain, import.version());
    if (!isNew && known->second != import.version())
      return emitError(loc, ErrorCode::BadGraph) << "operator set '" << domain << "' is imported in versions "
                                                 << known->second << " and " << import.version();
    if (!isNew)
      continue;
    if (!domain.empty())
      continue;
    if (import.version() < 1)
      return emitError(loc, ErrorCode::BadGraph) << "operator set version " << import.version() << " does not exist";
    if (import.version() < oldestOpset || import.version() > newestOpset) {
      auto diagnostic = emitError(loc, ErrorCode::UnsupportedOp)
                        << "operator set version " << import.version() << " is not supported: " << oldestOpset << " to "
                        << newestOpset << " are";
      diagnostic.attachNote() << "hint: onnx.version_converter.convert_version, or exporting anew, changes the version";
      return diagnostic;
    }
  }
  return opsets;
}

} // namespace fathom::importer
