// One case of the ONNX suite: a model and sets of inputs with the outputs they must give.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fathom::conformance {

struct Case {
  std::string name; // such as "node/test_relu"
  std::filesystem::path folder;
  // The variant "@constant" of a case whose sizes depend on its inputs' values: inputs of rank 0 and 1 are part of the
  // model.
  bool constantInputs = false;
};

struct CaseResult {
  std::string problem; // empty: passed
  double compileMs = 0;
  bool oneNode = false;
};

// Every case beneath the suite's folder, in order of name.
std::vector<Case> findCases(const std::filesystem::path &suite);

// Imports, compiles and runs a case in this process, which a miscompiled one may take down.
CaseResult runCase(const Case &testCase);

} // namespace fathom::conformance
