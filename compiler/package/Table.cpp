// The artifact's table as LLVM constants: names, sizes and the host functions, in the layout of runtime/abi.h.
#include "compiler/package/Artifact.h"

#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/TypeText.h"
#include "compiler/graph/Views.h"
#include "runtime/abi.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;
using namespace fathom::graph;

namespace fathom {

int32_t dtypeOf(mlir::Type type) {
  int32_t small = llvm::StringSwitch<int32_t>(smallTypeName(type))
                      .Case("float8_e4m3fn", FATHOM_ABI_F8E4M3FN)
                      .Case("float8_e4m3fnuz", FATHOM_ABI_F8E4M3FNUZ)
                      .Case("float8_e5m2", FATHOM_ABI_F8E5M2)
                      .Case("float8_e5m2fnuz", FATHOM_ABI_F8E5M2FNUZ)
                      .Case("uint4", FATHOM_ABI_U4)
                      .Case("int4", FATHOM_ABI_I4)
                      .Case("float4_e2m1fn", FATHOM_ABI_F4E2M1)
                      .Case("float8_e8m0fnu", FATHOM_ABI_F8E8M0)
                      .Case("uint2", FATHOM_ABI_U2)
                      .Case("int2", FATHOM_ABI_I2)
                      .Default(0);
  if (small)
    return small;
  if (type.isF32())
    return FATHOM_ABI_F32;
  if (type.isF64())
    return FATHOM_ABI_F64;
  if (type.isF16())
    return FATHOM_ABI_F16;
  if (type.isBF16())
    return FATHOM_ABI_BF16;
  if (isString(type))
    return FATHOM_ABI_STRING;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return FATHOM_ABI_BOOL;
  case 8:
    return isUnsigned ? FATHOM_ABI_U8 : FATHOM_ABI_I8;
  case 16:
    return isUnsigned ? FATHOM_ABI_U16 : FATHOM_ABI_I16;
  case 32:
    return isUnsigned ? FATHOM_ABI_U32 : FATHOM_ABI_I32;
  default:
    return isUnsigned ? FATHOM_ABI_U64 : FATHOM_ABI_I64;
  }
}

namespace {

class Table {
public:
  explicit Table(Module &module) : module(module), context(module.getContext()) {}

  IntegerType *i32() { return Type::getInt32Ty(context); }
  IntegerType *i64() { return Type::getInt64Ty(context); }
  PointerType *pointer() { return PointerType::get(context, 0); }
  Constant *number(Type *type, int64_t value) {
    return ConstantInt::get(type, value, /*IsSigned=*/true, /*ImplicitTrunc=*/true);
  }

  Constant *global(Constant *value) {
    auto *variable =
        new GlobalVariable(module, value->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, value);
    variable->setAlignment(Align(8));
    return variable;
  }
  Constant *text(StringRef value) { return global(ConstantDataArray::getString(context, value)); }
  Constant *array(Type *type, ArrayRef<Constant *> values) {
    return values.empty() ? ConstantPointerNull::get(pointer())
                          : global(ConstantArray::get(ArrayType::get(type, values.size()), values));
  }
  Constant *structs(ArrayRef<Constant *> values) {
    return array(values.empty() ? i32() : values[0]->getType(), values);
  }
  Constant *record(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }
  Constant *function(StringRef name) { return module.getFunction(name); }

  // `small` is the type that the caller has, if it is a small one.
  Constant *tensor(StringRef name, mlir::RankedTensorType type, mlir::Attribute small, bool input,
                   const SymbolList &symbols, MemorySpace space) {
    SmallVector<Constant *> dims;
    for (mlir::AffineExpr size : sizesOf(type)) {
      int64_t value = -1;
      if (auto known = constantSize(size))
        value = *known;
      else if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(size); symbol && input)
        value = -1 - int64_t(symbol.getPosition());
      else if (isComputed(size, symbols))
        value = -2;
      dims.push_back(number(i64(), value));
    }
    mlir::Type element = small ? cast<mlir::TypeAttr>(small).getValue() : type.getElementType();
    return record({text(name), number(i32(), dtypeOf(element)), number(i32(), type.getRank()), array(i64(), dims),
                   number(i32(), int32_t(space))});
  }

  Module &module;
  LLVMContext &context;
};

// The input whose memory an output may be, or -1: a cache that a kernel writes into, and that nothing reads as it was
// once the kernel has begun.
int64_t aliasOf(const Program &program, mlir::Value output) {
  auto call = output.getDefiningOp<mlir::func::CallOp>();
  mlir::ModuleOp module = program.module;
  auto kernel = call ? module.lookupSymbol<mlir::func::FuncOp>(call.getCallee()) : mlir::func::FuncOp();
  auto scatter = kernel ? mlir::dyn_cast_or_null<TensorScatterOp>(anchorOf(kernel)) : TensorScatterOp();
  auto cache = scatter ? mlir::dyn_cast<mlir::BlockArgument>(scatter.getPastCache()) : mlir::BlockArgument();
  if (!cache || !cache.hasOneUse())
    return -1;
  auto input = mlir::dyn_cast<mlir::BlockArgument>(call.getOperand(cache.getArgNumber()));
  if (!input || input.getOwner() != call->getBlock() || input.getType() != output.getType())
    return -1;
  SmallVector<mlir::Value> same{input};
  while (!same.empty())
    for (mlir::OpOperand &use : same.pop_back_val().getUses()) {
      mlir::Operation *user = call->getBlock()->findAncestorOpInBlock(*use.getOwner());
      bool isTheCache = user == call && use.getOperandNumber() == cache.getArgNumber();
      if (!isTheCache && !user->isBeforeInBlock(call))
        return -1;
      if (isView(use.getOwner()))
        same.push_back(use.getOwner()->getResult(0));
    }
  return input.getArgNumber();
}

// What a device's kernels are: a program and an entry for each code.
void addDevice(Table &t, const Program &program, const Target &target, const ArtifactInfo &info,
               SmallVector<Constant *> &programs, SmallVector<Constant *> &entries) {
  int32_t kind = program.backend->devicePrograms(target).kind;
  for (auto [number, code, text] : llvm::enumerate(program.codes, info.programs)) {
    programs.push_back(t.record({t.text(text), t.number(t.i64(), text.size()), t.number(t.i32(), kind)}));
    mlir::func::FuncOp function = code.function;
    entries.push_back(
        t.record({t.text(program.backend->entryName(code.symbol)), t.number(t.i32(), number),
                  t.number(t.i32(), code.grid.groupItems),
                  t.number(t.i32(), function.getNumArguments() + function.getNumResults()),
                  t.number(t.i32(), symbolsOf(function).size()), t.number(t.i64(), code.grid.scratchBytes)}));
  }
}

// Where the tables of all variants are, which the exported table alone says.
SmallVector<Constant *> variantTables(Table &t, const ArtifactInfo &info) {
  SmallVector<Constant *> variants;
  if (info.variant || info.variants.empty())
    return variants;
  variants.push_back(t.record({t.text(info.variants[0]), ConstantPointerNull::get(t.pointer())}));
  for (size_t i = 1; i < info.variants.size(); ++i) {
    auto *table = new GlobalVariable(t.module, t.i32(), true, GlobalValue::ExternalLinkage, nullptr,
                                     variantPrefix(info, i) + FATHOM_ARTIFACT_SYMBOL);
    table->setVisibility(GlobalValue::HiddenVisibility);
    variants.push_back(t.record({t.text(info.variants[i]), table}));
  }
  return variants;
}

} // namespace

void addArtifactTable(Module &host, const Program &program, const MemoryPlan &memory, const Target &target,
                      const ArtifactInfo &info) {
  Table t(host);
  mlir::func::FuncOp main = program.main;
  SymbolList all = getSymbols(program.module);
  SmallVector<Constant *> inputs, outputs, symbols, kernels, features, strings;
  auto nameOf = [](mlir::Attribute attr, StringRef fallback) {
    return attr ? cast<mlir::StringAttr>(attr).getValue().str() : fallback.str();
  };
  for (auto [i, argument] : llvm::enumerate(main.getArguments()))
    inputs.push_back(t.tensor(nameOf(main.getArgAttr(i, "graph.name"), "input" + std::to_string(i)),
                              cast<mlir::RankedTensorType>(argument.getType()), main.getArgAttr(i, smallTypeAttrName),
                              true, all, memory.space));
  for (auto [i, value] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands()))
    outputs.push_back(t.tensor(nameOf(main.getResultAttr(i, "graph.name"), "output" + std::to_string(i)),
                               cast<mlir::RankedTensorType>(value.getType()), main.getResultAttr(i, smallTypeAttrName),
                               false, all, memory.space));
  SmallVector<Constant *> aliases;
  SmallVector<int64_t> taken;
  for (mlir::Value value : main.getBody().front().getTerminator()->getOperands()) {
    int64_t alias = aliasOf(program, value);
    // Two outputs of one input cannot both be its memory.
    if (llvm::is_contained(taken, alias))
      alias = -1;
    taken.push_back(alias);
    aliases.push_back(t.number(t.i32(), alias));
  }
  if (llvm::all_of(taken, [](int64_t alias) { return alias < 0; }))
    aliases.clear();
  for (const Symbol &symbol : all)
    if (!symbol.isComputed)
      symbols.push_back(t.record({t.text(symbol.name), t.number(t.i64(), symbol.min), t.number(t.i64(), symbol.max)}));
  for (const Kernel &kernel : program.kernels) {
    kernels.push_back(t.record({t.text(program.codes[kernel.code].symbol), t.text(kernel.nodes)}));
  }
  for (const std::string &feature : hostTargetOf(target).required)
    features.push_back(t.text(feature));
  if (auto vocabulary = mlir::ModuleOp(program.module)->getAttrOfType<mlir::ArrayAttr>(vocabularyAttrName))
    for (mlir::Attribute entry : vocabulary) {
      StringRef text = cast<mlir::StringAttr>(entry).getValue();
      strings.push_back(t.record({t.text(text), t.number(t.i64(), text.size())}));
    }
  SmallVector<Constant *> programs, entries;
  bool onDevice = memory.space != MemorySpace::Host;
  if (onDevice)
    addDevice(t, program, target, info, programs, entries);
  int32_t architecture = onDevice ? program.backend->devicePrograms(target).architecture : 0;
  Constant *none = ConstantPointerNull::get(t.pointer());
  Constant *weights = none;
  if (info.weightsSeed ? memory.keptBytes : memory.weightBytes) {
    // Defined by the linker script at the start of the weights' segment.
    auto *base = new GlobalVariable(host, ArrayType::get(Type::getInt8Ty(t.context), 0), true,
                                    GlobalValue::ExternalLinkage, nullptr, "fathom_weights");
    base->setVisibility(GlobalValue::HiddenVisibility);
    weights = base;
  }
  constexpr int oneCpu = 8, severalCpus = 9; // versions of the table
  SmallVector<Constant *> fields{
      t.number(t.i64(), FATHOM_ABI_MAGIC),
      t.number(t.i32(), info.variants.empty() ? oneCpu : severalCpus),
      t.number(t.i32(), inputs.size()),
      t.number(t.i32(), outputs.size()),
      t.number(t.i32(), symbols.size()),
      t.number(t.i32(), kernels.size()),
      t.number(t.i32(), features.size()),
      t.structs(inputs),
      t.structs(outputs),
      t.structs(symbols),
      t.structs(kernels),
      t.array(t.pointer(), features),
      t.text(info.manifest),
      weights,
      t.number(t.i64(), memory.weightBytes),
      t.number(t.i64(), memory.scratchBytes),
      t.number(t.i64(), info.weightsSeed.value_or(0)),
      t.number(t.i32(), info.weightsSeed.has_value()),
      t.number(t.i32(), FATHOM_ABI_CHECKED | (info.isReplayable ? FATHOM_ABI_REPLAYABLE : 0)),
      t.function("fathom_plan"),
      t.function("fathom_run"),
      t.number(t.i64(), info.weightsSeed ? memory.keptBytes : 0),
      t.array(t.i32(), aliases),
      t.structs(strings),
      t.number(t.i64(), strings.size()),
      t.number(t.i32(), int32_t(memory.space)),
      t.number(t.i32(), int32_t(memory.space)),
      t.structs(programs),
      t.structs(entries),
      t.number(t.i32(), programs.size()),
      t.number(t.i32(), entries.size()),
      t.number(t.i32(), architecture),
      t.number(t.i32(), 0)};
  if (!info.variants.empty()) {
    SmallVector<Constant *> variants = variantTables(t, info);
    fields.append({t.structs(variants), t.number(t.i64(), variants.size())});
  }
  Constant *table = t.record(fields);
  auto *variable =
      new GlobalVariable(host, table->getType(), true, GlobalValue::ExternalLinkage, table, FATHOM_ARTIFACT_SYMBOL);
  if (info.variant)
    variable->setVisibility(GlobalValue::HiddenVisibility);
  variable->setAlignment(Align(8));
  for (Function &function : host)
    if (!function.isDeclaration())
      function.setVisibility(GlobalValue::HiddenVisibility);
  // A copy of the manifest that tools find without loading the code, whatever machine it is for.
  Constant *text = ConstantDataArray::getString(t.context, info.manifest);
  auto *section = new GlobalVariable(host, text->getType(), true, GlobalValue::PrivateLinkage, text);
  section->setSection(".fathom.manifest");
}

} // namespace fathom
