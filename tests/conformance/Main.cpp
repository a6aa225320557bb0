// Runs the ONNX suite and compares which cases pass with the expected list: a case that is listed and passes fails the
// run as much as one that is not listed and does not pass.
#include "Workers.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fstream>
#include <map>

using namespace fathom::conformance;

namespace {

constexpr char usage[] =
    R"(usage: conformance_tests [--filter TEXT] [--jobs N] [--data DIR] [--expected FILE] [--verbose] [--update]
  --filter TEXT    only cases whose name contains TEXT
  --jobs N         worker processes (2)
  --data DIR       the suite, as Debian's libonnx-testdata has it
  --expected FILE  the cases that are known not to pass, each with its reason
  --verbose        print the reason of expected failures too
  --update         rewrite the expected list instead of comparing with it
)";

struct Options {
  std::string filter, data = FATHOM_ONNX_TEST_DATA, expected = FATHOM_EXPECTED_LIST;
  int jobs = 2;
  bool verbose = false, update = false;
};

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef flag = argv[i];
    std::string *text = flag == "--filter"     ? &options.filter
                        : flag == "--data"     ? &options.data
                        : flag == "--expected" ? &options.expected
                                               : nullptr;
    if (text && i + 1 < argc)
      *text = argv[++i];
    else if (flag == "--jobs" && i + 1 < argc && !llvm::StringRef(argv[i + 1]).getAsInteger(10, options.jobs))
      options.jobs = std::max(1, options.jobs), ++i;
    else if (flag == "--verbose")
      options.verbose = true;
    else if (flag == "--update")
      options.update = true;
    else
      return false;
  }
  return !(options.update && !options.filter.empty());
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

void writeExpected(const std::string &path, const std::vector<Case> &cases, const std::vector<CaseResult> &results) {
  std::ofstream file(path);
  file << "# ONNX cases that are known not to pass on CPUs, with the reason; written by conformance_tests --update.\n";
  for (size_t i = 0; i < cases.size(); ++i)
    if (!results[i].problem.empty())
      file << cases[i].name << ": " << shortReason(results[i].problem) << "\n";
}

// Most cases give shapes, axes and the like as inputs. Where that makes sizes depend on data, which is not supported
// everywhere, the case is run again with those inputs as constants, as real models have them.
void addConstantVariants(std::vector<Case> &cases, std::vector<CaseResult> &results, int jobs) {
  std::vector<Case> variants;
  for (size_t i = 0; i < cases.size(); ++i)
    if (llvm::StringRef(results[i].problem).starts_with("[F3004]"))
      variants.push_back({cases[i].name + "@constant", cases[i].folder, true});
  std::vector<CaseResult> more = runInWorkers(variants, jobs);
  cases.insert(cases.end(), variants.begin(), variants.end());
  results.insert(results.end(), more.begin(), more.end());
}

void printCompileTimes(const std::vector<Case> &cases, const std::vector<CaseResult> &results) {
  std::vector<std::pair<double, std::string>> times;
  for (size_t i = 0; i < cases.size(); ++i)
    if (results[i].oneNode && results[i].problem.empty())
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
  std::erase_if(cases, [&](const Case &c) { return c.name.find(options.filter) == std::string::npos; });
  std::vector<CaseResult> results = runInWorkers(cases, options.jobs);
  addConstantVariants(cases, results, options.jobs);
  if (options.update)
    writeExpected(options.expected, cases, results);
  std::map<std::string, std::string> expected = readExpected(options.expected);
  size_t passed = 0, failed = 0, skipped = 0;
  for (const auto &[name, reason] : expected)
    if (options.filter.empty() &&
        std::none_of(cases.begin(), cases.end(), [&](const Case &c) { return c.name == name; })) {
      llvm::outs() << name << ": listed as an expected failure, but there is no such case\n";
      ++failed;
    }
  for (size_t i = 0; i < cases.size(); ++i) {
    bool listed = expected.count(cases[i].name), ok = results[i].problem.empty();
    if (ok && listed)
      llvm::outs() << cases[i].name << ": passes, but is listed as an expected failure\n";
    else if (!ok && (!listed || options.verbose))
      llvm::outs() << cases[i].name << ": " << results[i].problem << "\n";
    ++(ok == listed ? failed : ok ? passed : skipped);
  }
  printCompileTimes(cases, results);
  llvm::outs() << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
  return failed != 0;
}
