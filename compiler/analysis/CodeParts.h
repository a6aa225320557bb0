// The parts of a kernel's code that run equally often: its body, its loops, and what stands under conditions. They are
// numbered, and the numbers stay with the code down to its machine instructions: they are their lines in a debugger.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace fathom {

struct CodePart {
  enum Kind { Whole, Loop, OpenLoop, Branch, Assembly } kind; // an open loop ends when a condition fails
  mlir::Operation *op;
  mlir::Region *region; // null for assembly
  unsigned parent;
  bool isLoop() const { return kind == Loop || kind == OpenLoop || kind == Assembly; }
};

// Kinds, parents and the name outlive the operations.
class CodeParts {
public:
  explicit CodeParts(mlir::func::FuncOp function);

  mlir::func::FuncOp function() const;
  llvm::StringRef name() const { return functionName; }
  const CodePart &operator[](unsigned part) const { return parts[part]; }
  unsigned size() const { return parts.size(); }
  unsigned of(mlir::Region *region) const { return byRegion.lookup(region); }
  unsigned ofAssembly(mlir::Operation *op) const { return byAssembly.lookup(op); }
  // The part that a value is defined in.
  unsigned of(mlir::Value value) const { return of(value.getParentRegion()); }
  // The innermost loop that a part is in, or is; 0 for the whole.
  unsigned loopOf(unsigned part) const;

  // Gives every operation the line of its part. The code that is made of it does not change.
  void setLines() const;
  static constexpr unsigned lineOf(unsigned part) { return part + 1; } // 0 says that a place is not known

private:
  void number(mlir::Region &region, CodePart::Kind kind, unsigned parent);

  std::string functionName;
  std::vector<CodePart> parts;
  llvm::DenseMap<mlir::Region *, unsigned> byRegion;
  llvm::DenseMap<mlir::Operation *, unsigned> byAssembly;
};

} // namespace fathom
