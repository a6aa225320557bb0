// Why the kernels of a program are what they are: what each op does in its kernel, and what kept kernels apart.
#pragma once

#include "compiler/plan/Program.h"

namespace fathom {

struct OpNote {
  std::string op;   // such as "Relu"
  std::string node; // the ONNX node
  std::string why;  // its part in the kernel, or why it has none
  std::string type; // why its element type is what it is
};

struct KernelNotes {
  std::string algorithm;
  // Why it has one task, or elements wait for others or are not computed in vectors; empty where nothing of that holds.
  std::string sequential;
  // What happens to an element one after the other, such as "Mul", "Conv", "Add, Relu".
  std::vector<std::string> stages;
  std::vector<OpNote> ops;
  // Kernels whose results this one reads from memory, by name, and why they are not part of it.
  std::vector<std::pair<std::string, std::string>> apart;
};

// For every kernel of the program, in their order.
std::vector<KernelNotes> explainKernels(const Program &program);
// Ops that are in no kernel.
std::vector<OpNote> explainOthers(const Program &program);

} // namespace fathom
