// Runs the ONNX suite in all ways and compares which cases pass with the expected list: a case that is listed and
// passes fails the run as much as one that is not listed and does not pass.
#include "Workers.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>

using namespace fathom::conformance;

namespace {

constexpr char usage[] =
    R"(usage: conformance_tests [--target TEXT] [--filter TEXT] [--part N] [--jobs N] [--data DIR] [--expected FILE] [--verbose]
                         [--update]
  --target TEXT    what is compiled for (host); on a device, nothing is folded into a constant
  --filter TEXT    only cases whose name contains TEXT; a name ends with @given, @dynamic or @constant
  --part N         only one case in N, others with every FATHOM_TEST_SEED (FATHOM_TEST_PART or 1)
  --thinned N      where only a part runs, only one in N of it
  --jobs N         worker processes (2)
  --data DIR       the suite, as Debian's libonnx-testdata has it
  --expected FILE  the cases that are known not to pass, each with its reason
  --verbose        print the reason of expected failures too
  --update         rewrite the expected list instead of comparing with it
)";

struct Options {
  std::string target = "host", filter, data = FATHOM_ONNX_TEST_DATA, expected;
  int jobs = 2, part = 1, thinned = 1;
  bool verbose = false, update = false;
};

// A number of the environment.
uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  uint64_t number;
  return text && !llvm::StringRef(text).getAsInteger(10, number) ? number : otherwise;
}

bool parse(int argc, char **argv, Options &options) {
  options.part = setting("FATHOM_TEST_PART", 1);
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef flag = argv[i];
    std::string *text = flag == "--target"     ? &options.target
                        : flag == "--filter"   ? &options.filter
                        : flag == "--data"     ? &options.data
                        : flag == "--expected" ? &options.expected
                                               : nullptr;
    if (text && i + 1 < argc)
      *text = argv[++i];
    else if (int *number = flag == "--jobs"      ? &options.jobs
                           : flag == "--part"    ? &options.part
                           : flag == "--thinned" ? &options.thinned
                                                 : nullptr;
             number && i + 1 < argc && !llvm::StringRef(argv[i + 1]).getAsInteger(10, *number))
      *number = std::max(1, *number), ++i;
    else if (flag == "--verbose")
      options.verbose = true;
    else if (flag == "--update")
      options.update = true;
    else
      return false;
  }
  if (options.part > 1)
    options.part *= options.thinned;
  if (options.expected.empty())
    options.expected = FATHOM_EXPECTED_LISTS + ("/" + (options.target == "host" ? "cpu" : options.target)) + ".txt";
  return !options.update || (options.filter.empty() && options.part == 1);
}

// Lines of "case: reason"; '#' starts a comment.
std::map<std::string, std::string> readExpected(const std::string &path) {
  std::map<std::string, std::string> expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    llvm::StringRef text = llvm::StringRef(line).split('#').first.trim();
    if (!text.empty())
      expected[text.split(": ").first.str()] = text.split(": ").second.str();
  }
  return expected;
}

// The reason in one line and without what a comment or a key could be mistaken for.
std::string shortReason(llvm::StringRef problem) {
  std::string reason = problem.split('\n').first.substr(0, 140).str();
  std::replace(reason.begin(), reason.end(), '#', ' ');
  return reason;
}

// On a device, what is folded is computed by the CPU.
llvm::ArrayRef<Way> waysOf(const Options &options) {
  return llvm::ArrayRef(allWays).drop_back(options.target == "host" ? 0 : 1);
}

// Cases come in groups of their ways. A case that passes in none has one line.
void writeExpected(const Options &options, const std::vector<Case> &cases, const std::vector<CaseResult> &results) {
  std::ofstream file(options.expected);
  bool isHost = options.target == "host";
  file << "# ONNX cases that are known not to pass " << (isHost ? "on CPUs" : "with --target " + options.target)
       << ", with the reason; written by conformance_tests --update.\n"
          "# NAME: in no way. NAME@given, @dynamic (no size of an input known before it runs), @constant (all inputs\n"
          "# folded): only in that way.\n";
  size_t ways = waysOf(options).size();
  for (size_t i = 0; i < cases.size(); i += ways) {
    llvm::ArrayRef<CaseResult> group(&results[i], ways);
    bool failsAlways = llvm::none_of(group, [](const CaseResult &result) { return result.problem.empty(); });
    for (size_t way = 0; way < (failsAlways ? 1 : ways); ++way)
      if (!group[way].problem.empty())
        file << (failsAlways ? cases[i].name : cases[i + way].key()) << ": " << shortReason(group[way].problem) << "\n";
  }
}

void printCompileTimes(const std::vector<Case> &cases, const std::vector<CaseResult> &results) {
  std::vector<std::pair<double, std::string>> times;
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].way == Way::Given && results[i].oneNode && results[i].problem.empty())
      times.emplace_back(results[i].compileMs, cases[i].name);
  if (times.empty())
    return;
  std::sort(times.begin(), times.end());
  llvm::outs() << llvm::formatv("one-node models compile in {0:f1} ms (median); the slowest:\n",
                                times[times.size() / 2].first);
  constexpr size_t shown = 5;
  for (const auto &[ms, name] : llvm::reverse(llvm::ArrayRef(times).take_back(shown)))
    llvm::outs() << llvm::formatv("  {0,6:f1} ms {1}\n", ms, name);
}

std::vector<Case> inAllWays(const std::vector<Case> &cases, const Options &options) {
  std::vector<Case> all;
  for (const Case &given : cases)
    for (Way way : waysOf(options))
      all.push_back({given.name, given.folder, way, options.target});
  return all;
}

// Leaves one case in `part`.
void keepPart(std::vector<Case> &cases, uint64_t part) {
  std::mt19937_64 random(setting("FATHOM_TEST_SEED", 0));
  std::erase_if(cases, [&](const Case &) { return random() % part != 0; });
}

// How many lines of the list name no case.
size_t reportUnknown(const std::map<std::string, std::string> &expected, const std::vector<Case> &cases) {
  std::set<std::string> known;
  for (const Case &c : cases)
    known.insert({c.name, c.key()});
  size_t unknown = 0;
  for (const auto &[name, reason] : expected)
    if (!known.count(name)) {
      llvm::outs() << name << ": listed as an expected failure, but there is no such case\n";
      ++unknown;
    }
  return unknown;
}

void printWays(const std::vector<Case> &cases, const std::vector<CaseResult> &results) {
  static constexpr const char *names[] = {"as given", "dynamic", "constant"};
  size_t passed[std::size(allWays)] = {};
  for (size_t i = 0; i < cases.size(); ++i)
    passed[int(cases[i].way)] += results[i].problem.empty();
  for (Way way : allWays)
    llvm::outs() << passed[int(way)] << " pass " << names[int(way)] << (way == Way::Constant ? "\n" : ", ");
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    llvm::errs() << usage;
    return 2;
  }
  std::vector<Case> cases = findCases(options.data);
  if (cases.empty()) {
    llvm::errs() << "no cases in " << options.data << "; install Debian's libonnx-testdata\n";
    return 1;
  }
  cases = inAllWays(cases, options);
  std::erase_if(cases, [&](const Case &c) { return c.key().find(options.filter) == std::string::npos; });
  keepPart(cases, options.part);
  std::vector<CaseResult> results = runInWorkers(cases, options.jobs);
  if (options.update)
    writeExpected(options, cases, results);
  std::map<std::string, std::string> expected = readExpected(options.expected);
  size_t passed = 0, failed = 0, skipped = 0;
  if (options.filter.empty() && options.part == 1)
    failed += reportUnknown(expected, cases);
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string key = cases[i].key();
    bool listed = expected.count(cases[i].name) || expected.count(key), ok = results[i].problem.empty();
    if (ok && listed)
      llvm::outs() << key << ": passes, but is listed as an expected failure\n";
    else if (!ok && (!listed || options.verbose))
      llvm::outs() << key << ": " << results[i].problem << "\n";
    // What does not compile may be listed, but `fathom check` must know it.
    if (!results[i].disagreement.empty())
      llvm::outs() << key << ": " << results[i].disagreement << "\n";
    bool isWrong = ok == listed || !results[i].disagreement.empty();
    ++(isWrong ? failed : ok ? passed : skipped);
  }
  printCompileTimes(cases, results);
  printWays(cases, results);
  llvm::outs() << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
  return failed != 0;
}
