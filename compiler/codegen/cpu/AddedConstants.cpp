// Multiply-adds that overwrite what they add to must copy a constant first, an instruction of the vector units, which
// math functions keep busy. Loading it instead, from here or from the stack, where the back end keeps what it cannot
// hold in registers, leaves that to units that have nothing to do meanwhile.
#include "compiler/codegen/cpu/AddedConstants.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace fathom {

// The constant vector that a multiply-add adds; none where it is zero, which is made in no time.
static Constant *addedConstant(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || (call->getIntrinsicID() != Intrinsic::fma && call->getIntrinsicID() != Intrinsic::fmuladd))
    return nullptr;
  auto *addend = dyn_cast<Constant>(call->getArgOperand(2));
  return addend && addend->getType()->isVectorTy() && !addend->isNullValue() ? addend : nullptr;
}

void loadAddedConstants(Function &function) {
  SmallVector<CallBase *> calls;
  SmallVector<Constant *> constants;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block)
      if (Constant *addend = addedConstant(instruction)) {
        calls.push_back(cast<CallBase>(&instruction));
        constants.push_back(addend);
      }
  if (calls.empty())
    return;
  // Each has a place of its own: what is loaded from the same place would be loaded once, and copied.
  Constant *values = ConstantStruct::getAnon(constants);
  auto *table = new GlobalVariable(*function.getParent(), values->getType(), /*isConstant=*/true,
                                   GlobalValue::PrivateLinkage, values, function.getName() + ".added");
  for (auto [i, call] : llvm::enumerate(calls)) {
    IRBuilder<> b(call);
    Value *place = b.CreateStructGEP(values->getType(), table, i);
    call->setArgOperand(2, b.CreateLoad(constants[i]->getType(), place));
  }
}

} // namespace fathom
