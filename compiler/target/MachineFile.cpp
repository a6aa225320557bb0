// The text form of machine descriptions, in YAML, and the ones that are built in.
#include "compiler/target/MachineFile.h"

#include "compiler/support/NumberText.h"
#include "compiler/support/YamlText.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace fathom {
namespace {

// A number that is printed with all of its digits.
struct Exact {
  double value = 0;
};

struct MachineFile {
  std::string triple, cpu, features;
  std::optional<int64_t> cores, vectorRegisters, fmaLatency, reorderWindow;
  std::optional<double> fmaPerCycle, loadsPerCycle, storesPerCycle, issuedPerCycle, memoryBytesPerCycle, slowestCore;
  std::vector<CacheLevel> caches;
  std::optional<Gpu> gpu;
  std::map<std::string, Exact> calibration;
};

struct Builtin {
  llvm::StringLiteral cpu, text;
};
constexpr Builtin builtins[] = {
#include "compiler/target/Machines.inc"
};

} // namespace
} // namespace fathom

LLVM_YAML_IS_SEQUENCE_VECTOR(fathom::CacheLevel)
LLVM_YAML_IS_STRING_MAP(fathom::Exact)

namespace llvm::yaml {

template <> struct ScalarTraits<fathom::Exact> {
  static void output(const fathom::Exact &number, void *, raw_ostream &out) {
    out << fathom::spellNumber(number.value);
  }
  static StringRef input(StringRef text, void *context, fathom::Exact &number) {
    return ScalarTraits<double>::input(text, context, number.value);
  }
  static QuotingType mustQuote(StringRef) { return QuotingType::None; }
};

template <> struct MappingTraits<fathom::CacheLevel> {
  static const bool flow = true;
  static void mapping(IO &io, fathom::CacheLevel &level) {
    io.mapRequired("bytes", level.bytes);
    io.mapRequired("bytes-per-cycle", level.bytesPerCycle);
    io.mapOptional("ways", level.ways, int64_t(8));
  }
  static std::string validate(IO &, fathom::CacheLevel &level) {
    return level.bytes >= 1024 && level.bytesPerCycle > 0 && level.ways > 0
               ? ""
               : "a cache has at least 1024 bytes, a positive rate and at least one way";
  }
};

template <> struct MappingTraits<fathom::Gpu> {
  static void mapping(IO &io, fathom::Gpu &gpu) {
    auto optional = [&](const char *key, auto &number) { io.mapOptional(key, number); };
    io.mapRequired("multiprocessors", gpu.multiprocessors);
    io.mapRequired("gigahertz", gpu.gigahertz);
    optional("lanes", gpu.lanes);
    optional("group-items", gpu.groupItems);
    optional("group-local-bytes", gpu.groupLocalBytes);
    optional("items", gpu.items);
    optional("groups", gpu.groups);
    optional("registers", gpu.registers);
    optional("local-bytes", gpu.localBytes);
    optional("task-items", gpu.taskItems);
    optional("task-scratch-bytes", gpu.taskScratchBytes);
    optional("shared-row", gpu.sharedRow);
    optional("row-elements-of-item", gpu.rowElementsOfItem);
    optional("least-row-items", gpu.leastRowItems);
    optional("most-row-items", gpu.mostRowItems);
    optional("multiply-adds", gpu.multiplyAdds);
    optional("tf32-multiply-adds", gpu.tf32MultiplyAdds);
    optional("half-multiply-adds", gpu.halfMultiplyAdds);
    optional("local-bytes-per-cycle", gpu.localBytesPerCycle);
    optional("cache-bytes", gpu.cacheBytes);
    optional("cache-bytes-per-cycle", gpu.cacheBytesPerCycle);
    optional("memory-bytes-per-cycle", gpu.memoryBytesPerCycle);
  }
  static std::string validate(IO &, fathom::Gpu &gpu) {
    for (int64_t count : {gpu.multiprocessors, gpu.lanes, gpu.groupItems, gpu.groupLocalBytes, gpu.items, gpu.groups,
                          gpu.registers, gpu.localBytes, gpu.cacheBytes, gpu.taskItems, gpu.taskScratchBytes,
                          gpu.sharedRow, gpu.rowElementsOfItem, gpu.leastRowItems, gpu.mostRowItems})
      if (count < 1 || count > (int64_t(1) << 40))
        return "what a gpu has is counted by whole numbers from 1 on";
    // What items have found is combined by halves.
    if (!llvm::isPowerOf2_64(gpu.leastRowItems) || !llvm::isPowerOf2_64(gpu.mostRowItems) ||
        gpu.leastRowItems > gpu.mostRowItems)
      return "least-row-items and most-row-items are powers of two, the first no more than the second";
    for (double rate :
         {gpu.gigahertz, gpu.multiplyAdds, gpu.localBytesPerCycle, gpu.cacheBytesPerCycle, gpu.memoryBytesPerCycle})
      if (!(rate > 0 && rate < 1e6))
        return "rates of a gpu are positive and below a million";
    for (double rate : {gpu.tf32MultiplyAdds, gpu.halfMultiplyAdds})
      if (!(rate >= 0 && rate < 1e6))
        return "rates of tensor cores are not negative and below a million";
    return "";
  }
};

template <> struct MappingTraits<fathom::MachineFile> {
  template <typename Number> static void mapPositive(IO &io, const char *key, std::optional<Number> &number) {
    io.mapOptional(key, number);
    if (number && !(*number > 0 && *number < 1e6))
      io.setError(Twine(key) + " must be positive and below a million");
  }
  static void mapping(IO &io, fathom::MachineFile &file) {
    int version = 1;
    io.mapRequired("fathom-target", version);
    if (version != 1)
      io.setError("version " + Twine(version) + " of machine descriptions is not 1");
    io.mapOptional("triple", file.triple, std::string());
    io.mapRequired("cpu", file.cpu);
    io.mapOptional("features", file.features, std::string());
    mapPositive(io, "cores", file.cores);
    io.mapOptional("slowest-core", file.slowestCore);
    io.mapOptional("vector-registers", file.vectorRegisters);
    mapPositive(io, "fma-per-cycle", file.fmaPerCycle);
    mapPositive(io, "fma-latency", file.fmaLatency);
    mapPositive(io, "loads-per-cycle", file.loadsPerCycle);
    mapPositive(io, "stores-per-cycle", file.storesPerCycle);
    mapPositive(io, "issued-per-cycle", file.issuedPerCycle);
    mapPositive(io, "reorder-window", file.reorderWindow);
    io.mapOptional("caches", file.caches);
    mapPositive(io, "memory-bytes-per-cycle", file.memoryBytesPerCycle);
    io.mapOptional("gpu", file.gpu);
    if (!io.outputting() || !file.calibration.empty())
      io.mapOptional("calibration", file.calibration);
  }
  static std::string validate(IO &, fathom::MachineFile &file) {
    if (file.slowestCore && !(*file.slowestCore >= 0.1 && *file.slowestCore <= 1))
      return "slowest-core is a share of the other cores' speed, between 0.1 and 1";
    if (file.vectorRegisters && (*file.vectorRegisters < 4 || *file.vectorRegisters > 32))
      return "vector-registers must be between 4 and 32";
    for (size_t i = 1; i < file.caches.size(); ++i)
      if (file.caches[i].bytes <= file.caches[i - 1].bytes)
        return "caches are listed from the first level on, each larger than the one before";
    fathom::Calibration calibration = fathom::Calibration::byDefault();
    for (const auto &[name, number] : file.calibration)
      if (Error error = setConstant(calibration, name, number.value))
        return toString(std::move(error));
    return "";
  }
};

} // namespace llvm::yaml

namespace fathom {

static llvm::Expected<MachineFile> parse(llvm::StringRef text, llvm::StringRef fileName) {
  return parseYaml<MachineFile>(text, fileName, "machine description");
}

llvm::Expected<MachineName> readMachineName(llvm::StringRef text, llvm::StringRef fileName) {
  llvm::Expected<MachineFile> file = parse(text, fileName);
  if (!file)
    return file.takeError();
  return MachineName{file->triple, file->cpu, file->features};
}

llvm::Error applyMachineFile(llvm::StringRef text, llvm::StringRef fileName, Target &target) {
  llvm::Expected<MachineFile> file = parse(text, fileName);
  if (!file)
    return file.takeError();
  auto take = [](const auto &from, auto &to) {
    if (from)
      to = *from;
  };
  take(file->cores, target.cores);
  take(file->slowestCore, target.slowestCore);
  take(file->vectorRegisters, target.vectorRegisters);
  take(file->fmaLatency, target.fmaLatency);
  take(file->fmaPerCycle, target.fmaPerCycle);
  take(file->loadsPerCycle, target.loadsPerCycle);
  take(file->storesPerCycle, target.storesPerCycle);
  take(file->issuedPerCycle, target.issuedPerCycle);
  take(file->reorderWindow, target.reorderWindow);
  take(file->memoryBytesPerCycle, target.memoryBytesPerCycle);
  take(file->gpu, target.gpu);
  if (!file->caches.empty())
    target.caches = file->caches;
  for (const auto &[name, number] : file->calibration)
    if (llvm::Error error = setConstant(target.calibration, name, number.value))
      return error;
  return llvm::Error::success();
}

std::string printMachineFile(const Target &target) {
  MachineFile file{target.triple,
                   target.cpu,
                   target.features,
                   target.cores,
                   target.vectorRegisters,
                   target.fmaLatency,
                   target.reorderWindow,
                   target.fmaPerCycle,
                   target.loadsPerCycle,
                   target.storesPerCycle,
                   target.issuedPerCycle,
                   target.memoryBytesPerCycle,
                   target.slowestCore,
                   target.caches,
                   target.backend == "cpu" ? std::nullopt : std::optional(target.gpu),
                   {}};
  for (const CalibrationField &field : calibrationFields())
    if (double value = target.calibration.*field.member; value != Calibration::byDefault().*field.member)
      file.calibration[field.name.str()] = {value};
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::yaml::Output yaml(out, nullptr, /*WrapColumn=*/0);
  yaml << file;
  return text;
}

llvm::StringRef builtinMachine(llvm::StringRef cpu) {
  for (const Builtin &machine : builtins)
    if (machine.cpu == cpu)
      return machine.text;
  return "";
}

std::vector<std::string> builtinMachines() {
  std::vector<std::string> names;
  for (const Builtin &machine : builtins)
    names.push_back(machine.cpu.str());
  return names;
}

} // namespace fathom
