// Manual pages of the tool and its commands, as roff for man(1).
#include "compiler/driver/Manifest.h"
#include "tools/fathom/help/ShellHelp.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace fathom {

// Text as roff prints it: no hyphens for minus signs, no requests at the beginning of lines.
static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text) {
    if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

static void printHead(const Twine &page, StringRef summary, raw_ostream &out) {
  out << ".TH " << StringRef(page.str()).upper() << " 1 \"\" \"fathom " << compilerVersion << "\" \"User Commands\"\n"
      << ".SH NAME\n"
      << escaped(page.str()) << " \\- " << escaped(summary) << "\n";
}

static void printOption(const Option &option, raw_ostream &out) {
  out << ".TP\n.B ";
  if (option.letter)
    out << "\\-" << option.letter << ", ";
  out << "\\-\\-" << escaped(option.name);
  if (!option.value.empty())
    out << " \\fI" << escaped(option.value) << "\\fR";
  out << "\n" << escaped(option.help);
  if (!option.fallback.empty())
    out << " (default: " << escaped(option.fallback) << ")";
  out << "\n";
}

void printManPage(const Command &command, raw_ostream &out) {
  printHead("fathom-" + command.name, command.summary, out);
  out << ".SH SYNOPSIS\n.B fathom " << command.name << "\n";
  if (!command.operand.empty())
    out << ".I " << escaped(command.operand) << "\n";
  out << "[options]\n.SH DESCRIPTION\n";
  // Lines of a table stay lines; those of a paragraph flow.
  bool isTable = command.details.contains("   ");
  out << (isTable ? ".nf\n" : "") << escaped(command.details) << (isTable ? "\n.fi\n" : "\n") << ".SH OPTIONS\n";
  for (const Option &option : optionTable())
    if (option.commands & command.bit)
      printOption(option, out);
  out << ".SH SEE ALSO\n.BR fathom (1)\n";
}

void printManPage(raw_ostream &out) {
  printHead("fathom", "compile ONNX models to native code, run and measure them", out);
  out << ".SH SYNOPSIS\n.B fathom\n.I COMMAND\n[options]\n.SH COMMANDS\n";
  for (const Command &command : commandTable())
    out << ".TP\n.BR fathom\\-" << command.name << " (1)\n" << escaped(command.summary) << "\n";
  out << ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning &code : exitCodes())
    out << ".TP\n.B " << code.number << "\n" << escaped(code.meaning) << "\n";
  out << ".SH ENVIRONMENT\n";
  for (auto [name, meaning] :
       {std::pair("FATHOM_NUM_THREADS", "threads of a run where --threads does not say"),
        std::pair("FATHOM_DB", "the database of schedules where --db does not say"),
        std::pair("FATHOM_PYTHON", "the interpreter for what needs Python"), std::pair("NO_COLOR", "no colours")})
    out << ".TP\n.B " << name << "\n" << escaped(meaning) << "\n";
}

} // namespace fathom
