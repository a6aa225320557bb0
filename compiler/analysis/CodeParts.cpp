// Numbering of parts, and lines.
#include "compiler/analysis/CodeParts.h"

#include "compiler/codegen/common/AssemblyLoop.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;

namespace fathom {

CodeParts::CodeParts(func::FuncOp function) : functionName(function.getName()) {
  number(function.getBody(), CodePart::Whole, 0);
}

func::FuncOp CodeParts::function() const { return cast<func::FuncOp>(parts[0].op); }

void CodeParts::number(Region &region, CodePart::Kind kind, unsigned parent) {
  unsigned part = parts.size();
  parts.push_back({kind, region.getParentOp(), &region, parent});
  byRegion[&region] = part;
  for (Operation &op : region.front()) {
    if (op.hasAttr(assembly_loop::streams)) {
      byAssembly[&op] = parts.size();
      parts.push_back({CodePart::Assembly, &op, nullptr, part});
    }
    CodePart::Kind inner = isa<scf::ForOp>(op)     ? CodePart::Loop
                           : isa<scf::WhileOp>(op) ? CodePart::OpenLoop
                                                   : CodePart::Branch;
    for (Region &child : op.getRegions())
      if (!child.empty())
        number(child, inner, part);
  }
}

unsigned CodeParts::loopOf(unsigned part) const {
  while (part != 0 && !parts[part].isLoop())
    part = parts[part].parent;
  return part;
}

void CodeParts::setLines() const {
  func::FuncOp function = this->function();
  MLIRContext *context = function.getContext();
  auto line = [&](unsigned part) { return FileLineColLoc::get(context, "loops", lineOf(part), 1); };
  auto name = StringAttr::get(context, function.getName());
  auto file = LLVM::DIFileAttr::get(context, "loops", "");
  // Lines alone, and none of them written down: code that is not to be debugged.
  auto unit = LLVM::DICompileUnitAttr::get(DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C, file,
                                           StringAttr::get(context, "fathom"), /*isOptimized=*/true,
                                           LLVM::DIEmissionKind::None);
  auto type = LLVM::DISubroutineTypeAttr::get(context, ArrayRef<LLVM::DITypeAttr>());
  auto flags = LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized;
  auto scope = LLVM::DISubprogramAttr::get(context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name,
                                           name, file, 1, 1, flags, type, {}, {});
  function->setLoc(FusedLoc::get({line(0)}, scope, context));
  for (auto [part, described] : llvm::enumerate(parts)) {
    if (described.kind == CodePart::Assembly) {
      described.op->setLoc(line(part));
      continue;
    }
    for (Operation &op : described.region->front())
      // The jump back to a loop's begin is made of the loop itself.
      if (!isa<scf::ForOp, scf::WhileOp>(op) && !byAssembly.contains(&op))
        op.setLoc(line(part));
    if (described.isLoop())
      described.op->setLoc(line(part));
  }
}

} // namespace fathom
