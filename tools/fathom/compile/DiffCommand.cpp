// fathom diff: what two plans, or the plans of two compiled models, decide otherwise.
#include "compiler/plan/PlanDiff.h"
#include "tools/fathom/Commands.h"
#include "tools/fathom/run/ArtifactReader.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace fathom {
namespace {

struct Side {
  Plan plan;
  std::optional<ArtifactSummary> artifact;
};

Expected<Side> readSide(const std::string &path, StringRef variant) {
  if (!looksCompiled(path)) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!text)
      return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': " + text.getError().message());
    Expected<Plan> plan = parsePlan((*text)->getBuffer(), path);
    if (!plan)
      return fail(ErrorCode::BadPlan, toString(plan.takeError()), "'fathom diff' takes plans and compiled models");
    return Side{std::move(*plan), std::nullopt};
  }
  Expected<ArtifactSummary> artifact = readArtifact(path, variant);
  if (!artifact)
    return artifact.takeError();
  std::optional<StringRef> text = artifact->manifest.getString("plan");
  if (!text)
    return fail(ErrorCode::BadPlan, "'" + path + "' has no plan in it",
                "it was compiled by an older version of fathom");
  Expected<Plan> plan = parsePlan(*text, path);
  if (!plan)
    return fail(ErrorCode::BadPlan, toString(plan.takeError()));
  return Side{std::move(*plan), std::move(*artifact)};
}

// What of two artifacts is not in their plans.
void diffArtifacts(const ArtifactSummary &a, const ArtifactSummary &b, std::vector<PlanDifference> &into) {
  auto compare = [&](const char *subject, const std::string &x, const std::string &y) {
    if (x != y)
      into.push_back({subject, x + " -> " + y});
  };
  auto number = [](const ArtifactSummary &of, StringRef key) {
    std::optional<int64_t> value = of.manifest.getInteger(key);
    return value ? std::to_string(*value) : std::string("depends on sizes");
  };
  auto text = [](const ArtifactSummary &of, StringRef key) { return of.manifest.getString(key).value_or("?").str(); };
  compare("compiler", text(a, "fathom"), text(b, "fathom"));
  compare("floating point", text(a, "fp"), text(b, "fp"));
  compare("model", text(a, "model_hash"), text(b, "model_hash"));
  compare("code bytes", std::to_string(a.codeBytes), std::to_string(b.codeBytes));
  compare("weight bytes", number(a, "weight_bytes"), number(b, "weight_bytes"));
  compare("arena bytes", number(a, "arena_bytes"), number(b, "arena_bytes"));
  compare("scratch bytes", number(a, "scratch_bytes"), number(b, "scratch_bytes"));
}

} // namespace

Expected<int> diffCommand(const Arguments &arguments) {
  Expected<Side> a = readSide(arguments.positional[0], arguments.options.text("variant"));
  if (!a)
    return a.takeError();
  Expected<Side> b = readSide(arguments.positional[1], arguments.options.text("variant"));
  if (!b)
    return b.takeError();
  std::vector<PlanDifference> differences = diffPlans(a->plan, b->plan);
  if (a->artifact && b->artifact)
    diffArtifacts(*a->artifact, *b->artifact, differences);
  if (arguments.options.flag("json")) {
    json::Array list;
    for (const auto &[subject, what] : differences)
      list.push_back(json::Object{{"subject", subject}, {"what", what}});
    printJson(json::Object{{"same", differences.empty()}, {"differences", std::move(list)}}, /*oneLine=*/true);
  } else {
    for (const auto &[subject, what] : differences)
      outs() << printable(subject) << ": " << printable(what) << "\n";
    if (differences.empty())
      outs() << formatv("no difference: {0} kernels, {1} layouts\n", a->plan.kernels.size(), a->plan.layouts.size());
  }
  return differences.empty() ? 0 : 4;
}

} // namespace fathom
