// Writes and reads lines of words; docs/dev/rooms/tune.md lists them.
#include "compiler/tune/measure/GroupText.h"

#include "runtime/fathom_rt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom::tune {

using Status = Measurement::Status;

static constexpr std::pair<StringRef, Status> statusNames[] = {
    {"ok", Status::Ok},       {"crashed", Status::Crashed}, {"hung", Status::Hung},
    {"wrong", Status::Wrong}, {"refused", Status::Refused}, {"lost", Status::Lost}};

StringRef spell(Status status) {
  for (auto [name, value] : statusNames)
    if (value == status)
      return name;
  llvm_unreachable("all have names");
}

static StringRef spell(BufferUse use) {
  constexpr StringRef names[] = {"read", "written", "both", "constant"};
  return names[size_t(use)];
}

std::string writeOptions(const MeasureOptions &options) {
  std::string text =
      formatv("group\nthreads {0}\nruns {1}\nseconds {2:e}\nhang {3:e}\nsettled {4:e}\n", std::max(options.threads, 0),
              std::max<int64_t>(options.mostRuns, 1), options.seconds, options.hangSeconds, options.settled);
  if (options.cold)
    text += "cold\n";
  if (options.tolerance)
    text += formatv("compare {0:e}\n", *options.tolerance);
  return text;
}

bool writeKernel(const MeasuredKernel &kernel, std::string &text, std::string &problem) {
  auto isWrong = [](const MeasuredBuffer &buffer) { return buffer.bytes < 0 || !fathom_dtype_bytes(buffer.type); };
  auto isSpace = [](char c) { return !isPrint(c) || c == ' '; };
  if (kernel.symbol.empty() || any_of(kernel.symbol, isSpace))
    return problem = "it has no symbol", false;
  if (kernel.tasks < 1 || kernel.scratchBytes < 0 || any_of(kernel.buffers, isWrong))
    return problem = "its tasks, scratch or buffers make no sense", false;
  text = formatv("kernel {0} {1} {2}\nobject {3}\n", kernel.symbol, kernel.tasks, kernel.scratchBytes,
                 kernel.object.size());
  text += kernel.object;
  for (const MeasuredBuffer &buffer : kernel.buffers) {
    text += formatv("buffer {0} {1} {2}\n", buffer.bytes, fathom_dtype_name(buffer.type), spell(buffer.use));
    if (!buffer.panels.empty())
      text += formatv("panels {0:$[ ]}\n", make_range(buffer.panels.begin(), buffer.panels.end()));
  }
  for (int64_t symbol : kernel.symbols)
    text += formatv("symbol {0}\n", symbol);
  return true;
}

bool parseMeasurement(StringRef text, Measurement &result) {
  auto [word, rest] = text.split(' ');
  const auto *name = find_if(statusNames, [&](const auto &entry) { return entry.first == word; });
  if (name == std::end(statusNames))
    return false;
  result = {name->second, 0, 0, 0, 0, 0, 0, ""};
  if (!result.isOk()) {
    // It may come from a machine that nobody trusts, and ends up on a terminal.
    result.note = rest.str();
    for (char &c : result.note)
      c = isPrint(c) ? c : ' ';
    return true;
  }
  SmallVector<StringRef> figures;
  rest.split(figures, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  double *times[] = {&result.medianNs, &result.minimumNs, &result.lowerQuartileNs, &result.upperQuartileNs};
  if (figures.size() != 6 || figures[4].getAsInteger(10, result.runs) || figures[5].getAsInteger(10, result.outliers))
    return false;
  for (auto [time, figure] : zip(times, figures))
    if (figure.getAsDouble(*time) || !(*time >= 0))
      return false;
  return true;
}

} // namespace fathom::tune
