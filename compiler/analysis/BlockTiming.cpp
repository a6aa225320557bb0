// Blocks through LLVM's simulated pipeline.
#include "compiler/analysis/BlockTiming.h"

#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/MCA/Context.h"
#include "llvm/MCA/CustomBehaviour.h"
#include "llvm/MCA/HWEventListener.h"
#include "llvm/MCA/InstrBuilder.h"
#include "llvm/MCA/Pipeline.h"
#include "llvm/MCA/SourceMgr.h"
#include "llvm/MCA/Support.h"

using namespace llvm;

namespace fathom {

InstructionCounts &InstructionCounts::operator+=(const InstructionCounts &other) {
  multiplyAdds += other.multiplyAdds, vectorLoads += other.vectorLoads;
  vectorStores += other.vectorStores, others += other.others;
  return *this;
}

InstructionCounts InstructionCounts::operator*(double times) const {
  return {multiplyAdds * times, vectorLoads * times, vectorStores * times, others * times};
}

StringRef BlockTiming::bottleneck() const {
  constexpr double nearly = 0.9;
  if (unit >= nearly * cycles && unit >= dispatch)
    return unitName;
  return dispatch >= nearly * cycles ? StringRef("dispatch") : StringRef("latency");
}

namespace {

const llvm::Target *registered(const Target &target) {
  initializeLlvmTargets();
  std::string ignored;
  return TargetRegistry::lookupTarget(Triple(target.triple), ignored);
}

// When each repetition's last instruction is done.
class Repetitions final : public mca::HWEventListener {
public:
  explicit Repetitions(unsigned length) : length(length) {}
  void onCycleEnd() override { ++cycle; }
  void onEvent(const mca::HWInstructionEvent &event) override {
    if (event.Type == mca::HWInstructionEvent::Retired && (event.IR.getSourceIndex() + 1) % length == 0)
      ends.push_back(cycle);
  }
  std::vector<double> ends;

private:
  unsigned length;
  double cycle = 0;
};

bool isMultiplyAdd(StringRef name) {
  for (StringRef part : {"FMLA", "FMLS", "FMADD", "FMSUB", "FNMADD", "FNMSUB", "DOT", "MMLA", "VPDPB", "VDPBF16"})
    if (name.contains(part))
      return true;
  return false;
}

} // namespace

BlockTimer::BlockTimer(const Target &target) : target(target) {
  const llvm::Target *known = registered(target);
  Triple triple(target.triple);
  registers.reset(known->createMCRegInfo(triple));
  instructions.reset(known->createMCInstrInfo());
  subtarget.reset(known->createMCSubtargetInfo(triple, target.cpu, target.features));
  isVector.resize(registers->getNumRegs());
  for (const MCRegisterClass &registerClass : registers->regclasses()) {
    StringRef name = registers->getRegClassName(&registerClass);
    if (!is_contained({"FPR128", "QQ", "QQQ", "QQQQ", "VR128X", "VR256X", "VR512"}, name))
      continue;
    for (MCPhysReg number : registerClass)
      isVector[number] = true;
  }
}

BlockTimer::~BlockTimer() = default;

InstructionCounts BlockTimer::count(ArrayRef<MCInst> block) const {
  InstructionCounts counts;
  for (const MCInst &instruction : block) {
    const MCInstrDesc &desc = instructions->get(instruction.getOpcode());
    bool wide = any_of(instruction, [&](const MCOperand &operand) {
      return operand.isReg() && operand.getReg() && isVector[operand.getReg().id()];
    });
    if (isMultiplyAdd(instructions->getName(instruction.getOpcode())))
      ++counts.multiplyAdds;
    else if (wide && desc.mayLoad())
      ++counts.vectorLoads;
    else if (wide && desc.mayStore())
      ++counts.vectorStores;
    else
      ++counts.others;
  }
  return counts;
}

BlockTiming BlockTimer::time(ArrayRef<MCInst> block) {
  if (block.empty())
    return {};
  std::string key;
  raw_string_ostream out(key);
  for (const MCInst &instruction : block) {
    out << instruction.getOpcode();
    for (const MCOperand &operand : instruction)
      if (operand.isReg())
        out << 'r' << operand.getReg().id();
      else if (operand.isImm())
        out << 'i' << operand.getImm();
    out << ';';
  }
  {
    std::lock_guard lock(mutex);
    if (auto found = timings.find(key); found != timings.end())
      return ++hits, found->second;
  }
  BlockTiming timing = analyse(block);
  std::lock_guard lock(mutex);
  ++misses;
  return timings[key] = timing;
}

BlockTiming BlockTimer::roughly(ArrayRef<MCInst> block) const {
  BlockTiming timing;
  timing.cycles = timing.dispatch = double(block.size()) / std::max(1.0, target.issuedPerCycle);
  return timing;
}

BlockTiming BlockTimer::analyse(ArrayRef<MCInst> block) const {
  const MCSchedModel &model = subtarget->getSchedModel();
  BlockTiming timing = roughly(block);
  if (!model.hasInstrSchedModel())
    return timing;
  std::unique_ptr<MCInstrAnalysis> analysis(registered(target)->createMCInstrAnalysis(instructions.get()));
  mca::InstrumentManager instruments(*subtarget, *instructions);
  constexpr unsigned callLatency = 100;
  mca::InstrBuilder builder(*subtarget, *instructions, *registers, analysis.get(), instruments, callLatency);
  SmallVector<std::unique_ptr<mca::Instruction>> sequence;
  double slots = 0;
  std::map<uint64_t, double> busy; // cycles, by units
  for (const MCInst &instruction : block) {
    // The analyser does not follow them, and says so on stderr.
    const MCInstrDesc &known = instructions->get(instruction.getOpcode());
    if (known.isReturn() || known.isCall()) {
      ++slots;
      continue;
    }
    Expected<std::unique_ptr<mca::Instruction>> built = builder.createInstruction(instruction, {});
    if (!built) {
      // Not in the model: it takes its place among those that begin.
      consumeError(built.takeError());
      ++slots;
      continue;
    }
    const mca::InstrDesc &desc = (*built)->getDesc();
    slots += desc.NumMicroOps;
    for (const auto &[mask, use] : desc.Resources)
      busy[mask] += use.size();
    sequence.push_back(std::move(*built));
  }
  timing.dispatch = slots / std::max(1u, model.IssueWidth);
  timing.cycles = timing.dispatch;
  SmallVector<uint64_t> masks(model.getNumProcResourceKinds());
  mca::computeProcResourceMasks(model, masks);
  for (unsigned i = 1; i < masks.size(); ++i) {
    const MCProcResourceDesc &resource = *model.getProcResource(i);
    double cycles = busy.count(masks[i]) ? busy[masks[i]] / std::max(1u, resource.NumUnits) : 0;
    if (cycles > timing.unit)
      timing.unit = cycles, timing.unitName = resource.Name;
  }
  if (sequence.empty())
    return timing;

  // Enough to fill the window once before what is measured begins.
  unsigned length = sequence.size();
  unsigned repetitions = std::clamp<unsigned>(2 * unsigned(target.reorderWindow) / length, 4, 64);
  mca::CircularSourceMgr source(sequence, repetitions);
  mca::CustomBehaviour behaviour(*subtarget, source, *instructions);
  mca::PipelineOptions options(/*UOPQSize=*/0, /*DecThr=*/0, /*DW=*/0, /*RFS=*/0, /*LQS=*/0, /*SQS=*/0,
                               /*NoAlias=*/true);
  mca::Context context(*registers, *subtarget);
  std::unique_ptr<mca::Pipeline> pipeline = context.createDefaultPipeline(options, source, behaviour);
  Repetitions told(length);
  pipeline->addEventListener(&told);
  Expected<unsigned> cycles = pipeline->run();
  if (!cycles) {
    consumeError(cycles.takeError());
    return timing;
  }
  if (told.ends.size() == repetitions) {
    size_t half = repetitions / 2;
    timing.cycles = (told.ends.back() - told.ends[half - 1]) / double(repetitions - half);
  } else {
    timing.cycles = double(*cycles) / repetitions;
  }
  timing.start = std::max(0.0, double(*cycles) - timing.cycles * repetitions);
  return timing;
}

} // namespace fathom
