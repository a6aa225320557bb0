// fathom explain: what became of every node, what each kernel has to do, and how long it took.
#include "tools/fathom/ArtifactReader.h"
#include "tools/fathom/MachinePeak.h"
#include "tools/fathom/PreparedRun.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace fathom {
namespace {

using Sizes = StringMap<int64_t>;

// A count of the manifest: a number, or an expression over symbolic dimensions. Nothing where a size is not known.
std::optional<double> evaluate(const json::Value *value, const Sizes &sizes) {
  if (!value)
    return std::nullopt;
  if (auto number = value->getAsNumber())
    return *number;
  if (auto name = value->getAsString()) {
    auto found = sizes.find(*name);
    return found == sizes.end() ? std::nullopt : std::optional<double>(found->second);
  }
  const json::Array *parts = value->getAsArray();
  if (!parts || parts->size() != 3)
    return std::nullopt;
  StringRef sign = (*parts)[0].getAsString().value_or("");
  auto x = evaluate(&(*parts)[1], sizes), y = evaluate(&(*parts)[2], sizes);
  if (!x || !y)
    return std::nullopt;
  if (sign == "+")
    return *x + *y;
  if (sign == "*")
    return *x * *y;
  if (*y <= 0)
    return std::nullopt;
  return sign == "floordiv" ? std::floor(*x / *y) : sign == "ceildiv" ? std::ceil(*x / *y) : std::fmod(*x, *y);
}

// What a run tells about one kernel.
struct Measured {
  double seconds = 0;
  int64_t launches = 0;
};

struct Run {
  std::vector<Measured> kernels;
  Sizes sizes;
  MachinePeak peak;
  int threads = 1;
};

// The least time of each kernel over a few runs: what else the machine does only adds to it.
Expected<Run> profile(StringRef path, const OptionValues &options) {
  auto prepared = prepareRun(path, options);
  if (!prepared)
    return prepared.takeError();
  LoadedModel &model = *prepared->model;
  Run result;
  for (auto [spec, value] : zip(model.inputs, prepared->inputs))
    for (auto [size, dim, name] : zip(value.dims, spec.dims, spec.dimNames))
      if (dim < 0)
        result.sizes[name] = size;
  result.kernels.resize(fathom_model_kernel_count(model.model));
  fathom_context_set_profiling(model.context, 1);
  constexpr int runs = 6;
  for (int run = 0; run < runs; ++run) {
    if (Error error = prepared->run())
      return std::move(error);
    std::vector<Measured> now(result.kernels.size());
    for (size_t i = 0; i < fathom_context_profile_count(model.context); ++i) {
      fathom_profile_entry entry;
      if (Error error = takeStatus(fathom_context_profile(model.context, i, &entry)))
        return std::move(error);
      now[entry.kernel].seconds += double(entry.end_ns - entry.start_ns) * 1e-9;
      ++now[entry.kernel].launches;
    }
    // The first run is cold.
    for (auto [best, one] : zip(result.kernels, now))
      if (run < 2 || one.seconds < best.seconds)
        best = one;
  }
  result.threads = fathom_context_threads(model.context);
  result.peak = measurePeak(result.threads);
  return std::move(result);
}

// The share of what the machine could do at most. Nothing where that says little: the kernel moves data that the caches
// hold, or is over before it has begun.
std::optional<double> shareOfRoofline(double flop, double bytes, double seconds, const MachinePeak &peak) {
  constexpr double shortest = 5e-6;
  if (seconds < shortest || peak.flopPerSecond <= 0 || peak.bytesPerSecond <= 0)
    return std::nullopt;
  double computing = flop / peak.flopPerSecond, moving = bytes / peak.bytesPerSecond;
  if (computing < moving && bytes < double(lastLevelCacheBytes()))
    return std::nullopt;
  return std::max(computing, moving) / seconds;
}

// Adds what is known of a kernel to its description.
void measureKernel(json::Object &kernel, size_t index, const Sizes &sizes, const Run *run) {
  auto flop = evaluate(kernel.get("flop"), sizes), bytes = evaluate(kernel.get("bytes"), sizes);
  auto put = [&](StringRef name, std::optional<double> value) {
    kernel[name] = value ? json::Value(*value) : json::Value(nullptr);
  };
  put("flop", flop);
  put("bytes", bytes);
  if (!run || index >= run->kernels.size())
    return;
  const Measured &measured = run->kernels[index];
  kernel["launches"] = measured.launches;
  put("ms", measured.launches ? std::optional(measured.seconds * 1e3) : std::nullopt);
  double launches = double(measured.launches), seconds = measured.seconds;
  bool isKnown = flop && bytes && seconds > 0;
  put("gflop_per_second", isKnown ? std::optional(*flop * launches / seconds * 1e-9) : std::nullopt);
  put("roofline_share",
      isKnown ? shareOfRoofline(*flop * launches, *bytes * launches, seconds, run->peak) : std::nullopt);
}

// The nodes that no kernel has. Those that the artifact knows nothing of were folded; only the model still names them.
json::Array otherNodes(const json::Object &manifest, StringRef model, const OptionValues &options) {
  json::Array nodes;
  StringSet<> known;
  if (const json::Array *kernels = manifest.getArray("kernels"))
    for (const json::Value &kernel : *kernels)
      if (const json::Array *ops = kernel.getAsObject() ? kernel.getAsObject()->getArray("ops") : nullptr)
        for (const json::Value &op : *ops)
          // A copy is the compiler's own, whatever node it copies for.
          if (op.getAsObject()->getString("op") != "Relayout")
            known.insert(op.getAsObject()->getString("node").value_or(""));
  if (const json::Array *others = manifest.getArray("other_ops"))
    for (const json::Value &op : *others)
      if (known.insert(op.getAsObject()->getString("node").value_or("")).second)
        nodes.push_back(op);
  if (model.empty())
    return nodes;
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, model, [](const LoggedDiagnostic &) {});
  auto request = makeCompileRequest(options, *context, ExplainBit);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (succeeded(request))
    module = importOnnx(ModelSource::file(model), *context, request->import);
  if (module)
    module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
      StringRef node = nodeName(op->getLoc());
      bool isWeight = op->getName().stripDialect() == "Constant";
      if (op->getNumResults() && !node.empty() && !isWeight && known.insert(node).second)
        nodes.push_back(json::Object{{"op", op->getName().stripDialect().str()},
                                     {"node", node.str()},
                                     {"why", "folded when the model is compiled, or expressed by others"}});
    });
  return nodes;
}

std::string spellCount(std::optional<double> count, StringRef unit) {
  if (!count)
    return "? " + unit.str();
  static constexpr StringRef prefixes[] = {"", "k", "M", "G", "T"};
  size_t prefix = 0;
  double value = *count;
  for (; value >= 1000 && prefix + 1 < std::size(prefixes); value /= 1000)
    ++prefix;
  return formatv("{0:f1} {1}{2}", value, prefixes[prefix], unit);
}

void printOps(const json::Array *ops, StringRef indent) {
  for (const json::Value &value : ops ? *ops : json::Array())
    if (const json::Object *op = value.getAsObject())
      outs() << indent << printable(op->getString("node").value_or("")) << " (" << op->getString("op").value_or("?")
             << "): " << printable(op->getString("why").value_or("")) << "\n";
}

void printKnobs(const json::Object &of) {
  if (const json::Object *knobs = of.getObject("schedule"))
    for (const auto &[name, knob] : *knobs)
      outs() << " " << StringRef(name) << "=" << knob.getAsInteger().value_or(0);
  outs() << "\n";
}

void printKernel(const json::Object &kernel, size_t index) {
  outs() << formatv("{0}. {1} '{2}': {3}, {4}", index + 1, kernel.getString("class").value_or("?"),
                    printable(kernel.getString("result").value_or("?")), spellCount(kernel.getNumber("flop"), "FLOP"),
                    spellCount(kernel.getNumber("bytes"), "B"));
  if (auto ms = kernel.getNumber("ms"))
    outs() << formatv(", {0:f3} ms", *ms);
  if (kernel.getInteger("launches").value_or(1) != 1)
    outs() << formatv(" in {0} launches", *kernel.getInteger("launches"));
  if (auto rate = kernel.getNumber("gflop_per_second"); rate && kernel.getNumber("flop").value_or(0) > 0)
    outs() << formatv(", {0:f1} GFLOP/s", *rate);
  if (auto share = kernel.getNumber("roofline_share"))
    outs() << formatv(", {0:f0} % of the roofline", 100 * *share);
  outs() << "\n     schedule:";
  printKnobs(kernel);
  const json::Array *versions = kernel.getArray("versions");
  for (const json::Value &value : versions ? *versions : json::Array())
    if (const json::Object *version = value.getAsObject()) {
      outs() << "     up to " << version->getInteger("up_to").value_or(0) << ":";
      printKnobs(*version);
    }
  printOps(kernel.getArray("ops"), "     ");
  const json::Array *apart = kernel.getArray("apart");
  for (const json::Value &value : apart ? *apart : json::Array())
    if (const json::Object *other = value.getAsObject())
      outs() << "     not with '" << printable(other->getString("kernel").value_or("?"))
             << "': " << printable(other->getString("why").value_or("")) << "\n";
}

} // namespace

Expected<int> explainCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  GivenArtifact given;
  Expected<int> exitCode = given.open(arguments.positional[0], options, ExplainBit);
  if (!exitCode || *exitCode)
    return exitCode;
  auto artifact = readArtifact(given.path());
  if (!artifact)
    return artifact.takeError();
  auto sizes = parseDims(options);
  if (!sizes)
    return sizes.takeError();
  std::optional<Run> run;
  if (options.flag("run")) {
    auto profiled = profile(given.path(), options);
    if (!profiled)
      return profiled.takeError();
    run = std::move(*profiled);
    sizes = run->sizes;
  }
  json::Object &manifest = artifact->manifest;
  json::Array *kernels = manifest.getArray("kernels");
  if (kernels)
    for (auto [i, kernel] : enumerate(*kernels))
      if (json::Object *object = kernel.getAsObject())
        measureKernel(*object, i, *sizes, run ? &*run : nullptr);
  json::Array others = otherNodes(manifest, given.source(), options);
  if (options.flag("json")) {
    json::Object result{{"kernels", kernels ? json::Array(*kernels) : json::Array()},
                        {"other_nodes", std::move(others)}};
    if (run)
      result["peak"] = json::Object{{"threads", run->threads},
                                    {"gflop_per_second", run->peak.flopPerSecond * 1e-9},
                                    {"gb_per_second", run->peak.bytesPerSecond * 1e-9}};
    printJson(std::move(result), /*oneLine=*/true);
    return 0;
  }
  if (run)
    outs() << formatv("roofline of this machine with {0} threads: {1:f1} GFLOP/s, {2:f1} GB/s, measured\n",
                      run->threads, run->peak.flopPerSecond * 1e-9, run->peak.bytesPerSecond * 1e-9);
  if (kernels)
    for (auto [i, kernel] : enumerate(*kernels))
      if (const json::Object *object = kernel.getAsObject())
        printKernel(*object, i);
  if (!others.empty())
    outs() << "in no kernel:\n";
  printOps(&others, "     ");
  return 0;
}

} // namespace fathom
