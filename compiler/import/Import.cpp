// The entry points: read, check, import, or gather every problem on the way.
#include "compiler/import/Import.h"
#include "compiler/graph/Graph.h"
#include "compiler/import/build/RankChoice.h"
#include "compiler/import/read/MappedFile.h"
#include "compiler/import/rules/Small.h"
#include "compiler/support/ErrorCodeText.h"
#include "compiler/support/LargeStack.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <set>

using namespace mlir;
using namespace fathom::importer;

namespace fathom {

static void describe(ModuleOp module, const onnx::ModelProto &model, const Opsets &opsets, StringRef bytes) {
  Builder builder(module.getContext());
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes));
  module->setAttr("graph.model_hash", builder.getStringAttr(llvm::toHex(hash, /*LowerCase=*/true)));
  std::string producer = model.producer_name();
  if (!model.producer_version().empty())
    producer += " " + model.producer_version();
  module->setAttr("graph.producer", builder.getStringAttr(producer));
  module->setAttr("graph.opset", builder.getI64IntegerAttr(opsets.lookup("")));
}

// The files that the model lies in, so that nobody writes the result over them. Data of attributes and of nested graphs
// is in the same files as that of the initializers.
static void describeFiles(ModuleOp module, const onnx::ModelProto &model, StringRef path, StringRef folder) {
  std::set<std::string> files;
  if (!path.empty())
    files.insert(path.str());
  for (const auto &tensor : model.graph().initializer())
    for (const auto &entry : tensor.external_data())
      if (entry.key() == "location")
        files.insert((folder + "/" + entry.value()).str());
  SmallVector<StringRef> names(files.begin(), files.end());
  module->setAttr("graph.files", Builder(module.getContext()).getStrArrayAttr(names));
}

// An input that the model declares without a rank has the one that the user gives.
static void giveRanks(onnx::ModelProto &model, const ImportOptions &options) {
  for (onnx::ValueInfoProto &input : *model.mutable_graph()->mutable_input()) {
    auto given = options.shapes.find(input.name());
    onnx::TypeProto *type = input.mutable_type();
    if (type->has_optional_type())
      type = type->mutable_optional_type()->mutable_elem_type();
    if (given == options.shapes.end() || !type->has_tensor_type() || type->tensor_type().has_shape())
      continue;
    onnx::TensorShapeProto *shape = type->mutable_tensor_type()->mutable_shape();
    for (size_t axis = 0; axis < given->second.size(); ++axis)
      shape->add_dim();
  }
}

StringRef ModelSource::name() const { return path.empty() ? "model" : llvm::sys::path::filename(path); }

static OwningOpRef<ModuleOp> importBytes(StringRef bytes, StringRef path, StringRef folder, Location loc,
                                         MLIRContext &context, const ImportOptions &options, bool keepGoing) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  std::shared_ptr<onnx::ModelProto> model = parseModel(bytes, options.limits, loc);
  if (!model || failed(checkModel(*model, options.limits, loc)))
    return {};
  FailureOr<Opsets> opsets = readOpsets(model->opset_import(), loc);
  if (failed(opsets))
    return {};
  if (opsets->empty()) {
    emitError(loc, ErrorCode::BadGraph) << "the model has no opset_import";
    return {};
  }
  giveRanks(*model, options);
  auto makeImporter = [&](llvm::StringSet<> takesSecond) {
    return std::make_unique<Importer>(model, folder, context, options, loc, keepGoing, std::move(takesSecond));
  };
  OwningOpRef<ModuleOp> module = importWithRanks(context, *opsets, makeImporter);
  if (!module)
    return {};
  storeSmallTypes(*module);
  describe(*module, *model, *opsets, bytes);
  describeFiles(*module, *model, path, folder);
  return module;
}

static OwningOpRef<ModuleOp> importModel(const ModelSource &source, MLIRContext &context, const ImportOptions &options,
                                         bool keepGoing) {
  Location loc = NameLoc::get(StringAttr::get(&context, source.name()));
  if (source.path.empty())
    return importBytes(source.bytes, /*path=*/"", source.folder, loc, context, options, keepGoing);
  auto file = MappedFile::open(source.path);
  if (!file) {
    emitError(loc, ErrorCode::FileUnreadable) << "cannot read '" << source.path << "': " << toString(file.takeError());
    return {};
  }
  StringRef folder = llvm::sys::path::parent_path(source.path);
  return importBytes((*file)->bytes(), source.path, folder.empty() ? "." : folder, loc, context, options, keepGoing);
}

OwningOpRef<ModuleOp> importOnnx(const ModelSource &source, MLIRContext &context, const ImportOptions &options) {
  OwningOpRef<ModuleOp> module;
  onLargeStack([&] { module = importModel(source, context, options, /*keepGoing=*/false); });
  return module;
}

std::vector<Problem> collectUnsupported(const ModelSource &source, MLIRContext &context, const ImportOptions &options) {
  std::vector<Problem> problems;
  // The whole model's location is its own name, which is no node.
  StringRef whole = source.name();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    StringRef node = nodeName(diagnostic.getLocation());
    Problem problem{ErrorCode::Internal, node == whole ? "" : node.str(), diagnostic.str(), ""};
    problem.code = takeErrorCode(problem.message).value_or(problem.code);
    for (Diagnostic &note : diagnostic.getNotes()) {
      std::string text = note.str();
      if (StringRef hint = text; hint.consume_front("hint: "))
        problem.hint = hint.str();
    }
    // Graphs that are imported several times say the same again.
    auto isSame = [&](const Problem &other) { return other.node == problem.node && other.message == problem.message; };
    if (llvm::none_of(problems, isSame))
      problems.push_back(std::move(problem));
    return success();
  });
  onLargeStack([&] { importModel(source, context, options, /*keepGoing=*/true); });
  return problems;
}

} // namespace fathom
