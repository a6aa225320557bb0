// Verdicts are entries like any other, of a kernel in a model.
#include "compiler/tune/Verdicts.h"

#include "compiler/target/MachineFile.h"
#include <chrono>

using namespace mlir;

namespace fathom::tune {

std::string modelHash(ArrayRef<Tuned> kernels) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Tuned &kernel : kernels) {
    out << hashOf(kernel.key);
    for (size_t i : kernel.kernels)
      out << ' ' << i;
    out << '\n';
  }
  return hashOf(text);
}

std::string keyInModel(StringRef modelHash, StringRef kernel) {
  return ("in model " + modelHash + "\n" + kernel).str();
}

llvm::Error keepVerdicts(ScheduleDatabase &database, ArrayRef<Tuned> kernels, const Target &target,
                         const Request &request) {
  std::string hash = modelHash(kernels);
  auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<Entry> entries;
  for (const Tuned &kernel : kernels) {
    if (!kernel.inPlace)
      continue;
    Entry &entry = entries.emplace_back();
    entry.kernel = keyInModel(hash, kernel.key), entry.kernelClass = kernel.kernelClass;
    entry.target = target.spelling(), entry.machine = hashOf(printMachineFile(target));
    entry.generator = generatorVersion.str(), entry.fp = request.fp, entry.threads = request.runThreads;
    entry.schedule = kernel.best, entry.found = request.mode == Mode::Transfer ? Found::Transferred : Found::Measured;
    entry.samples = 1, entry.nanoseconds = kernel.inPlace->isTaken ? kernel.inPlace->bestNs : kernel.inPlace->plannedNs;
    entry.time = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    entry.provenance = "kernel " + kernel.kernel + " in its model";
  }
  return database.insert(entries);
}

} // namespace fathom::tune
