// Checks and orders the targets of a list.
#include "compiler/target/TargetList.h"

#include "llvm/Support/FileSystem.h"

namespace fathom {

// Whether whatever runs code for `some` runs code for `all`.
static bool hasFeaturesOf(const Target &all, const Target &some) {
  return llvm::all_of(some.required, [&](llvm::StringRef feature) { return all.has(feature); });
}

// Why two targets cannot be of one artifact.
static llvm::Error checkPair(const Target &one, const Target &other) {
  auto refuse = [&](const llvm::Twine &why) {
    return llvm::createStringError("targets '" + one.cpu + "' and '" + other.cpu + "' do not go together: " + why);
  };
  if (one.triple != other.triple)
    return refuse("the variants of an artifact are of one architecture, and these are of " + one.triple + " and " +
                  other.triple);
  if (one.cpu == other.cpu)
    return refuse("both are called '" + one.cpu + "'");
  if (hasFeaturesOf(one, other) && hasFeaturesOf(other, one))
    return refuse("they have the same features, so that the second would never be taken");
  return llvm::Error::success();
}

// The first of the rest whose features no other one has and more.
static size_t mostCapable(llvm::ArrayRef<Target> rest) {
  auto isLess = [&](const Target &target) {
    return llvm::any_of(rest, [&](const Target &other) { return &other != &target && hasFeaturesOf(other, target); });
  };
  return llvm::find_if_not(rest, isLess) - rest.begin();
}

llvm::Expected<std::vector<Target>> parseTargets(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words{text};
  // A description's file may have a comma in its name.
  if (text.contains(',') && !llvm::sys::fs::exists(text)) {
    words.clear();
    text.split(words, ',');
  }
  std::vector<Target> rest, ordered;
  for (llvm::StringRef word : words) {
    if (word.empty() && words.size() > 1)
      return llvm::createStringError("'%s' is no list of targets: one of them is empty", text.str().c_str());
    llvm::Expected<Target> target = parseTarget(word);
    if (!target)
      return target.takeError();
    if (target->backend != "cpu" && words.size() > 1)
      return llvm::createStringError("target '%s' is a device, and several targets of an artifact are CPUs",
                                     word.str().c_str());
    for (const Target &other : rest)
      if (llvm::Error error = checkPair(other, *target))
        return std::move(error);
    rest.push_back(std::move(*target));
  }
  while (!rest.empty()) {
    auto next = rest.begin() + mostCapable(rest);
    ordered.push_back(std::move(*next));
    rest.erase(next);
  }
  return ordered;
}

} // namespace fathom
