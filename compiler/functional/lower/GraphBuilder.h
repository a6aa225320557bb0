// The ONNX graph that a program becomes, node by node.
#pragma once

#include "compiler/functional/lower/Value.h"
#include "onnx.pb.h"
#include "llvm/ADT/StringMap.h"

namespace fathom::functional {

class GraphBuilder {
public:
  explicit GraphBuilder(llvm::StringRef name);

  // The graph that nodes are added to: the model's, or that of a branch or loop.
  onnx::GraphProto &graph() { return *graphs.back(); }
  void enter(onnx::GraphProto &graph);
  void leave() { graphs.pop_back(); }
  // Moves what a branch does to the current graph.
  void splice(onnx::GraphProto &branch);

  // A node of this type at a place of the program, after which its results are called.
  onnx::NodeProto &node(llvm::StringRef op, llvm::ArrayRef<std::string> operands, unsigned results, Place place);
  onnx::NodeProto &node(const Expr &op, llvm::ArrayRef<std::string> operands);
  std::string one(llvm::StringRef op, llvm::ArrayRef<std::string> operands, Place place) {
    return node(op, operands, 1, place).output(0);
  }
  // A constant's name, the same for equal ones.
  std::string constant(const Literal &literal);
  // A value's name as an output of the current graph.
  std::string output(std::string name, Place place) { return one("Identity", {std::move(name)}, place); }
  std::string input(const TensorType &type, Place place);

  // How many names there are, and whether a name is not among the first so many: where they are those from outside of a
  // branch, it is of the branch.
  unsigned countNames() const { return made.size(); }
  bool isMadeSince(llvm::StringRef name, unsigned count) const {
    auto found = made.find(name);
    return found != made.end() && found->second >= count;
  }

  onnx::ModelProto model;

private:
  std::string fresh(llvm::StringRef op, Place place);

  std::vector<onnx::GraphProto *> graphs;
  llvm::StringMap<std::string> constants;
  llvm::StringMap<unsigned> made, uses; // the names, in order, and how often one was asked for
};

} // namespace fathom::functional
