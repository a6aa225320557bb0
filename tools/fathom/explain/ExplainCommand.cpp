// fathom explain: what became of every node, what each kernel has to do, and how long it took.
#include "compiler/package/OutputFile.h"
#include "tools/fathom/compile/CompileCommand.h"
#include "tools/fathom/explain/ExplainArtifact.h"
#include "tools/fathom/explain/ExplainCost.h"
#include "tools/fathom/explain/ExplainHtml.h"
#include "tools/fathom/explain/ExplainNodes.h"
#include "tools/fathom/explain/ExplainTable.h"
#include "tools/fathom/run/PreparedRun.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace fathom {
namespace {

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

std::string spellType(const json::Object &op) {
  StringRef type = op.getString("type").value_or("");
  return type.empty() ? "" : "; " + printable(type);
}

void printOps(const json::Array *ops, StringRef indent) {
  for (const json::Value &value : ops ? *ops : json::Array())
    if (const json::Object *op = value.getAsObject())
      outs() << indent << printable(op->getString("node").value_or("")) << " (" << op->getString("op").value_or("?")
             << "): " << printable(op->getString("why").value_or("")) << spellType(*op) << "\n";
}

void printKnobs(const json::Object &of) {
  if (const json::Object *knobs = of.getObject("schedule"))
    for (const auto &[name, knob] : *knobs)
      outs() << " " << StringRef(name) << "=" << knob.getAsInteger().value_or(0);
  outs() << "\n";
}

// The parts that take at least half a percent, the largest first.
void printEstimate(const json::Object &parts, StringRef where) {
  double total = parts.getNumber("total").value_or(0);
  std::vector<std::pair<double, StringRef>> shares;
  for (const auto &[name, cycles] : parts)
    if (double share = cycles.getAsNumber().value_or(0) / std::max(1.0, total); StringRef(name) != "total")
      shares.emplace_back(share, name);
  sort(shares,
       [](const auto &a, const auto &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  outs() << where << spellCount(total, "cycles");
  StringRef separator = ": ";
  for (auto [share, name] : shares)
    if (share >= 0.005) {
      std::string spelled = name.str();
      std::replace(spelled.begin(), spelled.end(), '_', ' ');
      outs() << separator << formatv("{0} {1:f0} %", spelled, 100 * share);
      separator = ", ";
    }
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
  outs() << "\n     algorithm: " << printable(kernel.getString("algorithm").value_or("?")) << "\n     stages: ";
  const json::Array *stages = kernel.getArray("stages");
  interleave(
      stages ? *stages : json::Array(), outs(),
      [](const json::Value &stage) { outs() << stage.getAsString().value_or("?"); }, " -> ");
  outs() << "\n     schedule:";
  printKnobs(kernel);
  const json::Array *versions = kernel.getArray("versions");
  for (const json::Value &value : versions ? *versions : json::Array())
    if (const json::Object *version = value.getAsObject()) {
      outs() << "     up to " << version->getInteger("up_to").value_or(0) << ":";
      printKnobs(*version);
    }
  if (const json::Object *estimate = kernel.getObject("estimate")) {
    int64_t threads = estimate->getInteger("threads").value_or(1);
    if (const json::Object *alone = estimate->getObject("one_thread"))
      printEstimate(*alone, "     estimate: one thread ");
    if (const json::Object *together = estimate->getObject("all_threads"); together && threads > 1)
      printEstimate(*together, formatv("               {0} threads ", threads).str());
  }
  if (auto why = kernel.getString("sequential"); why && !why->empty())
    outs() << "     sequential because " << printable(*why) << "\n";
  printOps(kernel.getArray("ops"), "     ");
  const json::Array *apart = kernel.getArray("apart");
  for (const json::Value &value : apart ? *apart : json::Array())
    if (const json::Object *other = value.getAsObject())
      outs() << "     not with '" << printable(other->getString("kernel").value_or("?"))
             << "': " << printable(other->getString("why").value_or("")) << "\n";
}

// What is known of the kernels, for programs and for the page.
json::Object asJson(const Explained &told, json::Array others) {
  json::Object result{{"kernels", json::Array(told.kernels)}, {"other_nodes", std::move(others)}};
  const std::optional<Run> &run = told.run;
  if (!run)
    return result;
  if (run->peak.flopPerSecond > 0)
    result["peak"] = json::Object{{"threads", run->threads},
                                  {"gflop_per_second", run->peak.flopPerSecond * 1e-9},
                                  {"gb_per_second", run->peak.bytesPerSecond * 1e-9},
                                  {"cached_gb_per_second", run->peak.cachedBytesPerSecond * 1e-9}};
  json::Array launches;
  for (const fathom_profile_entry &entry : run->fastest)
    launches.push_back(json::Object{{"kernel", entry.kernel},
                                    {"start_us", double(entry.start_ns) * 1e-3},
                                    {"end_us", double(entry.end_ns) * 1e-3}});
  result["threads"] = run->threads;
  result["launches"] = std::move(launches);
  return result;
}

// The kernels of the model as the draft alone has them, where schedules are from a database; else nothing.
Expected<std::optional<json::Array>> draftKernels(StringRef source, const Explained &told,
                                                  const OptionValues &options) {
  bool isTuned = any_of(told.kernels, [](const json::Value &kernel) {
    return kernel.getAsObject() && kernel.getAsObject()->get("schedule_entry");
  });
  if (!isTuned || source.empty())
    return std::nullopt;
  OptionValues without;
  for (const Option &option : optionTable())
    for (const std::string &value : option.name == "db" ? std::vector<std::string>() : options.all(option.name))
      if (Error error = without.set(option, value))
        return std::move(error);
  if (Error error = without.set(*findOption("db", ExplainBit), "none"))
    return std::move(error);
  GivenArtifact compiled;
  Expected<int> exitCode = compiled.open(source, without, ExplainBit);
  if (!exitCode)
    return exitCode.takeError();
  if (*exitCode)
    return std::nullopt;
  auto explained = explainArtifact(compiled.path(), without);
  if (!explained)
    return explained.takeError();
  return std::move(explained->kernels);
}

} // namespace

Expected<int> explainCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (options.has("cost"))
    return explainCost(arguments.positional[0], options);
  GivenArtifact given;
  Expected<int> exitCode = given.open(arguments.positional[0], options, ExplainBit);
  if (!exitCode || *exitCode)
    return exitCode;
  auto told = explainArtifact(given.path(), options);
  if (!told)
    return told.takeError();
  json::Array others = explainOtherNodes(told->manifest, given.source(), options);
  if (options.flag("json")) {
    printJson(asJson(*told, std::move(others)), /*oneLine=*/true);
    return 0;
  }
  if (options.has("html")) {
    auto draft = draftKernels(given.source(), *told, options);
    if (!draft)
      return draft.takeError();
    json::Object page = asJson(*told, std::move(others));
    page["model"] = sys::path::filename(arguments.positional[0]);
    if (*draft)
      page["draft"] = std::move(**draft);
    if (Error error = writeFile(options.text("html"), [&](raw_ostream &out) { printHtml(page, out); }))
      return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
    return 0;
  }
  auto chosen = chooseKernels(told->kernels, options);
  if (!chosen)
    return chosen.takeError();
  const std::optional<Run> &run = told->run;
  printTotal(told->kernels, run ? std::optional<int>(run->threads) : std::nullopt);
  if (run && run->peak.flopPerSecond > 0)
    outs() << formatv(
        "roofline of this machine with {0} threads: {1:f1} GFLOP/s, {2:f1} GB/s from memory, {3:f1} GB/s from the "
        "cache, measured\n",
        run->threads, run->peak.flopPerSecond * 1e-9, run->peak.bytesPerSecond * 1e-9,
        run->peak.cachedBytesPerSecond * 1e-9);
  if (chosen->isBrief) {
    printTable(told->kernels, chosen->numbers);
    return 0;
  }
  for (size_t number : chosen->numbers)
    if (const json::Object *object = told->kernels[number].getAsObject())
      printKernel(*object, number);
  if (options.has("kernel") || options.has("node"))
    return 0;
  if (!others.empty())
    outs() << "in no kernel:\n";
  printOps(&others, "     ");
  return 0;
}

} // namespace fathom
