// Computes elements of a kernel's tensors on demand: asked for the element (or lanes of elements) of a value at an
// index, it emits the code of the value's op, which asks for its operands in turn. Fusion is thus the absence of a
// stored intermediate. What one request comes to several times, at the same index, is computed once: the code of a
// kernel is as long as its ops, not as the paths between them.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/graph/Layout.h"
#include "compiler/schedule/Sweep.h"
#include "compiler/target/Target.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace fathom {

// The index of lane l along a dimension is base + step * l.
struct Index {
  mlir::Value base;
  int64_t step = 0;
  int64_t multiple = 1; // what the base is known to be a multiple of
};
using Indices = llvm::SmallVector<Index, 4>;

// A tensor in memory.
struct Buffer {
  mlir::Value pointer;
  mlir::RankedTensorType type;
  Layout layout;
};

struct Team;

class Emitter {
public:
  Emitter(Code &code, const Target &target) : c(code), target(target) {}

  Code &c;
  const Target &target;
  bool failed = false;        // an error was reported
  const Team *team = nullptr; // of work items that share rows (KernelBody.h)
  // What a map's schedule says otherwise (schedule/Sweep.h).
  int64_t tableEntries = fathom::tableEntries, paddedLanes = mostPaddedLanes;

  void addBuffer(mlir::Value tensor, mlir::Value pointer);
  const Buffer &buffer(mlir::Value tensor) const { return buffers.find(tensor)->second; }
  bool isBuffer(mlir::Value tensor) const { return buffers.contains(tensor); }
  // From here on the value's elements come from this function: the accumulators of an anchor, a row's statistics.
  using Source = std::function<mlir::Value(llvm::ArrayRef<Index>, int64_t lanes)>;
  void bind(mlir::Value tensor, Source source) {
    sources[tensor] = std::move(source);
    computed.clear();
  }

  void unbind(mlir::Value tensor) {
    sources.erase(tensor);
    computed.clear();
  }

  // While one lives, elements are computed once for all that asks for them. Nothing may be stored meanwhile that is
  // asked for again.
  class Request {
  public:
    explicit Request(Emitter &emitter) : emitter(emitter) { ++emitter.requests; }
    ~Request() {
      if (--emitter.requests == 0)
        emitter.computed.clear();
    }
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;

  private:
    Emitter &emitter;
  };

  // The elements of a tensor at an index, in registers.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<Index> index, int64_t lanes);
  // The same, lane by lane.
  mlir::Value scalarized(mlir::Value tensor, llvm::ArrayRef<Index> index, int64_t lanes);
  // An element of an integer tensor as an i64.
  mlir::Value integerAt(mlir::Value tensor, llvm::ArrayRef<Index> index);
  void store(const Buffer &buffer, llvm::ArrayRef<Index> index, mlir::Value value, int64_t lanes);
  mlir::Value load(const Buffer &buffer, llvm::ArrayRef<Index> index, int64_t lanes);
  // Computes all these tensors at an index, then stores each into its buffer: what they share is computed once.
  void computeAndStore(mlir::ValueRange tensors, llvm::ArrayRef<Buffer> outputs, llvm::ArrayRef<Index> index,
                       int64_t lanes);
  // Asks for the line with an element ahead of its use.
  void prefetch(const Buffer &buffer, llvm::ArrayRef<Index> index) {
    c.prefetch(buffer.pointer, offset(buffer, index, 1).first, buffer.type.getElementType(), Code::CacheLevel::First);
  }
  // Zeroes the halo of a buffer: these parts, of so many.
  void clearHalo(const Buffer &buffer, Range these, mlir::Value parts);

  // All-zero indices for a tensor.
  Indices zeros(int64_t rank) { return Indices(rank, Index{c.i64(0), 0}); }
  // The indices of an operand that broadcasts to a result.
  Indices broadcast(mlir::RankedTensorType operand, llvm::ArrayRef<Index> result);
  mlir::Value size(mlir::Value tensor, int64_t dim);

  // Where the code of a data fault (FATHOM_FAULT_) goes; the task returns it.
  mlir::Value fault;
  void raise(mlir::Value condition, int32_t code);
  // i + size if negative; a fault, and clamped, when outside [-size, size).
  mlir::Value checkedIndex(mlir::Value index, mlir::Value size);
  // Whether a tensor has elements along these dimensions; null where it always does. An index into one without any is a
  // fault, but must not be followed either.
  mlir::Value isNonEmpty(mlir::Value tensor, llvm::ArrayRef<int64_t> dims);
  // The element at indices along `dims` that were checked, or zero where there is none.
  mlir::Value checkedElement(mlir::Value tensor, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Index> index,
                             int64_t lanes);

private:
  mlir::Value computeElement(mlir::Value tensor, llvm::ArrayRef<Index> index, int64_t lanes);
  mlir::Value compute(mlir::Operation *op, unsigned result, llvm::ArrayRef<Index> index, int64_t lanes);
  // Ops that only move data; null if the op is not one or needs one lane at a time.
  mlir::Value moved(mlir::Operation *op, llvm::ArrayRef<Index> index, int64_t lanes);
  // The offset of an index in a buffer and by how much it grows per lane, if that is known.
  std::pair<mlir::Value, std::optional<int64_t>> offset(const Buffer &buffer, llvm::ArrayRef<Index> index,
                                                        int64_t lanes);

  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, Source> sources;

  // An element that was computed, and the region of the code in which it can be used.
  struct Computed {
    Indices index;
    int64_t lanes;
    mlir::Value value;
    Code::Region region;
  };
  unsigned requests = 0;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Computed, 1>> computed;
};

// The result of an elementwise op from its operands' elements (scalars or vectors of one length), in registers.
mlir::Value emitElementwise(Emitter &emitter, mlir::Operation *op, mlir::ValueRange operands, int64_t lanes);
// An element of a Resize; null where lanes have to be computed one at a time.
mlir::Value emitResize(Emitter &emitter, graph::ResizeOp op, llvm::ArrayRef<Index> index, int64_t lanes);

} // namespace fathom
