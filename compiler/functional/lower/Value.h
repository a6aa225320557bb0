// What expressions are while a program is lowered: structure that is known, over tensors that are computed when it
// runs.
#pragma once

#include "compiler/functional/types/DataTypes.h"
#include "compiler/functional/types/OpRelation.h"
#include <memory>
#include <string>
#include <vector>

namespace fathom::functional {

struct Value;
using ValueRef = std::shared_ptr<const Value>;

struct Value {
  // A node is data that lies in tables, with a row for each node. A choice is one of several constructions or closures;
  // which one is known when it runs. The last three are what a recursion gives that is made a loop: another iteration;
  // whether there is one; nothing, where the part of the recursion that is at hand never gets.
  enum Kind { Tensor, Tuple, Data, Node, Closure, Choice, Ref, Again, GoesOn, Nothing } kind;
  // A tensor's name in the graph; empty where its elements are known and nobody needed it there yet. Of a choice, the
  // one of the scalar that decides; of a node, that of its row's number.
  std::string name;
  TensorType type;
  std::shared_ptr<const Literal> constant;
  std::vector<ValueRef> parts;                // a tuple's, fields, what a closure captured, alternatives, arguments
  const ConstructorOf *constructor = nullptr; // of data
  const Function *function = nullptr;         // of a closure
  std::vector<std::string> captured;          // the names of what it captured
  size_t location = 0;                        // of a reference; of a node, the number of its table
};

ValueRef makeTensor(std::string name, TensorType type);
ValueRef makeConstant(Literal literal, mlir::MLIRContext *context);
ValueRef makeValue(Value::Kind kind, std::vector<ValueRef> parts = {});
// The same with other parts.
ValueRef withParts(const Value &value, std::vector<ValueRef> parts);

// The number or truth of a scalar that is known.
std::optional<int64_t> knownScalar(const Value &value);
bool isSame(const Value &a, const Value &b);

} // namespace fathom::functional
