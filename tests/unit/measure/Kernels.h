// Candidates of the tests: functions of kernels/kernels.c.
#pragma once

#include "compiler/tune/measure/Measure.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

namespace fathom::tune {

inline const std::string &kernels() {
  static const std::string bytes = [] {
    auto file = llvm::MemoryBuffer::getFile(KERNELS);
    return file ? (*file)->getBuffer().str() : "";
  }();
  return bytes;
}

inline MeasuredKernel kernelOf(const std::string &symbol, int64_t work = 10, int64_t tasks = 256) {
  return {kernels(),
          symbol,
          tasks,
          4096,
          {{4 * tasks, FATHOM_ABI_F32, BufferUse::Read}, {4 * tasks, FATHOM_ABI_F32, BufferUse::Written}},
          {work}};
}

inline MeasurerOptions programHere() {
  MeasurerOptions options;
  options.programFolder = std::string(llvm::StringRef(PROGRAM).rsplit('/').first);
  return options;
}

// Enough runs to have a median; nothing is asserted of times that differ by less than a factor of ten.
inline MeasureOptions quick() {
  MeasureOptions options;
  options.mostRuns = 20;
  options.seconds = 1;
  return options;
}

// A measurer and what was said of it.
struct Started {
  explicit Started(const MeasurerOptions &options) {
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      said += diagnostic.str();
      for (mlir::Diagnostic &note : diagnostic.getNotes())
        said += "\n" + note.str();
    });
    if (auto started = Measurer::start(mlir::UnknownLoc::get(&context), options); llvm::succeeded(started))
      measurer = std::move(*started);
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string said;
  std::unique_ptr<Measurer> measurer;
};

inline std::vector<std::string> spell(llvm::ArrayRef<Measurement> results) {
  std::vector<std::string> words;
  for (const Measurement &result : results)
    words.push_back(spell(result.status).str());
  return words;
}

} // namespace fathom::tune
