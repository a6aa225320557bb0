// Resolves target names, detects the host and creates LLVM's target machines.
#include "compiler/target/Target.h"

#include "compiler/target/HostCaches.h"
#include "compiler/target/MachineFile.h"
#include "runtime/CpuFeatures.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <mutex>
#include <unistd.h>

namespace fathom {

static constexpr llvm::StringLiteral aarch64Triple = "aarch64-unknown-linux-gnu",
                                     x86Triple = "x86_64-unknown-linux-gnu", cudaTriple = "nvptx64-nvidia-cuda";

// What generated fp32 and integer code can come to use; other features never change it, so they are not required of the
// loader's machine.
static constexpr llvm::StringLiteral relevantFeatures[] = {
    "neon",   "fullfp16",   "dotprod",    "i8mm",       "bf16",     "sve",      "sve2",     "sse3",
    "ssse3",  "sse4.1",     "sse4.2",     "avx",        "avx2",     "fma",      "f16c",     "bmi",
    "bmi2",   "lzcnt",      "movbe",      "avx512f",    "avx512bw", "avx512cd", "avx512dq", "avx512vl",
    "popcnt", "avx512vnni", "avx512bf16", "avx512fp16", "avxvnni"};

void initializeLlvmTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static const llvm::Target *lookup(llvm::StringRef triple) {
  initializeLlvmTargets();
  std::string ignored;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), ignored);
}

static std::unique_ptr<llvm::MCSubtargetInfo> subtarget(llvm::StringRef triple, llvm::StringRef cpu,
                                                        llvm::StringRef features) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      lookup(triple)->createMCSubtargetInfo(llvm::Triple(triple), cpu, features));
}

static bool isKnownCpu(llvm::StringRef triple, llvm::StringRef cpu) {
  auto info = subtarget(triple, "", "");
  return llvm::any_of(info->getAllProcessorDescriptions(),
                      [&](const llvm::SubtargetSubTypeKV &kv) { return cpu == kv.Key; });
}

// The instructions that have a place in the table, by LLVM's names, with the feature that they need.
struct NamedInstruction {
  MultiplyKind kind;
  FactorType type;
  FactorSource source;
  llvm::StringLiteral name, feature;
};

static constexpr NamedInstruction neonInstructions[] = {
    {MultiplyKind::MultiplyAdd, FactorType::F64, FactorSource::Vector, "FMLAv2f64", "neon"},
    {MultiplyKind::MultiplyAdd, FactorType::F64, FactorSource::Lane, "FMLAv2i64_indexed", "neon"},
    {MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Vector, "FMLAv4f32", "neon"},
    {MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Lane, "FMLAv4i32_indexed", "neon"},
    {MultiplyKind::MultiplyAdd, FactorType::F16, FactorSource::Vector, "FMLAv8f16", "fullfp16"},
    {MultiplyKind::MultiplyAdd, FactorType::F16, FactorSource::Lane, "FMLAv8i16_indexed", "fullfp16"},
    {MultiplyKind::DotProduct, FactorType::BF16, FactorSource::Vector, "BFDOTv8bf16", "bf16"},
    {MultiplyKind::DotProduct, FactorType::BF16, FactorSource::Lane, "BF16DOTlanev8bf16", "bf16"},
    {MultiplyKind::DotProduct, FactorType::I8, FactorSource::Vector, "SDOTv16i8", "dotprod"},
    {MultiplyKind::DotProduct, FactorType::I8, FactorSource::Lane, "SDOTlanev16i8", "dotprod"},
    {MultiplyKind::DotProduct, FactorType::U8I8, FactorSource::Vector, "USDOTv16i8", "i8mm"},
    {MultiplyKind::DotProduct, FactorType::U8I8, FactorSource::Lane, "USDOTlanev16i8", "i8mm"}};

static constexpr NamedInstruction avx2Instructions[] = {
    {MultiplyKind::MultiplyAdd, FactorType::F64, FactorSource::Vector, "VFMADD231PDYr", "fma"},
    {MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Vector, "VFMADD231PSYr", "fma"},
    {MultiplyKind::DotProduct, FactorType::U8I8, FactorSource::Vector, "VPDPBUSDYrr", "avxvnni"}};

static constexpr NamedInstruction avx512Instructions[] = {
    {MultiplyKind::MultiplyAdd, FactorType::F64, FactorSource::Vector, "VFMADD231PDZr", "avx512f"},
    {MultiplyKind::MultiplyAdd, FactorType::F64, FactorSource::Memory, "VFMADD231PDZmb", "avx512f"},
    {MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Vector, "VFMADD231PSZr", "avx512f"},
    {MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Memory, "VFMADD231PSZmb", "avx512f"},
    {MultiplyKind::MultiplyAdd, FactorType::F16, FactorSource::Vector, "VFMADD231PHZr", "avx512fp16"},
    {MultiplyKind::MultiplyAdd, FactorType::F16, FactorSource::Memory, "VFMADD231PHZmb", "avx512fp16"},
    {MultiplyKind::DotProduct, FactorType::BF16, FactorSource::Vector, "VDPBF16PSZr", "avx512bf16"},
    {MultiplyKind::DotProduct, FactorType::BF16, FactorSource::Memory, "VDPBF16PSZmb", "avx512bf16"},
    {MultiplyKind::DotProduct, FactorType::U8I8, FactorSource::Vector, "VPDPBUSDZrr", "avx512vnni"},
    {MultiplyKind::DotProduct, FactorType::U8I8, FactorSource::Memory, "VPDPBUSDZrmb", "avx512vnni"}};

// What LLVM's scheduling model of a CPU says of instructions, by their names; nothing where there is no model.
static llvm::StringMap<Rate> ratesOf(llvm::ArrayRef<llvm::StringRef> names, const llvm::MCSubtargetInfo &info,
                                     const llvm::MCInstrInfo &instructions) {
  llvm::StringMap<Rate> rates;
  const llvm::MCSchedModel &model = info.getSchedModel();
  if (!model.hasInstrSchedModel())
    return rates;
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode) {
    llvm::StringRef name = instructions.getName(opcode);
    if (!llvm::is_contained(names, name))
      continue;
    const llvm::MCSchedClassDesc *desc = model.getSchedClassDesc(instructions.get(opcode).getSchedClass());
    if (!desc->isValid() || desc->isVariant())
      continue;
    double cycles = llvm::MCSchedModel::getReciprocalThroughput(info, *desc);
    rates[name] = {cycles > 0 ? 1 / cycles : 1, llvm::MCSchedModel::computeInstrLatency(info, *desc)};
  }
  return rates;
}

// Rates and latencies of the instructions that kernels are made of, where LLVM has a model of the CPU.
static void describePipeline(Target &target, const llvm::MCSubtargetInfo &info) {
  std::unique_ptr<llvm::MCInstrInfo> instructions(lookup(target.triple)->createMCInstrInfo());
  bool isArm = target.isAArch64(), wide = target.vectorBytes == 64;
  llvm::ArrayRef<NamedInstruction> table = avx2Instructions;
  if (isArm || wide)
    table = isArm ? llvm::ArrayRef(neonInstructions) : llvm::ArrayRef(avx512Instructions);
  llvm::StringRef load = isArm ? "LDRQui" : wide ? "VMOVUPSZrm" : "VMOVUPSYrm";
  llvm::StringRef store = isArm ? "STRQui" : wide ? "VMOVUPSZmr" : "VMOVUPSYmr";
  llvm::SmallVector<llvm::StringRef> names{load, store};
  for (const NamedInstruction &entry : table)
    names.push_back(entry.name);
  llvm::StringMap<Rate> rates = ratesOf(names, info, *instructions);
  llvm::StringRef fma = isArm ? "FMLAv4f32" : wide ? "VFMADD231PSZr" : "VFMADD231PSYr";
  if (auto found = rates.find(fma); found != rates.end())
    target.fmaPerCycle = found->second.perCycle, target.fmaLatency = found->second.latency;
  if (auto found = rates.find(load); found != rates.end())
    target.loadsPerCycle = found->second.perCycle;
  if (auto found = rates.find(store); found != rates.end())
    target.storesPerCycle = found->second.perCycle;
  for (const NamedInstruction &entry : table)
    if (llvm::is_contained(target.required, entry.feature)) {
      // Without a model it is as quick as any multiply-add.
      Rate usual{target.fmaPerCycle, target.fmaLatency};
      auto found = rates.find(entry.name);
      target.instructions.set(entry.kind, entry.type, entry.source, found != rates.end() ? found->second : usual);
    }
  target.issuedPerCycle = info.getSchedModel().IssueWidth;
  // Cores that execute in order have a window of 0 or 1 here, and still a few loads under way.
  target.reorderWindow = std::max<int64_t>(32, info.getSchedModel().MicroOpBufferSize);
}

// Fills in what follows from triple, cpu and features.
static void describe(Target &target) {
  auto info = subtarget(target.triple, target.cpu, target.features);
  for (llvm::StringRef name : relevantFeatures)
    if (llvm::any_of(info->getAllProcessorFeatures(), [&](const auto &kv) { return name == kv.Key; }) &&
        info->checkFeatures(("+" + name).str()))
      target.required.push_back(name.str());
  auto has = [&](llvm::StringRef name) { return llvm::is_contained(target.required, name); };
  if (target.isAArch64()) {
    // Fixed-width code: SVE's length is not known ahead of time and NEON is always there.
    target.caches = {{64 << 10, 48, 4}, {1 << 20, 24}, {32 << 20, 10}};
    target.memoryBytesPerCycle = 5;
  } else {
    target.vectorBytes = has("avx512f") ? 64 : has("avx") ? 32 : 16;
    target.vectorRegisters = has("avx512f") ? 32 : 16;
    target.caches = {{has("avx512f") ? 48 << 10 : 32 << 10, double(2 * target.vectorBytes)},
                     {has("avx512f") ? 1 << 20 : 256 << 10, 32},
                     {16 << 20, 10}};
    target.memoryBytesPerCycle = 4;
    // Most have two hardware threads a core. Beside another one gets 0.6 of it, at times; smaller tasks cost something
    // at all times: what suits both was measured on 2 CPUs of a Granite Rapids and 16 of another Xeon.
    target.slowestCore = 0.9;
  }
  describePipeline(target, *info);
}

ByteProduct Target::byteProduct() const {
  if (!hasVectors())
    return ByteProduct::None;
  if (instructions(MultiplyKind::DotProduct, FactorType::U8I8, FactorSource::Vector))
    return ByteProduct::Unsigned;
  if (instructions(MultiplyKind::DotProduct, FactorType::I8, FactorSource::Vector))
    return ByteProduct::Signed;
  bool hasPairs = vectorBytes == 64 ? has("avx512bw") : vectorBytes == 32 && has("avx2");
  return hasPairs ? ByteProduct::Pairs : ByteProduct::None;
}

std::string hostFeatures(const llvm::StringMap<bool> &detected, llvm::ArrayRef<std::string> implied,
                         llvm::function_ref<bool(llvm::StringRef)> missing) {
  std::vector<std::string> names;
  for (const auto &entry : detected)
    names.push_back(((entry.second && !missing(entry.first()) ? "+" : "-") + entry.first()).str());
  for (const std::string &name : implied)
    if (!detected.contains(name) && missing(name))
      names.push_back("-" + name);
  // A hash map's order differs between builds; the features are part of a reproducible artifact. '+' comes before '-',
  // as it must: a feature that is switched on switches on all that it implies.
  llvm::sort(names);
  return llvm::join(names, ",");
}

// The features that are on for a CPU's name and this list.
static std::vector<std::string> impliedFeatures(const Target &target, llvm::StringRef features) {
  auto info = subtarget(target.triple, target.cpu, features);
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV &kv : info->getAllProcessorFeatures())
    if (info->getFeatureBits().test(kv.Value))
      names.push_back(kv.Key);
  return names;
}

void setCacheBytes(Target &target, llvm::ArrayRef<int64_t> found) {
  for (auto [index, level] : llvm::enumerate(target.caches))
    if (index < found.size())
      level.bytes = index < 2 ? found[index] : std::min(level.bytes, found[index]);
}

static Target hostTarget() {
  Target target;
  target.triple = llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() ? aarch64Triple.str() : x86Triple.str();
  target.cpu = llvm::sys::getHostCPUName().str();
  // A hypervisor may hide what the CPU's name implies. The loader asks the same table, so that the host takes what was
  // compiled for it.
  auto missing = [](llvm::StringRef name) { return cpuFeature(name.str().c_str()) == Feature::Missing; };
  llvm::StringMap<bool> detected = llvm::sys::getHostCPUFeatures();
  std::string reported = hostFeatures(detected, {}, missing);
  target.features = hostFeatures(detected, impliedFeatures(target, reported), missing);
  describe(target);
  if (llvm::StringRef machine = builtinMachine(target.cpu); !machine.empty())
    llvm::cantFail(applyMachineFile(machine, target.cpu, target));
  setCacheBytes(target, hostCacheBytes());
  target.cores = std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN));
  return target;
}

// A CPU by name, for Linux; `features` as LLVM lists them, beyond or instead of what the name implies.
static llvm::Expected<Target> namedTarget(llvm::StringRef text, llvm::StringRef features = "") {
  Target target;
  target.features = features.str();
  auto [triple, cpu] = text.rsplit(':');
  if (cpu.empty()) {
    cpu = text;
    triple = isKnownCpu(aarch64Triple, cpu) ? aarch64Triple : x86Triple;
  }
  llvm::Triple parsed(llvm::Triple::normalize(triple));
  bool isAArch64 = parsed.getArch() == llvm::Triple::aarch64 && parsed.isAArch64(/*PointerWidth=*/64);
  bool isX86 = parsed.getArch() == llvm::Triple::x86_64 && !parsed.isX32();
  if (!isAArch64 && !isX86)
    return llvm::createStringError("target '%s' is neither aarch64 nor x86-64, little-endian and with 64-bit pointers",
                                   text.str().c_str());
  // An architecture alone, as --target help lists it, means Linux.
  if (triple.contains('-') && !parsed.isOSLinux())
    return llvm::createStringError("target '%s' is not for Linux, the only system that artifacts run on",
                                   text.str().c_str());
  target.triple = isAArch64 ? aarch64Triple.str() : x86Triple.str();
  target.cpu = cpu.str();
  if (!isKnownCpu(target.triple, cpu))
    return llvm::createStringError("unknown CPU '%s'; 'fathom compile --target help' lists them", cpu.str().c_str());
  describe(target);
  if (llvm::StringRef machine = builtinMachine(cpu); !machine.empty())
    llvm::cantFail(applyMachineFile(machine, cpu, target));
  return target;
}

// Work items instead of vectors and threads: as many as a device has at a time are its cores, and starting and
// waiting for them costs nothing that counts.
static void describeItems(Target &target) {
  target.vectorBytes = 1;
  target.cores = 1 << 16;
  target.calibration.taskStart = target.calibration.spreading = 0;
}

// What a GPU's description says, if there is one of this name for this kind of machine.
static bool describeGpu(Target &target, llvm::StringRef name) {
  llvm::StringRef text = builtinMachine(name);
  if (text.empty() || llvm::cantFail(readMachineName(text, name)).triple != target.triple)
    return false;
  llvm::cantFail(applyMachineFile(text, name, target));
  return true;
}

// Any device with OpenCL, or one by its name.
static llvm::Expected<Target> openClTarget(llvm::StringRef device) {
  Target target;
  target.backend = target.triple = "opencl", target.cpu = "generic";
  describeItems(target);
  if (!device.empty() && !describeGpu(target, device))
    return llvm::createStringError("no description of a device '%s' with OpenCL", device.str().c_str());
  return target;
}

// An NVIDIA GPU by its architecture ("sm_90"), or by its name. PTX of the oldest one that drivers still take runs on
// all later ones.
static llvm::Expected<Target> cudaTarget(llvm::StringRef name) {
  // The machine that an architecture alone stands for: schedules are made for one.
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> usual[] = {
      {"sm_70", "v100"},     {"sm_72", "xavier"}, {"sm_75", "t4"},      {"sm_80", "a100"},
      {"sm_86", "rtx-3090"}, {"sm_87", "orin"},   {"sm_89", "rtx-4090"}};
  Target target;
  target.backend = "cuda", target.triple = cudaTriple.str(), target.cpu = name.str();
  describeItems(target);
  llvm::StringRef machine = builtinMachine(name).empty() ? llvm::StringRef("h100") : name;
  for (const auto &[architecture, other] : usual)
    if (name == architecture)
      machine = other;
  if (describeGpu(target, machine) && machine == name)
    target.cpu = llvm::cantFail(readMachineName(builtinMachine(name), name)).cpu;
  if (!llvm::StringRef(target.cpu).starts_with("sm_") || !isKnownCpu(target.triple, target.cpu))
    return llvm::createStringError("unknown GPU architecture '%s': NVIDIA's are called sm_75, sm_80, sm_90 and so on, "
                                   "or by names as h200",
                                   target.cpu.c_str());
  return target;
}

// The CPU of a device's host code: one that is named, or any that is not very old. Host code has little to do.
static llvm::Expected<std::string> hostOfDevice(llvm::StringRef named) {
  bool isAArch64 = named.empty() ? llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() : named == "aarch64";
  if (named.empty() || named == "aarch64" || named == "x86_64")
    return isAArch64 ? aarch64Triple.str() + ":generic" : x86Triple.str() + ":x86-64-v2";
  llvm::Expected<Target> target = parseTarget(named);
  if (!target)
    return target.takeError();
  if (target->backend != "cpu")
    return llvm::createStringError("'%s' runs no host code: behind the @ is a CPU, aarch64 or x86_64",
                                   named.str().c_str());
  return named.str();
}

static llvm::Expected<Target> targetFromFile(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError("cannot read the machine description '%s': %s", path.str().c_str(),
                                   file.getError().message().c_str());
  llvm::StringRef text = (*file)->getBuffer();
  llvm::Expected<MachineName> name = readMachineName(text, path);
  if (!name)
    return name.takeError();
  auto target = name->triple == cudaTriple ? cudaTarget(name->cpu)
                : name->triple == "opencl"
                    ? openClTarget("")
                    : namedTarget(name->triple.empty() ? name->cpu : name->triple + ":" + name->cpu, name->features);
  if (!target)
    return target;
  if (llvm::Error error = applyMachineFile(text, path, *target))
    return error;
  if (target->backend != "cpu")
    target->host = llvm::cantFail(hostOfDevice(""));
  return target;
}

static llvm::Expected<Target> deviceTarget(llvm::StringRef text, llvm::StringRef host) {
  auto [kind, name] = text.split(':');
  llvm::Expected<Target> target = kind == "opencl" ? openClTarget(name) : cudaTarget(text == "cuda" ? "sm_75" : name);
  if (!target)
    return target;
  llvm::Expected<std::string> cpu = hostOfDevice(host);
  if (!cpu)
    return cpu.takeError();
  target->host = *cpu;
  return target;
}

static bool isDevice(llvm::StringRef text) {
  llvm::StringRef kind = text.split(':').first;
  return kind == "opencl" || kind == "cuda";
}

llvm::Expected<Target> parseTarget(llvm::StringRef text) {
  initializeLlvmTargets();
  if (auto [device, host] = text.split('@'); isDevice(device))
    return deviceTarget(device, host);
  if (text.empty() || text == "host")
    return hostTarget();
  return text.ends_with(".yaml") ? targetFromFile(text) : namedTarget(text);
}

std::vector<std::string> knownCpus() {
  initializeLlvmTargets();
  std::vector<std::string> names;
  for (llvm::StringRef triple : {llvm::StringRef(aarch64Triple), llvm::StringRef(x86Triple)}) {
    auto info = subtarget(triple, "", "");
    for (const llvm::SubtargetSubTypeKV &kv : info->getAllProcessorDescriptions())
      names.push_back((triple.split('-').first + ":" + kv.Key).str());
  }
  return names;
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target) {
  llvm::TargetOptions options;
  options.FunctionSections = true;
  options.DataSections = true;
  llvm::Triple triple(target.triple);
  return std::unique_ptr<llvm::TargetMachine>(lookup(target.triple)
                                                  ->createTargetMachine(triple, target.cpu, target.features, options,
                                                                        llvm::Reloc::PIC_, std::nullopt,
                                                                        llvm::CodeGenOptLevel::Default));
}

} // namespace fathom
