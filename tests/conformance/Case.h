// One case of the ONNX suite: a model and sets of inputs with the outputs they must give.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fathom::conformance {

// Every case runs three ways, which must give the same outputs.
enum class Way {
  Given,    // as the suite has it
  Dynamic,  // with every dimension of every input known only when it runs
  Constant, // with every input a part of the model, which then is all folded
};
constexpr Way allWays[] = {Way::Given, Way::Dynamic, Way::Constant};

struct Case {
  std::string name; // such as "node/test_relu"
  std::filesystem::path folder;
  Way way = Way::Given;
  std::string target = "host";

  // Such as "node/test_relu@dynamic".
  std::string key() const;
};

struct CaseResult {
  std::string problem; // empty: passed
  double compileMs = 0;
  bool oneNode = false;
  std::string disagreement; // between what `fathom check` says of the model and what compiling it says; empty: none
};

// Every case beneath the suite's folder as it is given, in order of name.
std::vector<Case> findCases(const std::filesystem::path &suite);

// Imports, compiles for its target and runs a case in this process, which a miscompiled one may take down.
CaseResult runCase(const Case &testCase);

} // namespace fathom::conformance
