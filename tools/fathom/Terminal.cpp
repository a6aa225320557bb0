// Errors, progress and colours on stderr.
#include "tools/fathom/Terminal.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include <chrono>
#include <mutex>

using namespace llvm;

namespace fathom {

static bool quiet = false;

// Progress and messages share the terminal's last line.
static std::mutex lineMutex;
static bool lineShown = false;

static bool onTerminal() {
  static bool terminal = sys::Process::StandardErrIsDisplayed();
  return terminal;
}

static bool coloured() {
  static bool colour = [] {
    const char *noColor = getenv("NO_COLOR");
    return onTerminal() && !(noColor && *noColor) && sys::Process::StandardErrHasColors();
  }();
  return colour;
}

static void clearLine() {
  if (lineShown)
    errs() << "\r\x1b[K";
  lineShown = false;
}

std::string printable(StringRef text) {
  std::string result;
  raw_string_ostream out(result);
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c == '\n')
      out << "\\n";
    else if (c < 0x20 || c == 0x7f)
      out << format("\\x%02x", c);
    else if (c == 0xc2 && next >= 0x80 && next < 0xa0) // U+0080 to U+009F
      out << format("\\x%02x", next), ++i;
    else if (c < 0x80)
      out << text[i];
    else if (unsigned length = getUTF8SequenceSize(text.bytes_begin() + i, text.bytes_end()))
      out << text.substr(i, length), i += length - 1;
    else // not UTF-8
      out << format("\\x%02x", c);
  }
  return result;
}

static void printLabelled(StringRef label, raw_ostream::Colors colour, StringRef text) {
  clearLine();
  if (coloured())
    errs().changeColor(colour, /*Bold=*/true);
  errs() << label << ": ";
  if (coloured())
    errs().resetColor();
  errs() << printable(text) << "\n";
}

int report(Error error) {
  int exitCode = 0;
  std::lock_guard<std::mutex> lock(lineMutex);
  auto print = [&](ErrorCode code, StringRef message, StringRef hint) {
    printLabelled("error", raw_ostream::RED, ("[F" + Twine(unsigned(code)) + "] " + message).str());
    if (!hint.empty())
      printLabelled("hint", raw_ostream::CYAN, hint);
    exitCode = exitCodeFor(code);
  };
  handleAllErrors(
      std::move(error), [&](const Failure &failure) { print(failure.code, failure.message, failure.hint); },
      [&](const ErrorInfoBase &other) { print(ErrorCode::Internal, other.message(), ""); });
  return exitCode;
}

void printDiagnostic(const LoggedDiagnostic &diagnostic) {
  std::lock_guard<std::mutex> lock(lineMutex);
  switch (diagnostic.severity) {
  case mlir::DiagnosticSeverity::Error:
    printLabelled("error", raw_ostream::RED, diagnostic.text());
    break;
  case mlir::DiagnosticSeverity::Warning:
    printLabelled("warning", raw_ostream::MAGENTA, diagnostic.text());
    break;
  default:
    printLabelled("remark", raw_ostream::CYAN, diagnostic.text());
  }
  for (StringRef note : diagnostic.notes)
    if (note.consume_front("hint: "))
      printLabelled("hint", raw_ostream::CYAN, note);
    else
      printLabelled("note", raw_ostream::CYAN, note);
}

raw_ostream &notes() { return quiet ? nulls() : errs(); }
void silence() { quiet = true; }

std::string spellTimeLeft(double passedSeconds, size_t done, size_t total) {
  constexpr double soon = 5; // nothing is known of the rate before, and nobody asks
  if (passedSeconds < soon || !done || done >= total)
    return "";
  double seconds = passedSeconds / double(done) * double(total - done);
  std::string text;
  raw_string_ostream out(text);
  if (seconds < 60)
    out << format(", %.0f s left", seconds);
  else if (seconds < 3600)
    out << format(", %.0f min left", seconds / 60);
  else
    out << format(", %.1f h left", seconds / 3600);
  return text;
}

void showProgress(StringRef stage, size_t done, size_t total) {
  if (quiet || !onTerminal())
    return;
  std::lock_guard<std::mutex> lock(lineMutex);
  using Clock = std::chrono::steady_clock;
  static std::string shown;
  static Clock::time_point start;
  if (shown != stage)
    shown = stage.str(), start = Clock::now();
  errs() << "\r\x1b[K" << stage;
  if (total)
    errs() << " " << done << "/" << total
           << spellTimeLeft(std::chrono::duration<double>(Clock::now() - start).count(), done, total);
  lineShown = true;
}

void clearProgress() {
  std::lock_guard<std::mutex> lock(lineMutex);
  clearLine();
}

std::string spellBytes(uint64_t bytes) {
  std::string text;
  raw_string_ostream out(text);
  if (bytes < 1000)
    out << bytes << " B";
  else if (bytes < 1000000)
    out << format("%.1f kB", bytes / 1e3);
  else if (bytes < 1000000000)
    out << format("%.1f MB", bytes / 1e6);
  else
    out << format("%.2f GB", bytes / 1e9);
  return text;
}

} // namespace fathom
