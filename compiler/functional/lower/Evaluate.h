// Lowers a program by running it as far as it is known: calls are inlined, structure is taken apart, arithmetic on
// known integers is done, and what is left are the nodes of a first-order graph.
#pragma once

#include "compiler/functional/lower/Join.h"
#include "compiler/functional/syntax/Scoped.h"
#include "compiler/functional/types/Infer.h"
#include "llvm/ADT/DenseMap.h"

namespace fathom::functional {

class Evaluator {
public:
  Evaluator(const Source &source, Typing &typing, mlir::MLIRContext *context)
      : source(source), typing(typing), context(context), builder(source.name), joiner(builder, typing.unifier) {}

  // The model of `main`; reports what cannot be one.
  llvm::LogicalResult run();
  onnx::ModelProto takeModel() { return std::move(builder.model); }

private:
  using Bindings = Scoped<ValueRef>;
  using Branch = llvm::function_ref<ValueRef()>;

  // Part of a recursion that is made a loop: whether it goes on, what it goes on with, and what it ends with.
  // In a frame, which is a call on a stack, the calls that it made so far have results, and the next one is what it
  // gives.
  enum class Part { Whole, GoesOn, Step, End, Frame };
  // A call that is being evaluated. `loop` is the one in whose tail this one's tail is, if that is made a loop.
  struct Activation {
    const Value *closure;
    Part part;
    unsigned dynamicDepth;
    int loop;
    llvm::ArrayRef<ValueRef> results; // of a frame
    size_t met = 0;                   // how many calls of its function a frame has come by
  };

  // What inputs of a data type consist of: which constructor each node is of, and its fields, by constructor. Fields
  // that are nodes again hold the numbers of rows.
  struct Table {
    Type *type;
    mlir::AffineExpr count;
    std::string tag;
    std::vector<std::vector<ValueRef>> columns;
  };

  // Null after a report, or while an activation is left to be made a loop. In Evaluate.cpp.
  ValueRef eval(const Expr &expr, Bindings &names, bool isTail);
  ValueRef evalVar(const Expr &expr, Bindings &names);
  ValueRef evalOp(const Expr &expr, Bindings &names);
  ValueRef evalBlock(const Expr &expr, Bindings &names, bool isTail);
  ValueRef evalMatch(const Expr &expr, Bindings &names, bool isTail);
  ValueRef closureOf(const Function &function, Bindings &names);
  bool bindPattern(const Pattern &pattern, const ValueRef &value, Bindings &names);
  ValueRef matchArms(const Expr &expr, const ValueRef &value, Bindings &names, bool isTail);

  // Decisions, in Decide.cpp.
  ValueRef decide(const ValueRef &condition, Branch then, Branch other, Place place, bool isTail);
  // A choice's alternatives, one of which is meant.
  ValueRef select(const Value &choice, size_t first, llvm::function_ref<ValueRef(const ValueRef &)> each, Place place,
                  bool isTail);
  ValueRef merge(const ValueRef &condition, ValueRef then, ValueRef other, onnx::GraphProto &thenGraph,
                 onnx::GraphProto &otherGraph, std::vector<ValueRef> thenStore, std::vector<ValueRef> otherStore,
                 unsigned outside, Place place);
  // What a tail's value means to the part of the recursion at hand.
  ValueRef partOf(ValueRef value, bool isTail);

  // Calls and recursion, in Call.cpp and Recursion.cpp.
  ValueRef call(const ValueRef &callee, std::vector<ValueRef> arguments, Place place, bool isTail);
  ValueRef activate(const Value &closure, llvm::ArrayRef<ValueRef> arguments, Part part, bool isTail,
                    llvm::ArrayRef<ValueRef> results = {});
  // The frame that is being evaluated, if there is one.
  Activation *frame();
  ValueRef loop(const Value &closure, std::vector<ValueRef> arguments, Place place, bool isTail);
  // The same on a stack of frames, where a call's result is used. In Frames.cpp.
  ValueRef stack(const Value &closure, std::vector<ValueRef> arguments, Place place, bool isTail);
  std::string rows(int64_t count, const TensorType &type, Place place);
  std::string sizesOf(const TensorType &type, std::optional<int64_t> first, Place place);
  ValueRef constant(Literal literal) { return makeConstant(std::move(literal), context); }

  // The border, in Border.cpp.
  ValueRef inputOf(Type *type, const std::string &name, Place place);
  ValueRef tensorInput(llvm::ArrayRef<mlir::AffineExpr> sizes, ElementType element, const std::string &name);
  // Data of a recursive type: a table with a row for each node. In Tables.cpp.
  ValueRef tableInput(Type *type, const std::string &name, Place place);
  ValueRef columnInput(Type *type, const Table &table, const std::string &name, Place place);
  ValueRef load(const Value &node, size_t constructor, Place place);
  ValueRef loadFrom(const Value &column, const std::string &row, Place place);
  ValueRef selectNode(const Value &node, size_t first, const std::string &tag,
                      llvm::function_ref<ValueRef(const ValueRef &)> each, Place place, bool isTail);
  bool addOutputs(const Value &value, const std::string &name, Place place);

  const Source &source;
  Typing &typing;
  mlir::MLIRContext *context;
  GraphBuilder builder;
  Join joiner;
  llvm::DenseMap<const Function *, std::vector<std::string>> freeNames;
  std::vector<ValueRef> store; // what references refer to
  std::vector<Activation> activations;
  unsigned dynamicDepth = 0, depth = 0;
  size_t calls = 0;
  std::optional<size_t> leaving; // the activation that is to be made a loop
  bool needsStack = false;       // and not one without a stack
  std::vector<Table> tables;
  // Where the size that a symbol stands for is read: an input's name and axis.
  llvm::DenseMap<mlir::AffineExpr, std::pair<std::string, int64_t>> sizeInputs;
};

} // namespace fathom::functional
