// The table of options and what they mean for the compiler.
#include "compiler/driver/Options.h"

#include "compiler/driver/Compilation.h"
#include "compiler/passes/gradient/Request.h"
#include "compiler/target/TargetList.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace mlir;

namespace fathom {

static constexpr unsigned keepsSchedules = CompileBit | BenchBit | VerifyBit | ExplainBit | TuneBit;
static constexpr unsigned goesOn = CompileBit | BenchBit | VerifyBit | ExplainBit; // from the text of a stage
static constexpr unsigned compiles = keepsSchedules | CalibrateBit;
static constexpr unsigned tellsPasses = compiles | OptBit | PassesBit;
static constexpr unsigned runs = RunBit | BenchBit | VerifyBit | ExplainBit;

static const Option table[] = {
    {"output", 'o', OptionType::File, "FILE", "", CompileBit | DatabaseBit | TuneBit | CalibrateBit, false, true,
     "where the artifact goes (without it MODEL.fathom, in this folder), or text that would be printed ('-' is "
     "stdout); "
     "it appears only when it is whole"},
    {"output", 'o', OptionType::File, "FILE", "", QuantizeBit, false, false,
     "where the quantised model goes (without it MODEL.int8.onnx, in this folder), with weights of more than 1 GiB "
     "beside it in FILE.data; it appears only when it is whole"},
    {"calibrate", 0, OptionType::File, "DATA", "", QuantizeBit, false, false,
     "samples to take ranges from: an .npz file or a folder of them, with the inputs' names as keys; a folder of .npy "
     "files, where there is one input; or one such folder for each input, with its name"},
    {"method", 0, OptionType::Choice, "minmax|percentile|entropy", "minmax", QuantizeBit, false, false,
     "what of its numbers a value's range is: all, all but those that lie outermost (--percentile), or those whose "
     "levels keep the distribution best"},
    {"percentile", 0, OptionType::Number, "P", "99.99", QuantizeBit, false, false,
     "with --method percentile: P percent of the numbers are within, and half of the rest beyond either end"},
    {"max-error", 0, OptionType::Number, "E", "", QuantizeBit, false, false,
     "leave operators in floating point, the most sensitive first, until the relative error of every output on the "
     "samples is at most E"},
    {"keep-float", 0, OptionType::Text, "NODE", "", QuantizeBit, true, false,
     "leave this Conv, MatMul or Gemm in floating point; it may be given again for others"},
    {"per-tensor", 0, OptionType::Flag, "", "", QuantizeBit, false, false,
     "one scale for all weights of an operator instead of one for each channel"},
    {"no-bias-correction", 0, OptionType::Flag, "", "", QuantizeBit, false, false,
     "do not add to biases what quantised operators lack on average"},
    {"memory", 0, OptionType::Number, "MIB", "512", QuantizeBit, false, false,
     "how much the values may take that are looked at in one run; the model runs several times where they take more"},
    {"target", 't', OptionType::Text, "TARGET", "host", tellsPasses | DoctorBit | PlanBit, false, true,
     "the machine to compile for: host, a CPU's name, TRIPLE:CPU, a description FILE.yaml, or a device: opencl, cuda "
     "or cuda:sm_90, with @CPU behind it where its host is not like this one; 'help' lists the CPUs. Several CPUs of "
     "one "
     "architecture with commas between them: an artifact with code for each, of which the best that a machine can run "
     "is "
     "taken"},
    {"emit", 0, OptionType::Choice, "graph|plan|kernels|cost|loops|llvm|asm", "", CompileBit, false, true,
     "stop at this stage and print what it has, to stdout or to the file of --output"},
    {"passes", 0, OptionType::Text, "PIPELINE", "", compiles | PassesBit, false, true,
     "the passes from the imported graph to kernels, as text; 'fathom passes' prints the default, and with --list what "
     "there is; or a policy (none, O0 to O3, paper-bl, auto, ...), or with:PASS,... for passes to be completed by what "
     "they need, or default+PASS+... for the default with more on the graph"},
    {"loss", 0, OptionType::Text, "[FUNCTION:]OUTPUT[:INPUT]", "", CompileBit | BenchBit | TuneBit, false, true,
     "compile the gradients of an output instead of the model: OUTPUT, which is one number, or sum:OUTPUT, "
     "mean:OUTPUT, "
     "mse:OUTPUT:INPUT or cross-entropy:OUTPUT:INPUT, with an input of targets or of classes; the results are the loss "
     "and NAME.gradient for each of --wrt"},
    {"wrt", 0, OptionType::Text, "NAME,...|weights", "weights", CompileBit | BenchBit | TuneBit, false, true,
     "what gradients are taken of: inputs and weights; these become inputs of the artifact"},
    {"curvature", 0, OptionType::Flag, "", "", CompileBit | BenchBit | TuneBit, false, true,
     "also second derivatives: each of --wrt has an input NAME.direction, and NAME.curvature is what the gradient "
     "changes by along all directions"},
    {"memory-budget", 0, OptionType::Number, "MIB", "0", CompileBit | BenchBit | TuneBit, false, true,
     "with --loss: compute values once more where gradients need them, instead of keeping them, until a step needs no "
     "more memory than this at a time; 0: keep all"},
    {"train", 0, OptionType::Text, "sgd:lr=RATE,...|adam:lr=RATE,...|adamw:lr=RATE,...", "",
     CompileBit | BenchBit | TuneBit, false, true,
     "compile a training step: the results are the loss and each of --wrt as the optimizer changes it, with what it "
     "remembers; sgd takes momentum=, decay= and nesterov, the others beta1=, beta2=, epsilon= and decay=; lr=input "
     "makes "
     "the rate an input"},
    {"plan", 0, OptionType::File, "FILE", "", tellsPasses, false, true,
     "take layouts, kernels and schedules from a plan that --emit plan wrote"},
    {"graph", 0, OptionType::File, "FILE", "", goesOn, false, true,
     "go on from the text that --emit graph printed of this model, changed by hand perhaps"},
    {"kernels", 0, OptionType::File, "FILE", "", goesOn, false, true, "the same, from what --emit kernels printed"},
    {"loops", 0, OptionType::File, "FILE", "", goesOn, false, true,
     "take the loops of kernels from there, as --emit loops prints them: all of them, or those that were changed"},
    {"llvm", 0, OptionType::File, "FILE", "", goesOn, false, true,
     "take the optimised code of kernels from there, as --emit llvm prints it: all of it, or what was changed"},
    {"db", 0, OptionType::Text, "PATH|URL|zoo|none", "", keepsSchedules | DatabaseBit, false, true,
     "the database of schedules, a file, postgresql://... or what comes with fathom (zoo); without it the one that "
     "FATHOM_DB names, or else "
     "fathom/schedules.db in the user's data folder (XDG_DATA_HOME)"},
    {"tune", 0, OptionType::Text, "off|draft|static[:N]|measure[:N]|transfer[:MODEL]", "draft", CompileBit | TuneBit,
     false, true,
     "how schedules are found: not at all, one is fixed for each class of kernels (off); by a draft of their cost, or "
     "what a database knows (draft); by analysing the code of N candidates of each kernel (static), 24 without a "
     "number; by measuring N, or 64, which go into the database; from what a database has of the kernels of another "
     "model (transfer): MODEL, all of them with 'all', or the one that goes best with this one"},
    {"choices", 0, OptionType::Text, "KIND,...|none", "algorithm,fusion,growth", CompileBit | TuneBit, false, true,
     "what else of the model is chosen anew with --tune static or measure: the algorithms of convolutions and products "
     "(algorithm), what is computed together (fusion), also such that make weights larger than they are without tuning "
     "(growth), up to --max-weight-growth"},
    {"search", 0, OptionType::Text, "random|descent|evolution|genetic|construct|autotvm|chameleon", "descent",
     CompileBit | TuneBit, false, true,
     "what the second half of measured schedules is found by; the first is what is estimated to be fastest"},
    {"show-search", 0, OptionType::Flag, "", "", CompileBit | TuneBit, false, false,
     "print what the search looks at by itself, and its estimate, to stderr"},
    {"tune-time", 0, OptionType::Number, "SECONDS", "0", CompileBit | TuneBit, false, true,
     "begin to measure no other candidates after so long; 0: all of them"},
    {"apart", 0, OptionType::Flag, "", "", CompileBit | TuneBit, false, true,
     "take what is faster apart from the model, without comparing whole models"},
    {"part", 0, OptionType::Text, "I/N", "1/1", TuneBit, false, false,
     "only the Ith of N parts of the kernels: for several machines that share the work"},
    {"ray", 0, OptionType::Text, "ADDRESS", "", TuneBit, false, false,
     "tune on the machines of a cluster of Ray, and gather in the database what they find: HOST:PORT, ray://HOST:PORT, "
     "auto (what RAY_ADDRESS names), or local, a cluster of this machine alone"},
    {"ray-tasks", 0, OptionType::Integer, "N", "1", TuneBit, false, false,
     "with --ray: tasks that the kernels are divided into"},
    {"ray-cpus", 0, OptionType::Number, "N", "1", TuneBit, false, false,
     "with --ray: CPUs that each task has to itself; to measure, all that a machine has"},
    {"again", 0, OptionType::Flag, "", "", TuneBit, false, false,
     "measure also what the database has times of; without it, tuning goes on where it ended"},
    {"tune-threads", 0, OptionType::Integer, "N", "1", CompileBit | TuneBit | CalibrateBit, false, true,
     "threads of a kernel that is measured; 0: all CPUs"},
    {"measure-on", 0, OptionType::Text, "ssh://HOST", "", CompileBit | TuneBit | CalibrateBit, false, true,
     "measure there: ssh://[USER@]HOST[:PORT][/FOLDER]; without it on this machine"},
    {"calibration", 0, OptionType::File, "FILE.yaml", "", keepsSchedules, false, true,
     "what costs are estimated with, as fathom calibrate found it for the target: coefficients of scores and constants "
     "of drafts"},
    {"samples", 0, OptionType::File, "FILE", "", CalibrateBit, false, false,
     "keep what is measured there, and measure nothing that it has; without a model, fit to what it has"},
    {"analyse-again", 0, OptionType::Flag, "", "", CalibrateBit, false, false,
     "ask the models again about the samples that there are, as after a change of the compiler; times stay"},
    {"draft", 0, OptionType::Flag, "", "", CalibrateBit, false, false,
     "fit the constants of drafts too, of those classes of kernels that the models have"},
    {"class", 0, OptionType::Text, "CLASS", "", CalibrateBit, true, false,
     "measure kernels of this class alone ('fathom plan knobs' lists them); it may be given again for others"},
    {"trials", 0, OptionType::Integer, "N", "32", CalibrateBit, false, false,
     "schedules of each kernel to measure, drawn from its whole space"},
    {"keep", 0, OptionType::Integer, "N", "10", DatabaseBit, false, false,
     "how many schedules of a kernel and machine 'prune' keeps"},
    {"fp", 0, OptionType::Choice, "strict|fast|fastest", "fast", tellsPasses, false, true,
     "floating point: strict has math functions within 1 ulp; fast within 4, and every element keeps a bound of its "
     "own "
     "(convolutions in Winograd's tiles); fastest adds rows to each other, so that small ones lose (Strassen's "
     "method)"},
    {"precision", 0, OptionType::Choice, "fp32|tf32|fp16|bf16", "fp32", tellsPasses, false, true,
     "what products and convolutions of 32-bit floats take their factors as, on GPUs: what they are (fp32), with 10 "
     "bits of a fraction (tf32), or as 16-bit floats, which is then what the model's weights and what its products "
     "hand on are in memory, too (fp16, bf16); sums are of 32 bits, inputs and outputs what the model has"},
    {"conv-algorithm", 0, OptionType::Choice,
     "auto|contract|direct|gemm|spatial_pack|grouped_spatial_pack|winograd2|winograd4|strassen", "auto", tellsPasses,
     false, true,
     "the algorithm of convolutions, wherever it is possible: the cheapest; products that read in place (direct), that "
     "pack their rows (gemm), or the cheaper of the two (contract); tiles of a row's pixels, without and with groups; "
     "Winograd's in tiles of 2 or 4 pixels (not with --fp strict); Strassen's for windows of one pixel (with --fp "
     "fastest only)"},
    {"matmul-algorithm", 0, OptionType::Choice, "auto|contract|strassen", "auto", tellsPasses, false, true,
     "the algorithm of matrix products with constant weights, wherever it is possible: the cheaper; rows by columns "
     "(contract); Strassen's, which multiplies an eighth less (with --fp fastest only)"},
    {"max-weight-growth", 0, OptionType::Number, "PERCENT", "50", tellsPasses, false, true,
     "how much weights that are transformed ahead may add to the model's"},
    {"fold-budget", 0, OptionType::Number, "FACTOR", "1", tellsPasses, false, true,
     "how much is computed from constants ahead: FACTOR times a budget of 32 MiB and three times the model's weights; "
     "what is beyond it is computed in every run"},
    {"weights", 0, OptionType::Text, "seed:N", "", CompileBit | BenchBit, false, true,
     "leave the weights out; the runtime makes them up from the seed N, for benchmarks"},
    {"dim", 0, OptionType::Text, "NAME=SIZE", "", compiles | PassesBit | RunBit | CheckBit, true, true,
     "a symbolic dimension's size, or the range NAME=MIN..MAX[,opt=SIZE] to compile for and to be good at; INPUT.AXIS "
     "names one without a name; without a range it is 1 or more"},
    {"shape", 0, OptionType::Text, "INPUT:1..8x3x224", "", compiles | PassesBit | CheckBit, true, true,
     "sizes or ranges of all dimensions of an input"},
    {"jobs", 'j', OptionType::Integer, "N", "0", compiles | PassesBit, false, true,
     "threads of the compiler; 0: all CPUs"},
    {"threads", 0, OptionType::Integer, "N", "0", runs | QuantizeBit, false, false,
     "threads of a run; 0: FATHOM_NUM_THREADS, or else all CPUs; results do not depend on it"},
    {"device", 0, OptionType::Integer, "N", "", runs, false, false,
     "of a model for devices: the number of the one to run on, from 0; default: FATHOM_DEVICE, or else the first"},
    {"input", 'i', OptionType::Text, "NAME=@FILE.npy", "", runs, true, false,
     "an input's values; inputs that are not given are random"},
    {"output-dir", 0, OptionType::File, "DIR", "", RunBit, false, false,
     "write DIR/NAME.npy for every output, with _ for / in names"},
    {"seed", 0, OptionType::Integer, "N", "0", runs | CalibrateBit, false, false,
     "of the random inputs, or of the schedules that are drawn"},
    {"min-time", 0, OptionType::Number, "SECONDS", "1", BenchBit, false, false, "measure for at least this long"},
    {"warm-up", 0, OptionType::Number, "SECONDS", "0.2", BenchBit, false, false, "run this long before measuring"},
    {"throughput", 0, OptionType::Flag, "", "", BenchBit, false, false,
     "measure runs a second instead, with several runs at a time: settings of streams and threads are tried for the "
     "time of --warm-up twice each, and the best is measured"},
    {"streams", 0, OptionType::Integer, "N", "0", BenchBit, false, false,
     "with --throughput: so many runs at a time; 0: what is best, or as many as there are CPUs for with --threads"},
    {"measure", 0, OptionType::Flag, "", "", DoctorBit, false, false,
     "describe this machine with the rates at which its caches and its memory are read, measured now"},
    {"profile", 0, OptionType::File, "TRACE.json", "", BenchBit, false, false,
     "write one more run as a Chrome trace, with the ONNX nodes of every kernel"},
    {"against", 0, OptionType::Choice, "onnxruntime|reference", "onnxruntime", VerifyBit, false, false,
     "what to compare with: ONNX Runtime, or ONNX's reference implementation"},
    {"rtol", 0, OptionType::Number, "R", "", VerifyBit, false, false,
     "tolerated error relative to each value; without it and --atol 1e-3, or what follows from the types that it was "
     "rounded to on its way"},
    {"atol", 0, OptionType::Number, "R", "", VerifyBit, false, false,
     "tolerated error relative to the largest magnitude of each value's row, column or channel: the smallest of these; "
     "without it and --rtol 1e-4, or the same"},
    {"layers", 0, OptionType::Flag, "", "", VerifyBit, false, false,
     "compare every node's outputs too, and print them with their errors in units of what their types and the "
     "roundings on the way allow, the worst first"},
    {"no-bisect", 0, OptionType::Flag, "", "", VerifyBit, false, false,
     "on a mismatch do not look for the first node that diverges"},
    {"check", 0, OptionType::Flag, "", "", RunBit | BenchBit, false, false,
     "compare the artifact's code and weights with its checksum before they are used; 'fathom inspect' always does"},
    {"variant", 0, OptionType::Text, "CPU", "", InspectBit | ExplainBit | DiffBit, false, false,
     "of an artifact for several CPUs, the one to tell of; without it the one that this machine takes, or else the "
     "first"},
    {"list", 0, OptionType::Flag, "", "", PassesBit, false, false,
     "list all passes: what they do, what they need of the graph, and what they give to it"},
    {"example", 0, OptionType::Text, "PASS", "", PassesBit, false, false,
     "print a small graph before and after a pass"},
    {"examples", 0, OptionType::Flag, "", "", PassesBit, false, false,
     "print such a graph for each pass, as docs/reference/pass-examples.md has them"},
    {"pairs", 0, OptionType::Flag, "", "", PassesBit, false, false,
     "tell which passes do something where they run twice on the model, and which pairs in the other order do "
     "otherwise"},
    {"why", 0, OptionType::Flag, "", "", PassesBit, false, false,
     "run no pass, but tell what kind of network the model is, and which passes of the pipeline cannot change it "
     "wherever they run, and why"},
    {"html", 0, OptionType::File, "FILE.html", "", ExplainBit, false, false,
     "write instead one page for a browser: the time of the kernels, estimated and with --run measured, in pictures; "
     "what "
     "each is and why it is not faster; and what tuning changed where schedules are from a database"},
    {"top", 0, OptionType::Integer, "N", "20", ExplainBit, false, false,
     "of many kernels, the N that take most; 0: all"},
    {"kernel", 0, OptionType::Text, "NAME", "", ExplainBit, false, false,
     "tell of this kernel alone, all that is known"},
    {"node", 0, OptionType::Text, "NAME", "", ExplainBit, false, false,
     "the same of the kernels that compute this node"},
    {"cost", 0, OptionType::Text, "KERNEL", "", ExplainBit, false, false,
     "print instead what a kernel of an ONNX model costs by its own code, nothing run: its loops, the memory they "
     "touch "
     "and move through each cache, instructions, cycles and what bounds them (a name of --emit plan)"},
    {"run", 0, OptionType::Flag, "", "", ExplainBit, false, false,
     "run the model and tell the time of every kernel, beside what this machine could do at most; with --cost, of that "
     "kernel alone"},
    {"json", 0, OptionType::Flag, "", "",
     compiles | PassesBit | RunBit | CheckBit | InspectBit | DoctorBit | DiffBit | DatabaseBit | QuantizeBit, false,
     false, "print the result as one line of JSON"},
    {"quiet", 'q', OptionType::Flag, "", "", compiles | RunBit | DatabaseBit | QuantizeBit, false, false,
     "print no report and no progress"},
};

ArrayRef<Option> optionTable() { return table; }

const Option *findOption(StringRef name, unsigned command) {
  for (const Option &option : table)
    if ((option.commands & command) && (name == option.name || (name.size() == 1 && name[0] == option.letter)))
      return &option;
  return nullptr;
}

std::string nearestOption(StringRef name, unsigned command) {
  StringRef best;
  unsigned bestDistance = 3;
  for (const Option &option : table) {
    unsigned distance = name.edit_distance(option.name, /*AllowReplacements=*/true, bestDistance);
    if ((option.commands & command) && distance < bestDistance)
      best = option.name, bestDistance = distance;
  }
  return best.str();
}

static llvm::Error wrong(const Option &option, StringRef text, const Twine &expected) {
  return llvm::createStringError("option --" + option.name + ": '" + text + "' is not " + expected);
}

// SIZE, MIN..MAX or MIN..MAX,opt=SIZE; sizes are those that a tensor's dimension may have.
static std::optional<DimRange> parseRange(StringRef text) {
  auto [range, likely] = text.split(",opt=");
  auto [low, high] = range.split("..");
  DimRange parsed;
  if (low.getAsInteger(10, parsed.min) || parsed.min < 0)
    return std::nullopt;
  parsed.max = parsed.min;
  if ((range.contains("..") && high.getAsInteger(10, parsed.max)) || parsed.max < parsed.min || parsed.max > INT32_MAX)
    return std::nullopt;
  if (text.contains(',') &&
      (likely.getAsInteger(10, parsed.likely) || parsed.likely < parsed.min || parsed.likely > parsed.max))
    return std::nullopt;
  return parsed;
}

static bool isRange(StringRef text) { return text.contains(".."); }

// The first of these ranges whose minimum is above its maximum, or an empty string.
static StringRef findEmptyRange(ArrayRef<StringRef> ranges) {
  for (StringRef range : ranges) {
    auto [low, high] = range.split("..");
    int64_t min, max;
    if (!low.getAsInteger(10, min) && !high.getAsInteger(10, max) && min > max)
      return range;
  }
  return "";
}

static llvm::Error checkRanges(const Option &option, StringRef text) {
  bool isDim = option.name == "dim";
  auto [given, opt] = text.split(",opt=");
  auto [name, sizes] = given.rsplit(isDim ? '=' : ':');
  SmallVector<StringRef> ranges;
  sizes.split(ranges, 'x');
  StringRef empty = findEmptyRange(ranges);
  if (!empty.empty())
    return llvm::createStringError("option --" + option.name + ": the range " + empty + " of '" + name +
                                   "' is empty, its minimum is above its maximum");
  std::optional<DimRange> range = isDim ? parseRange(sizes) : std::nullopt;
  int64_t likely;
  if (range && !opt.getAsInteger(10, likely) && (likely < range->min || likely > range->max))
    return llvm::createStringError("option --dim: the size opt=" + opt + " to be good at lies outside the range " +
                                   sizes + " of '" + name + "'");
  return llvm::Error::success();
}

// NAME=SIZE or NAME=MIN..MAX.
static std::optional<std::pair<StringRef, DimRange>> parseDim(StringRef text) {
  size_t opt = text.find(",opt=");
  auto [name, range] = text.take_front(opt).rsplit('=');
  std::optional<DimRange> parsed = name.empty() ? std::nullopt : parseRange(text.drop_front(name.size() + 1));
  return parsed ? std::optional(std::pair(name, *parsed)) : std::nullopt;
}

// INPUT:SIZExMIN..MAXx..., with nothing behind the colon for a scalar.
static std::optional<std::pair<StringRef, std::vector<DimRange>>> parseShape(StringRef text) {
  auto [name, sizes] = text.rsplit(':');
  std::vector<DimRange> shape;
  SmallVector<StringRef> parts;
  if (!text.ends_with(":"))
    sizes.split(parts, 'x');
  for (StringRef part : parts)
    if (std::optional<DimRange> range = parseRange(part))
      shape.push_back(*range);
    else
      return std::nullopt;
  return name.empty() ? std::nullopt : std::optional(std::pair(name, shape));
}

static std::optional<uint64_t> parseSeed(StringRef text) {
  uint64_t seed;
  if (!text.consume_front("seed:") || text.getAsInteger(10, seed))
    return std::nullopt;
  return seed;
}

struct TuneWords {
  tune::Mode mode;
  size_t trials = 0;       // of each kernel
  std::string source = {}; // of schedules: a model, or all
};

// off, draft, a word and perhaps a number, or a word and perhaps a name.
static std::optional<TuneWords> parseTune(StringRef text) {
  constexpr size_t most = 100000;
  if (text == "off" || text == "draft")
    return TuneWords{text == "off" ? tune::Mode::Off : tune::Mode::Draft};
  auto [word, rest] = text.split(':');
  if (text.contains(':') && rest.empty())
    return std::nullopt;
  if (word == "transfer")
    return TuneWords{.mode = tune::Mode::Transfer, .source = rest.str()};
  // Whoever analyses is in a hurry: 64 candidates find 1 % more than 24.
  TuneWords words{tune::Mode::Measure, 64};
  if (word == "static")
    words = {tune::Mode::Static, 24};
  if (word != "static" && word != "measure")
    return std::nullopt;
  if (!rest.empty() && (rest.getAsInteger(10, words.trials) || words.trials < 1 || words.trials > most))
    return std::nullopt;
  return words;
}

// Kinds with commas between them, or none.
static std::optional<std::vector<SiteKind>> parseChoices(StringRef text) {
  std::vector<SiteKind> kinds;
  SmallVector<StringRef> words;
  if (text != "none")
    text.split(words, ',');
  for (StringRef word : words) {
    auto kind = llvm::find_if(siteKinds, [&](SiteKind kind) { return name(kind) == word; });
    if (kind == std::end(siteKinds))
      return std::nullopt;
    kinds.push_back(*kind);
  }
  return kinds;
}

// Of N parts, the Ith: from 0 on, where the text counts from 1.
static std::optional<std::pair<size_t, size_t>> parsePart(StringRef text) {
  constexpr size_t most = 100000;
  size_t part, parts;
  auto [left, right] = text.split('/');
  if (left.getAsInteger(10, part) || right.getAsInteger(10, parts) || part < 1 || part > parts || parts > most)
    return std::nullopt;
  return std::pair(part - 1, parts);
}

llvm::Error OptionValues::set(const Option &option, StringRef text) {
  auto &values = given[option.name];
  if (!values.empty() && !option.repeats)
    return llvm::createStringError("option --" + option.name + " is given twice");
  int64_t integer;
  double number;
  switch (option.type) {
  case OptionType::Integer:
    if (text.getAsInteger(10, integer) || integer < 0 || integer > INT32_MAX)
      return wrong(option, text, "a whole number from 0 to " + Twine(INT32_MAX));
    break;
  case OptionType::Number:
    if (text.getAsDouble(number) || !std::isfinite(number) || number < 0)
      return wrong(option, text, "a number of at least 0");
    break;
  case OptionType::Choice:
    if (SmallVector<StringRef> words; option.value.split(words, '|'), !llvm::is_contained(words, text))
      return wrong(option, text, "one of " + llvm::join(words, ", "));
    break;
  case OptionType::Text:
  case OptionType::File:
    if (text.empty() || (option.name == "weights" && !parseSeed(text)) || (option.name == "tune" && !parseTune(text)) ||
        (option.name == "search" && !tune::findSearch(text)) || (option.name == "part" && !parsePart(text)))
      return wrong(option, text, option.value);
    if (option.name == "choices" && !parseChoices(text))
      return wrong(option, text, "none, or some of algorithm, fusion and growth, with commas between them");
    if (option.name == "dim" || option.name == "shape")
      if (llvm::Error empty = checkRanges(option, text))
        return empty;
    if (option.name == "dim" && !parseDim(text))
      return wrong(option, text, "NAME=SIZE or NAME=MIN..MAX[,opt=SIZE], with sizes from 0 to " + Twine(INT32_MAX));
    if (option.name == "shape" && !parseShape(text))
      return wrong(option, text, "INPUT:SIZExMIN..MAXx..., with sizes from 0 to " + Twine(INT32_MAX));
    break;
  case OptionType::Flag:
    break;
  }
  values.push_back(text.str());
  return llvm::Error::success();
}

std::string OptionValues::text(StringRef name) const {
  if (auto found = given.find(name); found != given.end())
    return found->second.front();
  for (const Option &option : table)
    if (option.name == name)
      return option.fallback.str();
  return "";
}

int64_t OptionValues::integer(StringRef name) const {
  int64_t value = 0;
  StringRef(text(name)).getAsInteger(10, value);
  return value;
}

double OptionValues::number(StringRef name) const {
  double value = 0;
  StringRef(text(name)).getAsDouble(value);
  return value;
}

std::vector<std::string> OptionValues::all(StringRef name) const {
  auto found = given.find(name);
  return found == given.end() ? std::vector<std::string>() : found->second;
}

llvm::Expected<llvm::StringMap<int64_t>> parseDims(const OptionValues &values) {
  llvm::StringMap<int64_t> dims;
  for (const std::string &text : values.all("dim")) {
    auto [name, range] = *parseDim(text);
    if (isRange(text))
      continue;
    if (!dims.try_emplace(name, range.min).second)
      return llvm::createStringError("option --dim gives '" + name + "' twice");
  }
  return dims;
}

static LogicalResult parseRanges(const OptionValues &values, bool sizesToo, ImportOptions &import, Location loc) {
  for (const std::string &text : values.all("dim")) {
    auto [name, range] = *parseDim(text);
    if (!sizesToo && !isRange(text))
      continue;
    if (!import.dims.try_emplace(name, range).second)
      return emitError(loc, ErrorCode(2001)) << "option --dim gives '" << name << "' twice";
  }
  for (const std::string &text : values.all("shape")) {
    auto [name, shape] = *parseShape(text);
    if (!import.shapes.try_emplace(name, shape).second)
      return emitError(loc, ErrorCode(2001)) << "option --shape gives '" << name << "' twice";
  }
  return success();
}

static LogicalResult readCalibration(StringRef path, CompileOptions &options, Location loc) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return emitError(loc, ErrorCode::FileUnreadable)
           << "cannot read the calibration '" << path << "': " << file.getError().message();
  auto calibration = parseCalibration((*file)->getBuffer(), path);
  if (!calibration)
    return hint(emitError(loc, ErrorCode::BadInput) << llvm::toString(calibration.takeError()),
                "'fathom calibrate MODEL.onnx -o FILE.yaml' writes one");
  if (calibration->target != options.target.spelling())
    emitWarning(loc) << "the calibration '" << path << "' is for " << calibration->target << ", not for "
                     << options.target.spelling();
  options.tuning.coefficients = calibration->score;
  for (const auto &[name, value] : calibration->constants)
    llvm::cantFail(setConstant(options.target.calibration, name, value)); // it was checked as it was read
  return success();
}

static LogicalResult readGradient(const OptionValues &values, CompileOptions &options, Location loc) {
  for (StringRef name : {"wrt", "train", "curvature", "memory-budget"})
    if (values.has(name) && !values.has("loss"))
      return hint(emitError(loc, ErrorCode(2001)) << "option --" << name << " needs --loss",
                  "--loss says what is to be differentiated");
  if (values.has("loss") && values.has("graph"))
    return emitError(loc, ErrorCode(2001)) << "option --graph does not go with --loss";
  options.loss = values.text("loss"), options.train = values.text("train");
  options.curvature = values.flag("curvature");
  options.memoryBudget = int64_t(std::min(values.number("memory-budget"), 1e9) * (1 << 20));
  if (options.curvature && !options.train.empty())
    return hint(emitError(loc, ErrorCode(2001)) << "options --train and --curvature do not go together",
                "an optimizer takes first derivatives alone");
  auto refuse = [&](StringRef option, llvm::Error error) {
    return emitError(loc, ErrorCode(2001))
           << "option --" << option << " " << values.text(option) << ": " << llvm::toString(std::move(error));
  };
  if (values.has("loss"))
    if (auto loss = gradient::parseLoss(options.loss); !loss)
      return refuse("loss", loss.takeError());
  if (values.has("train"))
    if (auto optimizer = gradient::parseOptimizer(options.train); !optimizer)
      return refuse("train", optimizer.takeError());
  SmallVector<StringRef> names;
  if (std::string given = values.text("wrt"); given != "weights") {
    StringRef(given).split(names, ',', -1, /*KeepEmpty=*/false);
    options.wrt.assign(names.begin(), names.end());
  }
  return success();
}

static LogicalResult readPlan(StringRef path, CompileOptions &options, Location loc) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return emitError(loc, ErrorCode::FileUnreadable)
           << "cannot read the plan '" << path << "': " << file.getError().message();
  auto plan = parsePlan((*file)->getBuffer(), path);
  if (!plan)
    return hint(emitError(loc, ErrorCode::BadPlan) << llvm::toString(plan.takeError()),
                "'fathom compile MODEL.onnx --emit plan' prints a plan to start from");
  options.plan = std::move(*plan);
  return success();
}

static LogicalResult readStageTexts(const OptionValues &values, StageTexts &texts, Location loc) {
  const std::pair<StringRef, StageText *> all[] = {
      {"graph", &texts.graph}, {"kernels", &texts.kernels}, {"loops", &texts.loops}, {"llvm", &texts.llvm}};
  for (auto [name, text] : all) {
    if (!values.has(name))
      continue;
    text->path = values.text(name);
    auto file = llvm::MemoryBuffer::getFile(text->path, /*IsText=*/true);
    if (!file)
      return emitError(loc, ErrorCode::FileUnreadable)
             << "cannot read the " << name << " '" << text->path << "': " << file.getError().message();
    text->text = (*file)->getBuffer().str();
  }
  return success();
}

// What is of one target does not go with several.
static LogicalResult checkSeveralTargets(const OptionValues &values, CommandBit command, Location loc) {
  auto refuse = [&](const Twine &what) {
    return LogicalResult(hint(emitError(loc, ErrorCode(2001))
                                  << what << " does not go with several targets ('" << values.text("target") << "')",
                              "give one target at a time"));
  };
  if (!(command & goesOn))
    return refuse("this command");
  for (StringRef name : {"emit", "cost", "plan", "graph", "kernels", "loops", "llvm", "calibration"})
    if (values.has(name))
      return refuse("option --" + name);
  if (parseTune(values.text("tune"))->mode == tune::Mode::Measure)
    return LogicalResult(hint(emitError(loc, ErrorCode(2001))
                                  << "option --tune measure does not go with several targets ('"
                                  << values.text("target") << "')",
                              "'fathom tune' measures for this machine, and what it finds is taken from the database"));
  return success();
}

FailureOr<CompileRequest> makeCompileRequest(const OptionValues &values, MLIRContext &context, CommandBit command) {
  Location loc = UnknownLoc::get(&context);
  auto targets = parseTargets(values.text("target"));
  if (!targets)
    return LogicalResult(emitError(loc, ErrorCode::BadTarget) << llvm::toString(targets.takeError()));
  CompileRequest request;
  CompileOptions &options = request.options;
  options.target = targets->front();
  if (targets->size() > 1) {
    if (failed(checkSeveralTargets(values, command, loc)))
      return failure();
    options.variants = std::move(*targets);
  }
  options.fp = parseFloatMode(values.text("fp"));
  options.precision = std::string(values.text("precision"));
  if (options.precision != "fp32" && options.target.backend == "cpu")
    return LogicalResult(hint(emitError(loc, ErrorCode(2001))
                                  << "option --precision " << options.precision << " does not go with target '"
                                  << options.target.spelling() << "'",
                              "it is for GPUs, as --target cuda:sm_90; on CPUs --passes default+to-mixed-precision has "
                              "factors of 16 bits"));
  options.algorithms = {std::string(values.text("conv-algorithm")), std::string(values.text("matmul-algorithm")),
                        values.number("max-weight-growth") / 100};
  auto refuseAlgorithm = [&](StringRef option, StringRef algorithm, StringRef reason) {
    return LogicalResult(hint(emitError(loc, ErrorCode(2001)) << "option --" << option << " " << algorithm
                                                              << " does not go with --fp " << name(options.fp),
                              reason));
  };
  StringRef convolution = options.algorithms.convolution, product = options.algorithms.product;
  constexpr StringRef winograd = "Winograd's method rounds differently and needs --fp fast";
  constexpr StringRef strassen = "Strassen's method gives small rows the errors of large ones and needs --fp fastest";
  if (options.fp == FloatMode::Strict && convolution.starts_with("winograd"))
    return refuseAlgorithm("conv-algorithm", convolution, winograd);
  if (options.fp != FloatMode::Fastest && convolution == "strassen")
    return refuseAlgorithm("conv-algorithm", convolution, strassen);
  if (options.fp != FloatMode::Fastest && product == "strassen")
    return refuseAlgorithm("matmul-algorithm", product, strassen);
  options.foldBudget = values.number("fold-budget");
  options.database = values.text("db");
  options.threads = values.integer("jobs");
  TuneWords words = *parseTune(values.text("tune"));
  options.tuning.mode = words.mode, options.tuning.trials = words.trials, options.tuning.source = words.source;
  options.tuning.search = values.text("search"), options.tuning.seconds = values.number("tune-time");
  options.tuning.apart = values.flag("apart"), options.tuning.again = values.flag("again");
  options.choices = *parseChoices(values.text("choices"));
  options.tuning.keepsEstimates = command & TuneBit;
  if (command & TuneBit)
    std::tie(options.tuning.part, options.tuning.parts) = *parsePart(values.text("part"));
  options.tuning.runThreads = int(values.integer("tune-threads"));
  if (values.flag("show-search"))
    options.tuning.told = [](StringRef line) { llvm::errs() << line << "\n"; };
  if (values.has("measure-on")) {
    auto machine = tune::parseMachineAddress(values.text("measure-on"));
    if (!machine)
      return LogicalResult(emitError(loc, ErrorCode(2001)) << llvm::toString(machine.takeError()));
    options.tuning.machine.machine = *machine;
  }
  options.stop = llvm::StringSwitch<Stage>(values.text("emit"))
                     .Case("graph", Stage::Graph)
                     .Case("plan", Stage::Plan)
                     .Case("kernels", Stage::Kernels)
                     .Case("cost", Stage::Cost)
                     .Case("loops", Stage::Loops)
                     .Case("llvm", Stage::Llvm)
                     .Case("asm", Stage::Asm)
                     .Default(Stage::Artifact);
  // What is looked at may end anywhere.
  if (command == PassesBit)
    options.stop = Stage::Graph;
  if (values.has("cost"))
    options.stop = Stage::Cost, options.kernel = values.text("cost");
  if (values.has("weights"))
    options.weightsSeed = parseSeed(values.text("weights"));
  if (failed(parseRanges(values, command & (CompileBit | CheckBit | PassesBit), request.import, loc)))
    return failure();
  if (failed(readGradient(values, options, loc)))
    return failure();
  options.passes = values.text("passes");
  if (failed(pipelineFor(options, loc)))
    return failure();
  if (values.has("calibration") && failed(readCalibration(values.text("calibration"), options, loc)))
    return failure();
  if (values.has("plan") && failed(readPlan(values.text("plan"), options, loc)))
    return failure();
  if (failed(readStageTexts(values, options.given, loc)))
    return failure();
  return request;
}

} // namespace fathom
