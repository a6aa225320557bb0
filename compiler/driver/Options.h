// One table of options. The command line, Python's keyword arguments and the documentation all come from it, so that
// they cannot disagree.
#pragma once

#include "compiler/driver/Compile.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace fathom {

enum class OptionType { Flag, Text, File, Integer, Number, Choice };

// The commands, as bits: an option belongs to one or several.
enum CommandBit : unsigned {
  CompileBit = 1,
  RunBit = 2,
  BenchBit = 4,
  VerifyBit = 8,
  CheckBit = 16,
  InspectBit = 32,
  DoctorBit = 64,
  ExplainBit = 128,
  PlanBit = 256,
  DiffBit = 512,
  DatabaseBit = 1024,
  PassesBit = 2048,
  OptBit = 4096, // fathom-opt: what passes know of a compilation
  TuneBit = 8192,
  CalibrateBit = 16384,
  QuantizeBit = 32768,
};

struct Option {
  llvm::StringRef name; // --name; Python writes _ for -
  char letter;          // -o, or 0
  OptionType type;
  llvm::StringRef value;    // what help shows for the value; a choice's words, separated by |
  llvm::StringRef fallback; // the default as text; empty: none
  unsigned commands;
  bool repeats;
  bool python; // a keyword of fathom.compile
  llvm::StringRef help;
};

llvm::ArrayRef<Option> optionTable();
// Finds "name" or "n" among the options of a command; null when there is none.
const Option *findOption(llvm::StringRef name, unsigned command);
// The option that was probably meant, or an empty string.
std::string nearestOption(llvm::StringRef name, unsigned command);

// Options that were given, checked against the table.
class OptionValues {
public:
  // An error is the user's: a value that is not of the option's type, or an option given twice.
  llvm::Error set(const Option &option, llvm::StringRef text);

  bool has(llvm::StringRef name) const { return given.contains(name); }
  // These fall back to the table's default.
  std::string text(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name) const;
  double number(llvm::StringRef name) const;
  bool flag(llvm::StringRef name) const { return has(name); }
  std::vector<std::string> all(llvm::StringRef name) const;

private:
  llvm::StringMap<std::vector<std::string>> given;
};

// The sizes NAME=SIZE of --dim, for a run. Ranges are the compiler's business and left out.
llvm::Expected<llvm::StringMap<int64_t>> parseDims(const OptionValues &values);

struct CompileRequest {
  CompileOptions options;
  ImportOptions import;
};
// What the options mean for the compiler. Problems are diagnostics of the context. For a command that runs the model,
// --dim NAME=SIZE is the size of the run, and the compiled model stays as general as it was.
mlir::FailureOr<CompileRequest> makeCompileRequest(const OptionValues &values, mlir::MLIRContext &context,
                                                   CommandBit command = CompileBit);

} // namespace fathom
