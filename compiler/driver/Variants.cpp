// Kernels of all variants first, as the host's code of each must know where its weights lie among those of all.
#include "compiler/driver/Variants.h"

#include "compiler/driver/Backends.h"
#include "compiler/driver/Generate.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/Stopwatch.h"
#include "compiler/package/Prefix.h"
#include "compiler/package/SharedWeights.h"

using namespace mlir;

namespace fathom {
namespace {

// A variant on its way. Its options are referred to, so that it stays where it is.
struct Variant {
  CompileOptions options;
  CompileReport report;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Compilation> compilation;
  std::vector<MachineCode> codes;
  MemoryPlan memory;
  ArtifactInfo info;
};

LogicalResult makeKernels(Variant &variant, PlanModule plan) {
  auto compilation = plan(*variant.module, variant.options, variant.report);
  if (failed(compilation))
    return failure();
  variant.compilation = std::move(*compilation);
  Program &program = variant.compilation->program;
  Stopwatch watch(variant.report, "code");
  if (failed(generateKernels(program, variant.options, PartGenerator(variant.options, {}), variant.codes)))
    return failure();
  variant.memory = planMemory(program);
  // It speaks of the variant's own weights, and is made before others come to them.
  variant.info.manifest = printManifest(program, variant.memory, variant.options, variant.info);
  return success();
}

// The host's code, and all objects with names that no other variant has.
LogicalResult addObjects(Variant &variant, std::vector<Object> &objects) {
  const Program &program = variant.compilation->program;
  auto host = generateHost(program, variant.memory, variant.options, PartGenerator(variant.options, {}), variant.info);
  if (failed(host))
    return failure();
  variant.codes.push_back(std::move(*host));
  std::string prefix = variantPrefix(variant.info, variant.info.variant);
  for (Object &object : objectsOf(std::move(variant.codes), variant.options.target)) {
    llvm::Expected<Object> renamed = prefix.empty() ? std::move(object) : prefixSymbols(object, prefix);
    if (!renamed)
      return emitError((*variant.module)->getLoc(), ErrorCode::Internal)
             << "the names of an object cannot be changed: " << llvm::toString(renamed.takeError());
    objects.push_back(std::move(*renamed));
  }
  return success();
}

// Sums of all variants.
void addUp(const Variant &variant, CompileReport &report) {
  const Program &program = variant.compilation->program;
  auto add = [](auto &sums, const auto &terms) {
    for (const auto &[name, seconds] : terms) {
      auto known = llvm::find_if(sums, [&](const auto &entry) { return entry.first == name; });
      if (known == sums.end())
        sums.emplace_back(name, seconds);
      else
        known->second += seconds;
    }
  };
  add(report.stages, variant.report.stages);
  add(report.passes, variant.report.passes);
  report.kernels += variant.report.kernels, report.codes += variant.report.codes;
  report.sourceWeightBytes = program.sourceWeightBytes;
  report.arenaBytes = std::max(report.arenaBytes, variant.memory.fixedBytes);
  std::optional<int64_t> arena;
  if (variant.memory.slots.empty())
    arena = variant.memory.fixedBytes;
  report.variants.push_back({variant.options.target.cpu, variant.report.kernels, variant.memory.weightBytes, arena});
}

} // namespace

LogicalResult compileVariants(ModuleOp module, const CompileOptions &options, StringRef path, CompileReport &report,
                              PlanModule plan) {
  std::vector<std::string> names;
  for (const Target &target : options.variants)
    names.push_back(target.cpu);
  std::vector<std::unique_ptr<Variant>> variants;
  std::vector<MemoryPlan *> plans;
  for (auto [i, target] : llvm::enumerate(options.variants)) {
    Variant &variant = *variants.emplace_back(std::make_unique<Variant>());
    variant.options = options;
    variant.options.target = target;
    variant.module = module.clone();
    variant.info.weightsSeed = options.weightsSeed, variant.info.variants = names, variant.info.variant = i;
    if (failed(makeKernels(variant, plan)))
      return failure();
    plans.push_back(&variant.memory);
    addUp(variant, report);
  }
  Stopwatch watch(report, "package");
  std::vector<Weight> weights = shareWeights(plans);
  report.weightBytes = plans.front()->weightBytes;
  std::vector<Object> objects;
  for (const auto &variant : variants)
    if (failed(addObjects(*variant, objects)))
      return failure();
  int64_t weightBytes = options.weightsSeed ? plans.front()->keptBytes : plans.front()->weightBytes;
  const Target &target = options.variants.front();
  if (llvm::Error error = writeArtifact(objects, weights, weightBytes, target, variants.front()->info, path))
    return emitError(module.getLoc(), ErrorCode::FileUnwritable) << llvm::toString(std::move(error));
  return success();
}

} // namespace fathom
