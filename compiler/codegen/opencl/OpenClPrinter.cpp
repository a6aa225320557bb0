// One C statement for each op. Integers are unsigned, as they wrap, and are cast where an op takes them with a sign;
// pointers are to bytes.
#include "compiler/codegen/opencl/OpenClPrinter.h"

#include "compiler/codegen/simt/GroupKernel.h"
#include "compiler/codegen/simt/SimtBackend.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace fathom {
namespace {

// What code in f64 needs, and multiplications that stay apart from additions unless an op joins them. Every device
// converts 16-bit floats from and to memory, few compute with them: in registers they are 32-bit floats that are
// rounded after each op.
constexpr llvm::StringLiteral prelude = R"(#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
)";
constexpr llvm::StringLiteral halfPrelude =
    R"(float fathom_half_of_bits(ushort x) { return vload_half(0, (const __private half *)&x); }
ushort fathom_bits_of_half(float x) { ushort y; vstore_half_rte(x, 0, (__private half *)&y); return y; }
float fathom_half(float x) { return fathom_half_of_bits(fathom_bits_of_half(x)); }
)";
constexpr llvm::StringLiteral doubleToHalf = R"(float fathom_half_of_double(double x) {
  ushort y;
  vstore_half_rte(x, 0, (__private half *)&y);
  return fathom_half_of_bits(y);
}
)";

bool hasTypes(ModuleOp module, llvm::function_ref<bool(Type)> isOne) {
  return module
      .walk([&](Operation *op) {
        return llvm::any_of(op->getResultTypes(), isOne) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class Printer {
public:
  explicit Printer(llvm::raw_ostream &out) : out(out) {}

  LogicalResult print(ModuleOp module) {
    out << prelude;
    if (hasTypes(module, [](Type type) { return type.isF16(); })) {
      out << halfPrelude;
      if (hasTypes(module, [](Type type) { return type.isF64(); }))
        out << doubleToHalf;
    }
    // Tables are named after their kernel, so that texts can be joined.
    for (auto function : module.getOps<func::FuncOp>())
      kernel = function.getName().str();
    for (auto table : module.getOps<LLVM::GlobalOp>())
      if (table.getAddrSpace() != localMemory)
        printTable(table);
    for (auto function : module.getOps<func::FuncOp>())
      printKernel(function);
    return success(!hasFailed);
  }

private:
  // Types.
  std::string integerName(unsigned bits, bool isSigned) {
    StringRef name = bits == 8 ? "char" : bits == 16 ? "short" : bits == 32 ? "int" : bits == 64 ? "long" : "";
    return name.empty() ? "" : ((isSigned ? "" : "u") + name).str();
  }
  std::string nameOf(Type type, bool isSigned = false) {
    if (type.isInteger(1))
      return "bool";
    std::string name;
    if (auto vector = dyn_cast<VectorType>(type))
      return nameOf(vector.getElementType(), isSigned) + std::to_string(vector.getNumElements());
    if (auto integer = dyn_cast<IntegerType>(type))
      name = integerName(integer.getWidth(), isSigned);
    else if (type.isIndex())
      name = integerName(64, isSigned);
    else
      name = type.isF32() || type.isF16() ? "float" : type.isF64() ? "double" : type.isBF16() ? "ushort" : "";
    if (name.empty())
      refuse() << "OpenCL C has no type " << type;
    return name;
  }
  // The type of an element in memory.
  std::string storedName(Type type) { return type.isF16() ? "ushort" : nameOf(type); }
  static bool isHalf(Value value) { return value.getType().isF16(); }
  // The memory that a pointer points into.
  static StringRef memoryOf(Value pointer) {
    if (auto address = pointer.getDefiningOp<LLVM::GEPOp>())
      return memoryOf(address.getBase());
    unsigned space = cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
    if (space == localMemory)
      return "__local";
    if (pointer.getDefiningOp<LLVM::AddressOfOp>())
      return "__constant";
    return space == globalMemory ? "__global" : "__private";
  }

  // Values.
  std::string nameOf(Value value) {
    std::string &name = names[value];
    if (name.empty())
      name = "v" + std::to_string(names.size() - 1);
    return name;
  }
  std::string withSign(Value value) { return "(" + nameOf(value.getType(), true) + ")" + nameOf(value); }
  std::string number(TypedAttr attr) {
    if (auto integer = dyn_cast<IntegerAttr>(attr)) {
      const APInt &bits = integer.getValue();
      std::string digits = llvm::utostr(bits.getZExtValue());
      return bits.getBitWidth() == 1 ? digits : digits + (bits.getBitWidth() == 64 ? "ul" : "u");
    }
    auto number = dyn_cast<FloatAttr>(attr);
    if (!number) {
      refuse() << "OpenCL C has no constant " << attr;
      return "";
    }
    APFloat value = number.getValue();
    if (attr.getType().isBF16())
      return llvm::utostr(value.bitcastToAPInt().getZExtValue()) + "u";
    if (attr.getType().isF16()) {
      bool isExact;
      value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &isExact);
    }
    std::string type = nameOf(attr.getType());
    if (!value.isFinite()) {
      APInt bits = value.bitcastToAPInt();
      return "as_" + type + "((" + integerName(bits.getBitWidth(), false) + ")" + llvm::utostr(bits.getZExtValue()) +
             "ul)";
    }
    char text[64];
    unsigned length = value.convertToHexString(text, 0, false, APFloat::rmNearestTiesToEven);
    return "(" + type + ")" + std::string(text, length) + (attr.getType().isF64() ? "" : "f");
  }

  void line(const Twine &text) { out.indent(2 * depth) << text << "\n"; }
  void define(Value result, const Twine &expression, bool isRounded = false) {
    std::string type = nameOf(result.getType());
    // Narrow integers are promoted while they are computed with, and 16-bit floats are 32-bit ones.
    std::string around = isa<IntegerType>(result.getType()) ? "(" + type + ")"
                         : isHalf(result) && !isRounded     ? "fathom_half"
                                                            : "";
    line("const " + type + " " + nameOf(result) + " = " + around + (around.empty() ? "" : "(") + expression +
         (around.empty() ? ";" : ");"));
  }
  InFlightDiagnostic refuse() {
    hasFailed = true;
    return emitError(loc ? *loc : UnknownLoc::get(context), ErrorCode::UnsupportedType);
  }

  void printTable(LLVM::GlobalOp table) {
    loc = table.getLoc(), context = table.getContext();
    auto values = dyn_cast_or_null<DenseElementsAttr>(table.getValueAttr());
    if (!values)
      return void(refuse() << "OpenCL C has no constant of this kind");
    bool isHalf = values.getElementType().isF16();
    out << "__constant " << storedName(values.getElementType()) << " "
        << simtSymbol(kernel + "." + table.getSymName().str()) << "[] = {";
    llvm::interleaveComma(values.getValues<Attribute>(), out, [&](Attribute value) {
      if (isHalf)
        out << cast<FloatAttr>(value).getValue().bitcastToAPInt().getZExtValue() << "u";
      else
        out << number(cast<TypedAttr>(value));
    });
    out << "};\n";
  }

  void printKernel(func::FuncOp function) {
    loc = function.getLoc(), context = function.getContext();
    names.clear();
    out << launchNote(function) << "__kernel void " << simtSymbol(function.getName()) << "(";
    llvm::interleaveComma(function.getArguments(), out, [&](BlockArgument argument) {
      if (isa<LLVM::LLVMPointerType>(argument.getType()))
        out << memoryOf(argument) << " uchar *" << nameOf(argument) << "_buffer, ulong " << nameOf(argument)
            << "_offset";
      else
        out << nameOf(argument.getType()) << " " << nameOf(argument);
    });
    out << ") {\n";
    depth = 1;
    // The host has no addresses: only a buffer can be passed, and a place in it.
    for (BlockArgument argument : function.getArguments())
      if (isa<LLVM::LLVMPointerType>(argument.getType())) {
        std::string name = nameOf(argument);
        line((memoryOf(argument) + " uchar *const restrict ").str() + name + " = " + name + "_buffer + " + name +
             "_offset;");
      }
    printBlock(function.getBody().front());
    out << "}\n";
  }

  void printBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      loc = op.getLoc();
      if (!isa<LLVM::LLVMDialect, vector::VectorDialect>(op.getDialect()) &&
          llvm::any_of(op.getResultTypes(), [](Type type) { return isa<VectorType>(type); }))
        refuse() << "work items compute scalars, and this is " << op.getName();
      else if (!printMemory(op) && !printControl(op) && !printConversion(op) && !printArithmetic(op))
        refuse() << "there is no OpenCL C for " << op.getName();
    }
  }

  bool printMemory(Operation &op) {
    return TypeSwitch<Operation *, bool>(&op)
        .Case([&](LLVM::AllocaOp alloca) {
          std::string name = nameOf(alloca.getResult());
          APInt count;
          if (!matchPattern(alloca.getArraySize(), m_ConstantInt(&count)))
            return false;
          line(storedName(alloca.getElemType()) + " " + name + "_[" + Twine(count.getZExtValue()) + "];");
          line("__private uchar *const " + name + " = (__private uchar *)" + name + "_;");
          return true;
        })
        .Case([&](LLVM::AddressOfOp address) {
          if (memoryOf(address) == "__local") {
            auto memory = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(address, address.getGlobalNameAttr());
            auto type = cast<LLVM::LLVMArrayType>(memory.getType());
            std::string name = nameOf(address.getResult());
            line("__local " + storedName(type.getElementType()) + " " + name + "_[" + Twine(type.getNumElements()) +
                 "];");
            line("__local uchar *const " + name + " = (__local uchar *)" + name + "_;");
            return true;
          }
          line("__constant uchar *const " + nameOf(address.getResult()) + " = (__constant uchar *)" +
               simtSymbol(kernel + "." + address.getGlobalName().str()) + ";");
          return true;
        })
        .Case([&](LLVM::GEPOp address) {
          if (address.getRawConstantIndices().size() != 1)
            return false;
          auto index = *address.getIndices().begin();
          auto dynamic = dyn_cast<Value>(index);
          std::string steps = dynamic ? withSign(dynamic) : std::to_string(cast<IntegerAttr>(index).getInt());
          line((memoryOf(address) + " uchar *const ").str() + nameOf(address.getResult()) + " = " +
               nameOf(address.getBase()) + " + " + steps + " * (long)sizeof(" + storedName(address.getElemType()) +
               ");");
          return true;
        })
        // Vectors are only loaded and stored: elements side by side, which need not be aligned to more than one.
        .Case([&](LLVM::LoadOp load) {
          if (isHalf(load.getResult()))
            return define(load.getResult(), "vload_half(0, (const " + memoryOf(load.getAddr()) + " half *)" +
                                                nameOf(load.getAddr()) + ")"),
                   true;
          if (auto vector = dyn_cast<VectorType>(load.getType())) {
            bool isHalf = vector.getElementType().isF16();
            define(load.getResult(), (isHalf ? "vload_half" : "vload") + Twine(vector.getNumElements()) +
                                         "(0, (const " + memoryOf(load.getAddr()) + " " +
                                         (isHalf ? "half" : nameOf(vector.getElementType())) + " *)" +
                                         nameOf(load.getAddr()) + ")");
            return true;
          }
          define(load.getResult(),
                 "*(const " + memoryOf(load.getAddr()) + " " + nameOf(load.getType()) + " *)" + nameOf(load.getAddr()));
          return true;
        })
        .Case([&](LLVM::StoreOp store) {
          if (isHalf(store.getValue())) {
            line("vstore_half_rte(" + nameOf(store.getValue()) + ", 0, (" + memoryOf(store.getAddr()) + " half *)" +
                 nameOf(store.getAddr()) + ");");
            return true;
          }
          if (auto vector = dyn_cast<VectorType>(store.getValue().getType())) {
            bool isHalf = vector.getElementType().isF16();
            line((isHalf ? "vstore_half" : "vstore") + Twine(vector.getNumElements()) + (isHalf ? "_rte(" : "(") +
                 nameOf(store.getValue()) + ", 0, (" + memoryOf(store.getAddr()) + " " +
                 (isHalf ? "half" : nameOf(vector.getElementType())) + " *)" + nameOf(store.getAddr()) + ");");
            return true;
          }
          line("*(" + memoryOf(store.getAddr()) + " " + nameOf(store.getValue().getType()) + " *)" +
               nameOf(store.getAddr()) + " = " + nameOf(store.getValue()) + ";");
          return true;
        })
        .Case([&](LLVM::MemsetOp set) {
          std::string i = "i" + std::to_string(depth);
          line("for (ulong " + i + " = 0; " + i + " < " + nameOf(set.getLen()) + "; ++" + i + ")");
          line("  " + nameOf(set.getDst()) + "[" + i + "] = " + nameOf(set.getVal()) + ";");
          return true;
        })
        .Case([&](gpu::BarrierOp) {
          line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
          return true;
        })
        .Case([&](vector::ToElementsOp op) {
          for (auto [i, element] : llvm::enumerate(op.getElements()))
            define(element, nameOf(op.getSource()) + ".s" + llvm::utohexstr(i));
          return true;
        })
        .Case([&](vector::FromElementsOp op) {
          std::string elements =
              llvm::join(llvm::map_range(op.getElements(), [&](Value element) { return nameOf(element); }), ", ");
          define(op.getResult(), "(" + nameOf(op.getType()) + ")(" + elements + ")");
          return true;
        })
        .Case([&](gpu::BlockIdOp id) {
          define(id.getResult(), "get_group_id(" + Twine(unsigned(id.getDimension())) + ")");
          return true;
        })
        .Case([&](gpu::ThreadIdOp id) {
          define(id.getResult(), "get_local_id(" + Twine(unsigned(id.getDimension())) + ")");
          return true;
        })
        .Default([](Operation *) { return false; });
  }

  // Variables for what a branch or loop results in.
  void declare(ValueRange results, ValueRange initial = {}) {
    for (auto [i, result] : llvm::enumerate(results))
      line(nameOf(result.getType()) + " " + nameOf(result) + (initial.empty() ? "" : " = " + nameOf(initial[i])) + ";");
  }
  // All are read before the first is written.
  void assign(ValueRange results, Operation *terminator) {
    std::string prefix = "next" + std::to_string(depth) + "_";
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      line("const " + nameOf(value.getType()) + " " + prefix + std::to_string(i) + " = " + nameOf(value) + ";");
    for (auto [i, result] : llvm::enumerate(results))
      line(nameOf(result) + " = " + prefix + std::to_string(i) + ";");
  }
  void printInner(Block &block, ValueRange results) {
    ++depth;
    printBlock(block);
    assign(results, block.getTerminator());
    --depth;
  }

  bool printControl(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      declare(loop.getResults(), loop.getInitArgs());
      for (auto [argument, result] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults())) {
        std::string name = nameOf(result);
        names[argument] = std::move(name);
      }
      std::string type = nameOf(loop.getInductionVar().getType()), i = nameOf(loop.getInductionVar());
      line("for (" + type + " " + i + " = " + nameOf(loop.getLowerBound()) + "; " + withSign(loop.getInductionVar()) +
           " < " + withSign(loop.getUpperBound()) + "; " + i + " += " + nameOf(loop.getStep()) + ") {");
      printInner(*loop.getBody(), loop.getResults());
      return line("}"), true;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      declare(branch.getResults());
      line("if (" + nameOf(branch.getCondition()) + ") {");
      printInner(*branch.thenBlock(), branch.getResults());
      if (branch.elseBlock()) {
        line("} else {");
        printInner(*branch.elseBlock(), branch.getResults());
      }
      return line("}"), true;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // What is carried around: the condition's operands, then those of the body's end.
      declare(loop.getResults());
      declare(loop.getBeforeArguments(), loop.getInits());
      line("for (;;) {");
      ++depth;
      printBlock(*loop.getBeforeBody());
      scf::ConditionOp condition = loop.getConditionOp();
      for (auto [result, value] : llvm::zip_equal(loop.getResults(), condition.getArgs()))
        line(nameOf(result) + " = " + nameOf(value) + ";");
      for (auto [argument, result] : llvm::zip_equal(loop.getAfterArguments(), loop.getResults())) {
        std::string name = nameOf(result);
        names[argument] = std::move(name);
      }
      line("if (!" + nameOf(condition.getCondition()) + ")");
      line("  break;");
      --depth;
      printInner(*loop.getAfterBody(), loop.getBeforeArguments());
      return line("}"), true;
    }
    return false;
  }

  bool printConversion(Operation &op) {
    if (op.getNumOperands() != 1 || op.getNumResults() != 1)
      return false;
    Value x = op.getOperand(0), result = op.getResult(0);
    Type to = result.getType();
    auto cast = [&](const std::string &value, bool isSigned) {
      define(result, "(" + nameOf(to, isSigned) + ")" + value);
      return true;
    };
    // A bool with a sign is -1 or 0.
    std::string number = x.getType().isInteger(1) ? "-(int)" + nameOf(x) : withSign(x);
    return TypeSwitch<Operation *, bool>(&op)
        .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto) { return cast("(" + number + ")", true); })
        .Case<arith::ExtUIOp, arith::UIToFPOp, arith::ExtFOp, arith::TruncFOp>([&](auto) {
          if (to.isF16() && x.getType().isF64())
            return define(result, "fathom_half_of_double(" + nameOf(x) + ")"), true;
          return cast(nameOf(x), false);
        })
        .Case([&](arith::TruncIOp) { return cast(to.isInteger(1) ? "(" + nameOf(x) + " & 1)" : nameOf(x), false); })
        .Case([&](arith::SIToFPOp) { return cast("(" + number + ")", false); })
        .Case([&](arith::FPToSIOp) { return cast(nameOf(x), true); })
        .Case([&](arith::FPToUIOp) { return cast(nameOf(x), false); })
        .Case([&](arith::BitcastOp) {
          std::string function = to.isF16()  ? "fathom_half_of_bits"
                                 : isHalf(x) ? "fathom_bits_of_half"
                                             : "as_" + nameOf(to);
          define(result, function + "(" + nameOf(x) + ")", /*isRounded=*/true);
          return true;
        })
        .Default([](Operation *) { return false; });
  }

  static std::string compared(arith::CmpFPredicate predicate, const std::string &x, const std::string &y) {
    using P = arith::CmpFPredicate;
    auto is = [&](StringRef op) { return x + " " + op.str() + " " + y; };
    auto isNot = [&](StringRef op) { return "!(" + is(op) + ")"; };
    switch (predicate) {
    case P::AlwaysFalse:
      return "0";
    case P::AlwaysTrue:
      return "1";
    case P::OEQ:
      return is("==");
    case P::OGT:
      return is(">");
    case P::OGE:
      return is(">=");
    case P::OLT:
      return is("<");
    case P::OLE:
      return is("<=");
    case P::ONE:
      return is("<") + " || " + is(">");
    case P::ORD:
      return "isordered(" + x + ", " + y + ")";
    case P::UEQ:
      return "!(" + is("<") + " || " + is(">") + ")";
    case P::UGT:
      return isNot("<=");
    case P::UGE:
      return isNot("<");
    case P::ULT:
      return isNot(">=");
    case P::ULE:
      return isNot(">");
    case P::UNE:
      return is("!=");
    case P::UNO:
      return "isunordered(" + x + ", " + y + ")";
    }
    llvm_unreachable("a predicate of floats");
  }
  std::string compared(arith::CmpIOp op) {
    using P = arith::CmpIPredicate;
    P p = op.getPredicate();
    bool isSigned = p == P::slt || p == P::sle || p == P::sgt || p == P::sge;
    StringRef sign = p == P::eq                   ? "=="
                     : p == P::ne                 ? "!="
                     : p == P::slt || p == P::ult ? "<"
                     : p == P::sle || p == P::ule ? "<="
                     : p == P::sgt || p == P::ugt ? ">"
                                                  : ">=";
    auto side = [&](Value value) { return isSigned ? withSign(value) : nameOf(value); };
    return side(op.getLhs()) + " " + sign.str() + " " + side(op.getRhs());
  }

  std::string compared(LLVM::ICmpOp op) {
    bool isEqual = op.getPredicate() == LLVM::ICmpPredicate::eq;
    if (!isEqual && op.getPredicate() != LLVM::ICmpPredicate::ne)
      return "";
    return nameOf(op.getLhs()) + (isEqual ? " == " : " != ") + nameOf(op.getRhs());
  }

  // The larger or smaller of two floats; NaN if one is, and a zero of the sign that is larger or smaller.
  std::string extreme(Value x, Value y, char order, char join) {
    std::string a = nameOf(x), b = nameOf(y), type = nameOf(x.getType());
    std::string bits = "as_" + integerName(x.getType().getIntOrFloatBitWidth(), false);
    return "isunordered(" + a + ", " + b + ") ? " + a + " + " + b + " : " + a + " == " + b + " ? as_" + type + "(" +
           bits + "(" + a + ") " + join + " " + bits + "(" + b + ")) : " + a + " " + order + " " + b + " ? " + a +
           " : " + b;
  }

  bool printArithmetic(Operation &op) {
    if (op.getNumResults() != 1)
      return false;
    std::string a, b, c;
    if (op.getNumOperands() > 0)
      a = nameOf(op.getOperand(0));
    if (op.getNumOperands() > 1)
      b = nameOf(op.getOperand(1));
    if (op.getNumOperands() > 2)
      c = nameOf(op.getOperand(2));
    // Wide enough that a product or shift of what is promoted has no sign.
    auto wide = [&] { return op.getResult(0).getType().getIntOrFloatBitWidth() < 32 ? "(uint)" + a : a; };
    auto infix = [&](StringRef sign) { return a + " " + sign.str() + " " + b; };
    auto withSigns = [&](StringRef sign) {
      return withSign(op.getOperand(0)) + " " + sign.str() + " " + withSign(op.getOperand(1));
    };
    auto call = [&](StringRef function) {
      return function.str() + "(" + a + (b.empty() ? "" : ", " + b) + (c.empty() ? "" : ", " + c) + ")";
    };
    auto callWithSigns = [&](StringRef function) {
      return function.str() + "(" + withSign(op.getOperand(0)) + ", " + withSign(op.getOperand(1)) + ")";
    };
    std::string text = TypeSwitch<Operation *, std::string>(&op)
                           .Case([&](arith::ConstantOp constant) { return number(constant.getValue()); })
                           .Case([&](ub::PoisonOp) { return "0"; })
                           .Case([&](LLVM::FMulAddOp) { return call("fma"); })
                           .Case([&](LLVM::CountLeadingZerosOp) { return "clz(" + a + ")"; })
                           .Case([&](LLVM::ICmpOp compare) { return compared(compare); })
                           .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return infix("+"); })
                           .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return infix("-"); })
                           .Case([&](arith::MulIOp) { return wide() + " * " + b; })
                           .Case([&](arith::MulFOp) { return infix("*"); })
                           .Case<arith::DivUIOp, arith::DivFOp>([&](auto) { return infix("/"); })
                           .Case([&](arith::DivSIOp) { return withSigns("/"); })
                           .Case([&](arith::RemFOp) { return call("fmod"); })
                           .Case([&](arith::RemUIOp) { return infix("%"); })
                           .Case([&](arith::RemSIOp) { return withSigns("%"); })
                           .Case([&](arith::AndIOp) { return infix("&"); })
                           .Case([&](arith::OrIOp) { return infix("|"); })
                           .Case([&](arith::XOrIOp) { return infix("^"); })
                           .Case([&](arith::ShLIOp) { return wide() + " << " + b; })
                           .Case([&](arith::ShRUIOp) { return infix(">>"); })
                           .Case([&](arith::ShRSIOp) { return withSign(op.getOperand(0)) + " >> " + b; })
                           .Case([&](arith::MaxSIOp) { return callWithSigns("max"); })
                           .Case([&](arith::MinSIOp) { return callWithSigns("min"); })
                           .Case([&](arith::MaxUIOp) { return call("max"); })
                           .Case([&](arith::MinUIOp) { return call("min"); })
                           .Case([&](arith::CmpIOp compare) { return compared(compare); })
                           .Case([&](arith::CmpFOp compare) { return compared(compare.getPredicate(), a, b); })
                           .Case([&](arith::SelectOp) { return a + " ? " + b + " : " + c; })
                           .Case([&](arith::NegFOp) { return "-" + a; })
                           .Case([&](arith::MaximumFOp max) { return extreme(max.getLhs(), max.getRhs(), '>', '&'); })
                           .Case([&](arith::MinimumFOp min) { return extreme(min.getLhs(), min.getRhs(), '<', '|'); })
                           .Case([&](arith::MaxNumFOp) { return call("fmax"); })
                           .Case([&](arith::MinNumFOp) { return call("fmin"); })
                           .Case([&](math::AbsFOp) { return call("fabs"); })
                           .Case([&](math::CopySignOp) { return call("copysign"); })
                           .Case([&](math::SqrtOp) { return call("sqrt"); })
                           .Case([&](math::CeilOp) { return call("ceil"); })
                           .Case([&](math::FloorOp) { return call("floor"); })
                           .Case([&](math::TruncOp) { return call("trunc"); })
                           .Case([&](math::RoundOp) { return call("round"); })
                           .Case([&](math::RoundEvenOp) { return call("rint"); })
                           .Case([&](math::FmaOp) { return call("fma"); })
                           .Default([](Operation *) { return ""; });
    if (text.empty())
      return false;
    define(op.getResult(0), text);
    return true;
  }

  llvm::raw_ostream &out;
  std::string kernel;
  DenseMap<Value, std::string> names;
  unsigned depth = 0;
  bool hasFailed = false;
  std::optional<Location> loc;
  MLIRContext *context = nullptr;
};

} // namespace

LogicalResult printOpenCl(ModuleOp loops, llvm::raw_ostream &out) { return Printer(out).print(loops); }

} // namespace fathom
