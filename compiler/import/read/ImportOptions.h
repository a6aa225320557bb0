// What is asked of the importer: a model, the sizes to compile it for, and what it may cost.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

namespace fathom {

// What a model may cost before it is refused; docs/dev/security.md says why.
struct ImportLimits {
  uint64_t protoBytes = INT32_MAX; // protobuf's own bound; larger models keep their weights outside
  int nesting = 64;                // of protobuf messages and of calls of model-local functions
  uint64_t nodes = 1'000'000;      // after inlining functions
  unsigned rank = 16;
  uint64_t tensorBytes = uint64_t(64) << 30;
  uint64_t nameBytes = 4096;
  uint64_t stringBytes = uint64_t(64) << 20; // of one string attribute
};

// The inclusive range a dynamic dimension is compiled for; an equal min and max fixes it.
struct DimRange {
  int64_t min = 1;
  int64_t max = INT32_MAX;
  int64_t likely = 0; // the size to be good at; 0: none in particular
  bool operator==(const DimRange &) const = default;
};

struct ImportOptions {
  // By the dimension's name in the model, or "<input>.<axis>".
  llvm::StringMap<DimRange> dims;
  // All dimensions of an input; a static one must be what the model has.
  llvm::StringMap<std::vector<DimRange>> shapes;
  ImportLimits limits;
};

// A model as it is given: a file, or a serialized ModelProto in memory. External data of one in memory is looked for
// beneath `folder`, and refused when that is empty.
struct ModelSource {
  static ModelSource file(llvm::StringRef path) { return {path, {}, {}}; }
  static ModelSource memory(llvm::StringRef bytes, llvm::StringRef folder) { return {{}, bytes, folder}; }
  // What messages about the whole model name.
  llvm::StringRef name() const;

  llvm::StringRef path; // empty: the bytes are the model
  llvm::StringRef bytes, folder;
};

// The attribute of an argument of main that says which values its integers may have: a map whose results are the two
// inclusive ends of ranges, all of which hold. It is there where an operator would refuse others.
inline constexpr llvm::StringLiteral valuesAttrName = "graph.values";

} // namespace fathom
