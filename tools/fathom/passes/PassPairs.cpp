// Runs each pass behind each other one on copies of a graph, and compares what comes of both orders.
#include "tools/fathom/passes/PassReport.h"

#include "compiler/driver/Compilation.h"
#include "compiler/graph/GraphHash.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/LargeStack.h"
#include "tools/fathom/passes/AskedModel.h"

using namespace llvm;

namespace fathom {
namespace {

// Those that take a graph as it is imported and give one that any of them can take: they can stand in any order. Those
// that do nothing where no gradients are asked for are none of them.
std::vector<StringRef> freePasses() {
  constexpr StringRef forGradients[] = {"lift-weights", "rematerialize", "update-weights"};
  registerPasses();
  std::vector<StringRef> names;
  for (const auto &pass : registeredPasses())
    if (!(pass->needs() & ~importedFacts) && !(pass->ends() & importedFacts) && pass->problem().empty() &&
        !is_contained(forGradients, pass->getArgument()))
      names.push_back(pass->getArgument());
  return names;
}

class Pairs {
public:
  Pairs(mlir::ModuleOp module, const CompileOptions &options) : module(module), options(options) {}

  mlir::LogicalResult run() {
    names = freePasses();
    std::vector<mlir::OwningOpRef<mlir::ModuleOp>> after;
    uint64_t before = hasher.of(module);
    for (StringRef pass : names) {
      mlir::FailureOr<uint64_t> hash = runOn(*after.emplace_back(module.clone()), pass);
      if (failed(hash))
        return mlir::failure();
      changes.push_back(*hash != before);
      once.push_back(*hash);
    }
    behind.assign(names.size(), std::vector<uint64_t>(names.size()));
    for (size_t first = 0; first < names.size(); ++first)
      for (size_t second = 0; second < names.size(); ++second) {
        mlir::OwningOpRef<mlir::ModuleOp> copy = after[first]->clone();
        mlir::FailureOr<uint64_t> hash = runOn(*copy, names[second]);
        if (failed(hash))
          return mlir::failure();
        behind[first][second] = *hash;
      }
    return mlir::success();
  }

  json::Object report(StringRef model) const {
    json::Array all, changed, twice, ordered;
    for (size_t i = 0; i < names.size(); ++i) {
      all.push_back(names[i]);
      if (changes[i])
        changed.push_back(names[i]);
      if (behind[i][i] != once[i])
        twice.push_back(names[i]);
      for (size_t j = i + 1; j < names.size(); ++j)
        if (behind[i][j] != behind[j][i])
          ordered.push_back(json::Array{names[i], names[j]});
    }
    return json::Object{{"model", model},
                        {"passes", std::move(all)},
                        {"changing", std::move(changed)},
                        {"not_idempotent", std::move(twice)},
                        {"not_commuting", std::move(ordered)}};
  }

private:
  mlir::FailureOr<uint64_t> runOn(mlir::ModuleOp graph, StringRef pass) {
    auto compilation = Compilation::begin(options, module.getLoc());
    auto pipeline = Pipeline::parse(pass, module.getLoc());
    if (failed(compilation) || failed(pipeline))
      return mlir::failure();
    (*compilation)->describe(graph, *pipeline);
    if (failed(pipeline->run(graph, (*compilation)->context)))
      return mlir::failure();
    return hasher.of(graph);
  }

  mlir::ModuleOp module;
  const CompileOptions &options;
  GraphHash hasher;
  std::vector<StringRef> names;
  std::vector<bool> changes;
  std::vector<uint64_t> once;
  std::vector<std::vector<uint64_t>> behind; // by the first pass and the second
};

} // namespace

Expected<int> comparePassOrders(StringRef model, const OptionValues &options) {
  AskedModel asked(model, options);
  if (!asked.module)
    return asked.log.exitCode();
  Pairs pairs(*asked.module, asked.options);
  mlir::LogicalResult result = mlir::failure();
  onLargeStack([&] { result = pairs.run(); });
  if (failed(result))
    return asked.log.exitCode();
  json::Object report = pairs.report(model);
  if (options.flag("json")) {
    printJson(std::move(report), /*oneLine=*/true);
    return 0;
  }
  for (const json::Value &pass : *report.getArray("not_idempotent"))
    outs() << *pass.getAsString() << " changes the graph again where it runs twice\n";
  for (const json::Value &pair : *report.getArray("not_commuting"))
    outs() << *(*pair.getAsArray())[0].getAsString() << " and " << *(*pair.getAsArray())[1].getAsString()
           << " give other graphs in the other order\n";
  outs() << report.getArray("passes")->size() << " passes; all other pairs commute\n";
  return 0;
}

} // namespace fathom
