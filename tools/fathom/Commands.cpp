// Command lines against the table of options: parsing, help and the reference of the documentation.
#include "tools/fathom/Commands.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include <algorithm>

using namespace llvm;

namespace fathom {

static const Command commands[] = {
    {CompileBit, "compile", "MODEL.onnx", "compile an ONNX model to one file of native code",
     "Writes an artifact that 'fathom run', the runtime library and Python load. The report goes to stderr.",
     compileCommand},
    {RunBit, "run", "MODEL.fathom", "run a compiled model",
     "Inputs that are not given are random but the same for the same seed: floating-point ones normal, integers small\n"
     "enough to be indices.",
     runCommand},
    {BenchBit, "bench", "MODEL", "measure how long a run takes",
     "MODEL is a compiled model, or an ONNX model that is compiled for this machine first. Sizes that --dim does not\n"
     "give are those that the model was compiled to be good at, or 1.",
     benchCommand},
    {VerifyBit, "verify", "MODEL.onnx", "compare the compiled model's outputs with a reference's",
     "Compiles for this machine, runs on given or random inputs and prints the largest errors of every output. On a\n"
     "mismatch (exit code 4) it finds the first node whose result diverges.",
     verifyCommand},
    {QuantizeBit, "quantize", "MODEL.onnx", "turn a model of 32-bit floats into one of 8-bit numbers",
     "Runs the model on samples of its inputs (--calibrate) to see which range each value has, and writes ONNX with\n"
     "QuantizeLinear and DequantizeLinear around what computes with 8 bits, which others can run too. Prints what\n"
     "stays in floating point and why, and the error of every output on the samples.",
     quantizeCommand},
    {CheckBit, "check", "MODEL.onnx", "list everything in a model that cannot be compiled",
     "Lists every unsupported operator, attribute and type at once (exit code 3), with the nodes' names and hints.",
     checkCommand},
    {InspectBit, "inspect", "MODEL.fathom", "show what is in a compiled model",
     "Reads the file without loading it, so it works for models compiled for other machines too.", inspectCommand},
    {ExplainBit, "explain", "MODEL", "show what became of every node, and what each kernel does",
     "MODEL is a compiled model, or an ONNX model that is compiled for this machine first. For every\n"
     "kernel: its nodes and why they are together or apart, and in their types; its algorithm, stages, schedule,\n"
     "operations and bytes; where the cycles go that it is estimated to take; why it is sequential, where it has one "
     "task or elements wait for others; and\n"
     "with --run its time and its share of what this machine could do.",
     explainCommand},
    {PlanBit, "plan", "knobs|calibration", "list what a plan's schedules can say, or what their costs come from",
     "knobs: for every class of kernels the numbers of its schedules in a plan (fathom compile --emit plan), with "
     "their\nranges and meanings. calibration: the constants of cost models, with what they were fitted to; those of a "
     "machine\nwith --target.",
     planCommand},
    {PassesBit, "passes", "[MODEL.onnx]", "print the pipeline of passes that models take, or what each does to a model",
     "Without a model: the text that fathom compile --passes takes, to be edited, or with --list all passes. With a\n"
     "model it runs the pipeline and tells of each pass whether it applies and why not, how many ops of which kinds "
     "there\nwere before and after it, and its time.",
     passesCommand},
    {DiffBit, "diff", "A B", "show what two plans, or two compiled models, decide otherwise",
     "A and B are plans (fathom compile --emit plan) or compiled models, which have theirs in them. Kernel by kernel: "
     "what\nonly one of them has, other classes, other ops, other numbers in schedules, and other layouts. Exit code 4 "
     "if\nanything differs.",
     diffCommand},
    {TuneBit, "tune", "MODEL.onnx", "find faster schedules for a model's kernels, and keep them",
     "Measures candidates of every kernel that takes a share of the time, or with --tune static analyses their code, "
     "and "
     "tells what was gained. "
     "What\nwas measured goes into the database of schedules, from which 'fathom compile' takes it; with --output the "
     "plan is\nwritten too. Ctrl-C keeps what was found so far.",
     tuneCommand},
    {CalibrateBit, "calibrate", "[MODEL.onnx...]", "fit the models that estimate costs to measurements of this machine",
     "Measures schedules of the models' kernels, drawn from their whole spaces, analyses their code, and fits the\n"
     "coefficients with which 'fathom tune --tune static' scores it. Tells how well they order the schedules of "
     "kernels "
     "that\nthey were not fitted to, beside pure latencies and the draft. --output writes what --calibration takes.",
     calibrateCommand},
    {DatabaseBit, "db", "ACTION [OPERAND]", "show what a database of schedules has, and move it into others",
     "list            one line for every schedule that was found, the best of a kernel first\n"
     "show ENTRY      one of them, named by the beginning of its id, with its kernel\n"
     "export          all of them as lines of JSON\n"
     "import FILE     adds what export wrote ('-' is stdin), or nothing where a line is wrong\n"
     "merge OTHER     adds what another database has\n"
     "prune           removes what was found for other versions of the code generator, and all but the best of a "
     "kernel\n"
     "Of two entries of one schedule, that with more measurements stays, or else the later one.",
     databaseCommand},
    {DoctorBit, "doctor", "", "show versions, CPU, Python packages and GPU driver",
     "What a report of a problem should contain. With --target or --measure it prints the description of a machine\n"
     "instead, which can be edited and given to fathom compile --target FILE.yaml.",
     doctorCommand},
};

ArrayRef<Command> commandTable() { return commands; }

const Command *findCommand(StringRef name) {
  for (const Command &command : commands)
    if (command.name == name)
      return &command;
  return nullptr;
}

StringRef nearestCommand(StringRef name) {
  StringRef best;
  unsigned bestDistance = 3;
  for (const Command &command : commands)
    if (unsigned distance = name.edit_distance(command.name, /*AllowReplacements=*/true, bestDistance);
        distance < bestDistance)
      best = command.name, bestDistance = distance;
  return best;
}

static Error usage(const Command &command, const Twine &message) {
  return fail(usageError, message, "'fathom " + command.name + " --help' lists what it takes");
}

static Error unknownOption(const Command &command, StringRef word) {
  std::string meant = nearestOption(word.ltrim('-').split('=').first, command.bit);
  return usage(command, "unknown option '" + word + "'" + (meant.empty() ? "" : "; did you mean '--" + meant + "'?"));
}

Expected<Arguments> parseArguments(const Command &command, ArrayRef<const char *> words) {
  Arguments arguments;
  bool options = true;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i];
    if (options && word == "--") {
      options = false;
      continue;
    }
    if (!options || !word.starts_with("-") || word == "-") {
      arguments.positional.push_back(word.str());
      continue;
    }
    // --name VALUE, --name=VALUE, -n VALUE, -nVALUE
    bool isLong = word.starts_with("--");
    auto [name, attached] = isLong ? word.drop_front(2).split('=') : std::pair(word.substr(1, 1), word.drop_front(2));
    const Option *option = isLong && name.size() == 1 ? nullptr : findOption(name, command.bit);
    if (!option)
      return unknownOption(command, word);
    bool hasAttached = isLong ? word.contains('=') : !attached.empty();
    if (option->type == OptionType::Flag && hasAttached)
      return usage(command, "option --" + option->name + " takes no value");
    StringRef value = attached;
    if (option->type != OptionType::Flag && !hasAttached) {
      if (i + 1 == words.size())
        return usage(command, "option --" + option->name + " needs a value: " + option->value);
      value = words[++i];
    }
    if (Error error = arguments.options.set(*option, value))
      return usage(command, toString(std::move(error)));
  }
  SmallVector<StringRef> operands;
  command.operand.split(operands, ' ', -1, /*KeepEmpty=*/false);
  bool anyNumber = command.operand.contains("...");
  size_t most = anyNumber ? SIZE_MAX : operands.size(),
         wanted = count_if(operands, [](StringRef word) { return !word.starts_with("["); });
  if (arguments.positional.size() > most)
    return usage(command, "unexpected argument '" + arguments.positional[most] + "'");
  // A list of targets needs no model.
  if (arguments.positional.size() < wanted && arguments.options.text("target") != "help")
    return usage(command, operands[arguments.positional.size()] + " is missing");
  return arguments;
}

Error refuseCompileOptions(const OptionValues &options, StringRef artifact) {
  auto refuse = [&](const Twine &option) {
    return fail(usageError, option + " is for compiling, and '" + artifact + "' is compiled already",
                "give it to 'fathom compile'");
  };
  for (const Option &option : optionTable())
    if (option.python && !(option.commands & RunBit) && options.has(option.name))
      return refuse("--" + option.name);
  for (const std::string &text : options.all("dim"))
    if (StringRef(text).rsplit('=').second.contains(".."))
      return refuse("the range --dim " + text);
  return Error::success();
}

static std::string spelling(const Option &option) {
  std::string text = option.letter ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + option.name.str();
  if (!option.value.empty())
    text += " " + option.value.str();
  return text;
}

// The columns of help: those of the terminal that it goes to, or what is comfortable to read.
static size_t helpWidth() {
  size_t columns = sys::Process::StandardOutColumns();
  return columns ? std::clamp<size_t>(columns, 50, 100) : 100;
}

// Words in lines that go on at this column and end before a terminal does.
static void printWrapped(raw_ostream &out, StringRef text, size_t start) {
  const size_t end = helpWidth();
  size_t column = start;
  bool isFirst = true;
  for (StringRef word : split(text, ' ')) {
    if (!isFirst && column + 1 + word.size() > end) {
      out << "\n" << std::string(start, ' ');
      column = start;
    } else if (!isFirst) {
      out << ' ', ++column;
    }
    isFirst = false;
    out << word;
    column += word.size();
  }
  out << "\n";
}

// Paragraphs of a command's explanation flow; lines of a table stay.
static void printDetails(raw_ostream &out, StringRef details) {
  if (details.contains("   ")) {
    out << details << "\n";
    return;
  }
  std::string text = details.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  printWrapped(out, text, 0);
}

ArrayRef<ExitCodeMeaning> exitCodes() {
  static constexpr ExitCodeMeaning codes[] = {{0, "ok"},
                                              {1, "a problem of the model or its files"},
                                              {2, "usage"},
                                              {3, "unsupported"},
                                              {4, "results differ"},
                                              {5, "device"},
                                              {70, "a bug of Fathom"}};
  return codes;
}

void printHelp(raw_ostream &out) {
  out << "fathom compiles ONNX models to native code.\n\nusage: fathom COMMAND ...\n\n";
  for (const Command &command : commands)
    printWrapped(out << formatv("  {0,-9}  ", command.name), command.summary, 13);
  out << "\n'fathom COMMAND --help' says more about each. 'fathom --version' prints the version.\n\n";
  std::string codes = "exit codes:";
  for (const ExitCodeMeaning &code : exitCodes())
    codes += formatv("{0} {1} {2}", code.number ? "," : "", code.number, code.meaning);
  printWrapped(out, codes, 0);
}

void printHelp(const Command &command, raw_ostream &out) {
  // A narrow terminal has the explanations below the names.
  const size_t optionColumn = helpWidth() < 70 ? 8 : 32;
  out << "usage: fathom " << command.name << (command.operand.empty() ? "" : " ") << command.operand
      << " [options]\n\n";
  printWrapped(out, command.summary, 0);
  out << "\n";
  printDetails(out, command.details);
  out << "\noptions:\n";
  for (const Option &option : optionTable()) {
    if (!(option.commands & command.bit))
      continue;
    std::string name = spelling(option);
    out << "  " << name;
    // A long spelling has a line of its own.
    if (name.size() + 4 > optionColumn)
      out << "\n" << std::string(optionColumn, ' ');
    else
      out << std::string(optionColumn - 2 - name.size(), ' ');
    printWrapped(out, option.help.str() + (option.fallback.empty() ? "" : " (default: " + option.fallback.str() + ")"),
                 optionColumn);
  }
  out << "  -h, --help                    this text\n";
}

void printReference(raw_ostream &out) {
  for (const Command &command : commands) {
    out << "### fathom " << command.name << "\n\n```\n";
    printHelp(command, out);
    out << "```\n\n";
  }
}

void printPythonReference(raw_ostream &out) {
  out << "| keyword | value | default | meaning |\n|---|---|---|---|\n";
  for (const Option &option : optionTable()) {
    if (!option.python || option.name == "output")
      continue;
    std::string name = option.name.str(), value = option.value.str();
    std::replace(name.begin(), name.end(), '-', '_');
    for (size_t at = 0; (at = value.find('|', at)) != std::string::npos; at += 2)
      value.insert(at, "\\");
    out << "| `" << name << "` | " << value << " | " << option.fallback << " | " << option.help << " |\n";
  }
}

void printJson(json::Value value, bool oneLine) {
  // Of all that the tool prints: raised when something is renamed, removed or means something else.
  if (json::Object *object = value.getAsObject())
    object->try_emplace("schema_version", 1);
  if (oneLine)
    outs() << value << "\n";
  else
    outs() << formatv("{0:2}", value) << "\n";
}

std::string programPath() { return sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&programPath)); }

} // namespace fathom
