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
  enum class Part { Whole, GoesOn, Step, End };
  // A call that is being evaluated. `loop` is the one in whose tail this one's tail is, if that is made a loop.
  struct Activation {
    const Value *closure;
    Part part;
    unsigned dynamicDepth;
    int loop;
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
  ValueRef activate(const Value &closure, llvm::ArrayRef<ValueRef> arguments, Part part, bool isTail);
  ValueRef loop(const Value &closure, std::vector<ValueRef> arguments, Place place, bool isTail);
  ValueRef constant(Literal literal) { return makeConstant(std::move(literal), context); }

  // The border, in Border.cpp.
  ValueRef inputOf(Type *type, const std::string &name, Place place);
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
};

} // namespace fathom::functional
