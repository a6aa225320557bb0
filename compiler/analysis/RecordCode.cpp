// LLVM's passes that end in a printer whose output is kept as it is.
#include "compiler/analysis/RecordCode.h"

#include "compiler/analysis/MachineParts.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace fathom {
namespace {

// What the printer and its streamer have in common.
struct Recording {
  const CodeParts &parts;
  RecordedCode code;
  bool isOurs = false;             // whether the function that is being printed is the kernel's
  CodeBlock *block = nullptr;      // where instructions go
  const MCSymbol *label = nullptr; // of the loop in assembly, after whose beginning they come
  unsigned assembly = 0;           // the part of the assembly that is being printed
  unsigned around = 0;

  CodeBlock &begin(unsigned part) {
    block = &code.blocks.emplace_back();
    block->part = part;
    return *block;
  }
};

// Takes instructions and labels, and ignores the rest.
class Recorder final : public MCStreamer {
public:
  Recorder(MCContext &context, Recording &recording) : MCStreamer(context), recording(recording) {}

  void emitInstruction(const MCInst &instruction, const MCSubtargetInfo &) override {
    if (!recording.isOurs || !recording.block)
      return;
    MCInst kept = instruction;
    bool jumpsBack = false;
    for (MCOperand &operand : kept)
      if (operand.isExpr()) {
        auto target = dyn_cast<MCSymbolRefExpr>(operand.getExpr());
        jumpsBack |= recording.label && target && &target->getSymbol() == recording.label;
        operand = MCOperand::createImm(0);
      }
    recording.block->instructions.push_back(std::move(kept));
    if (jumpsBack) {
      recording.block->isLoop = recording.block->skipsLast = true;
      recording.block->part = recording.assembly;
      recording.label = nullptr;
      recording.begin(recording.around);
    }
  }

  // In assembly, a label is where its loop begins, or where the loop is left.
  void emitLabel(MCSymbol *symbol, SMLoc loc) override {
    MCStreamer::emitLabel(symbol, loc);
    if (recording.assembly) {
      recording.label = symbol;
      recording.begin(recording.around);
    }
  }

  bool emitSymbolAttribute(MCSymbol *, MCSymbolAttr) override { return true; }
  void emitCommonSymbol(MCSymbol *, uint64_t, Align) override {}
  bool hasRawTextSupport() const override { return true; }
  void emitRawTextImpl(StringRef) override {}

private:
  Recording &recording;
};

// Tells which machine instruction is being printed.
class Follower final : public AsmPrinterHandler {
public:
  explicit Follower(Recording &recording) : recording(recording) {}

  void beginFunction(const MachineFunction *function) override {
    recording.isOurs = function->getName() == recording.parts.name();
    recording.block = nullptr;
    current = nullptr;
    if (!recording.isOurs)
      return;
    machine = std::make_unique<MachineParts>(*function, recording.parts);
    recording.code.loops = machine->loops, recording.code.unknownLoops = machine->unknownLoops;
    recording.code.copiedLoops = machine->copiedLoops;
  }
  void endFunction(const MachineFunction *) override { recording.isOurs = false; }
  void endModule() override {}

  void beginInstruction(const MachineInstr *instruction) override {
    if (!recording.isOurs)
      return;
    const MachineBasicBlock *block = instruction->getParent();
    if (block != current) {
      current = block;
      CodeBlock &begun = recording.begin(machine->partOf(*block));
      begun.isLoop = block->isSuccessor(block);
    }
    if (unsigned part = assemblyOf(*instruction)) {
      recording.assembly = part, recording.around = recording.block->part;
      ++recording.code.loops;
    }
  }
  void endInstruction() override {
    if (recording.assembly)
      recording.begin(recording.around);
    recording.assembly = 0, recording.label = nullptr;
  }

private:
  Recording &recording;
  std::unique_ptr<MachineParts> machine;
  const MachineBasicBlock *current = nullptr;

  unsigned assemblyOf(const MachineInstr &instruction) const {
    if (!instruction.isInlineAsm())
      return 0;
    unsigned part = machine->partOf(instruction.getDebugLoc());
    return recording.parts[part].kind == CodePart::Assembly ? part : 0;
  }
};

} // namespace

RecordedCode recordCode(Module &module, TargetMachine &machine, const CodeParts &parts) {
  Recording recording{parts, {}};
  legacy::PassManager passes;
  auto *info = new MachineModuleInfoWrapperPass(&machine);
  TargetPassConfig *config = machine.createPassConfig(passes);
  passes.add(config);
  passes.add(info);
  // As LLVM does it for files: what is not said to be in a library becomes loops.
  const TargetOptions &options = machine.Options;
  passes.add(new RuntimeLibraryInfoWrapper(machine.getTargetTriple(), options.ExceptionModel, options.FloatABIType,
                                           options.EABIVersion, options.MCOptions.ABIName, options.VecLib));
  if (config->addISelPasses())
    return {};
  config->addMachinePasses();
  config->setInitialized();
  MCContext &context = info->getMMI().getContext();
  auto streamer = std::make_unique<Recorder>(context, recording);
  machine.getTarget().createNullTargetStreamer(*streamer);
  AsmPrinter *printer = machine.getTarget().createAsmPrinter(machine, std::move(streamer));
  printer->addAsmPrinterHandler(std::make_unique<Follower>(recording));
  passes.add(printer);
  passes.run(module);
  llvm::erase_if(recording.code.blocks, [](const CodeBlock &block) { return block.instructions.empty(); });
  return std::move(recording.code);
}

} // namespace fathom
