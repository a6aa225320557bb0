// What a database has to give, and which model of it goes best with another.
#include "compiler/tune/transfer/Pool.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <map>
#include <set>

using namespace llvm;

namespace fathom::tune {

std::string opClassOf(StringRef text) {
  auto [klass, rest] = text.split('\n');
  std::string ops = klass.str() + ":";
  // An op stands behind the values that it gives; attributes of the dialect do not.
  constexpr StringLiteral begin = "= graph.";
  for (size_t at = rest.find(begin); at != StringRef::npos; at = rest.find(begin, at)) {
    at += begin.size();
    StringRef op = rest.substr(at).take_while(isAlnum);
    if (op != "Constant" && op != "None")
      ops += " " + op.str();
  }
  return ops;
}

std::string provenanceOf(StringRef kernel, StringRef model) {
  return ("kernel " + kernel + (model.empty() ? "" : " of " + model.str())).str();
}

// A kernel in its model (Verdicts.h) is known to be good there alone.
static bool isInModel(StringRef key) { return key.starts_with("in model "); }

Expected<Pool> Pool::read(ScheduleDatabase &database, StringRef generator, FloatMode fp) {
  Pool pool;
  std::set<std::pair<std::string, std::string>> seen;
  Filter filter{"", "", generator.str(), name(fp).str()};
  Error error = database.visit(filter, [&](const Entry &entry) {
    // The best of a kernel and target comes first.
    if (isInModel(entry.kernel) || !seen.insert({hashOf(entry.kernel), entry.target}).second)
      return Error::success();
    StringRef provenance = entry.provenance;
    provenance.consume_front("kernel ");
    auto [kernel, model] = provenance.rsplit(" of ");
    pool.all.push_back({entry, model.str(), kernel.str(), opClassOf(entry.kernel)});
    return Error::success();
  });
  if (error)
    return std::move(error);
  return pool;
}

std::vector<std::string> Pool::models() const {
  std::set<std::string> names;
  for (const PoolEntry &entry : all)
    if (!entry.model.empty())
      names.insert(entry.model);
  return {names.begin(), names.end()};
}

std::vector<SourceScore> scoreSources(const Pool &pool, const ClassShares &shares, StringRef self) {
  // Kernels of a model by their class; one that was tuned for several targets counts once.
  std::map<std::string, std::map<std::string, std::set<std::string>>> kernels;
  for (const PoolEntry &entry : pool.entries())
    if (!entry.model.empty() && entry.model != self)
      kernels[entry.model][entry.opClass].insert(entry.entry.kernel);
  std::vector<SourceScore> scores;
  for (const auto &[model, classes] : kernels) {
    double score = 0;
    for (const auto &[opClass, members] : classes) {
      double share = shares.lookup(opClass);
      score += share * share * std::sqrt(double(members.size()));
    }
    scores.push_back({model, score});
  }
  llvm::sort(scores, [](const SourceScore &a, const SourceScore &b) {
    return std::pair(-a.score, StringRef(a.model)) < std::pair(-b.score, StringRef(b.model));
  });
  return scores;
}

} // namespace fathom::tune
