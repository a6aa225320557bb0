// The graph dialect: ONNX operators at their newest version over tensors with symbolic sizes and explicit layouts.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/graph/Shape.h"
#include "compiler/graph/Traits.h"

#include "compiler/graph/GraphDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/graph/GraphAttrs.h.inc"
#include "compiler/graph/GraphInterfaces.h.inc"
#define GET_OP_CLASSES
#include "compiler/graph/GraphOps.h.inc"
