// The table of constants, and reading their default values.
#include "compiler/target/Calibration.h"

#include "compiler/support/NumberText.h"
#include "compiler/support/YamlText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace fathom {
namespace {

using C = Calibration;
constexpr CalibrationField table[] = {
    // What all models share.
    {"task-start", &C::taskStart, 0, 1e5, "cycles of starting a task on a worker that is awake"},
    {"spreading", &C::spreading, 0, 1e6, "cycles of waking other threads and of waiting for the last of them"},
    {"usable-capacity", &C::usableCapacity, 0.05, 1,
     "share of a cache that a stream of other data leaves to what should stay there"},
    {"exposed-near", &C::exposedNear, 0, 1,
     "share of a refill from the second-level cache that prefetching does not hide"},
    {"exposed-far", &C::exposedFar, 0, 1, "the same, from farther away"},
    {"exposed-stream", &C::exposedStream, 0, 1,
     "what remains of that share where data is one stream, prefetched from any distance"},
    {"astray-lines", &C::astrayLines, 0, 64,
     "lines of a stretch of results, a part of a longer row, that is waited for in full"},
    {"lines-apart", &C::linesApart, 0, 100, "how much longer a line takes that lies apart than one of a stream"},
    {"result-vector", &C::resultVector, 0, 100,
     "cycles of a vector of results on its way through the consumers, for each tensor of them"},
    {"long-chain", &C::longChain, 1, 10, "how much longer math functions take of which few stand side by side"},
    {"expanded-function", &C::expandedFunction, 0, 1000, "cycles of a math function for a vector, behind an anchor"},
    {"producer-op", &C::producerOp, 0, 100, "cycles of an elementwise op for a vector, while rows are packed"},
    // Matrix products and convolutions.
    {"product-tile-start", &C::productTileStart, 0, 1000,
     "cycles of starting a tile: addresses, accumulators, a branch predicted wrong"},
    {"product-new-rows", &C::productNewRows, 0, 1000,
     "what it costs more where the rows of the next tile are a stream that prefetching has not seen, for every row of "
     "a window"},
    {"product-partial-sums", &C::productPartialSums, 0, 1000,
     "what it costs more where partial sums come back from the result"},
    {"product-stretch-start", &C::productStretchStart, 0, 1000,
     "cycles of starting a stretch of neighbouring steps of the reduction"},
    {"product-iteration-start", &C::productIterationStart, 0, 100, "cycles of an iteration's branch"},
    {"product-load-stall", &C::productLoadStall, 0, 10,
     "cycles of a load beside its issue, where multiply-adds take factors from memory"},
    {"product-packed-row-stall", &C::productPackedRowStall, 0, 10,
     "the same of packed rows, with lane-wise multiply-adds"},
    {"product-block-stall", &C::productBlockStall, 0, 10,
     "the same of a block of a panel that stays in the first-level cache"},
    {"product-row-stall", &C::productRowStall, 0, 10, "the same of rows read in place, each a stream of its own"},
    {"product-panel-stall", &C::productPanelStall, 0, 10, "the same of panels that pass whole"},
    {"product-no-spare-register", &C::productNoSpareRegister, 0, 10,
     "cycles of a step of a tile that leaves no register for loads that come ahead"},
    {"product-narrow-tile", &C::productNarrowTile, 1, 10,
     "how much longer multiply-adds take in tiles of one vector of columns, each with a factor from another register"},
    {"product-latency-slack", &C::productLatencySlack, 0, 20,
     "cycles by which a chain of multiply-adds must be longer than their latency"},
    {"product-loop-issue", &C::productLoopIssue, 0, 20, "instructions of a step beside multiply-adds and loads"},
    {"product-collision-stall", &C::productCollisionStall, 0, 100,
     "cycles of a load more that another row's line threw out of the first-level cache"},
    {"product-ordered-run", &C::productOrderedRun, 0, 10000,
     "steps of a reduction read in place from which on loads that come ahead gain"},
    {"product-other-order", &C::productOtherOrder, 0, 1,
     "how much longer a reduction takes in the worse order of its loads"},
    {"product-many-streams", &C::productManyStreams, 0.05, 1,
     "share of the time of one stream that many take for as many bytes"},
    {"product-hidden-by-arithmetic", &C::productHiddenByArithmetic, 0, 1,
     "share of a cycle of arithmetic that hides the reading of panels, where that takes longest"},
    {"product-transposing", &C::productTransposing, 0, 100,
     "cycles of transposing a vector of packed rows, beside its load and its store"},
    {"product-turns-rows", &C::productTurnsRows, 0, 1,
     "what remains of the wait for packed rows of products that take turns: loads come ahead"},
    {"product-turns-panel-wait", &C::productTurnsPanelWait, 0, 10,
     "cycles of waiting for a vector of panels of such products, on a machine that waits as Neoverse-N1 does"},
    {"product-turns-hidden-wait", &C::productTurnsHiddenWait, 0, 10,
     "how much waiting, in parts of Neoverse-N1's, such products hide"},
    {"contract-near-block", &C::contractNearBlock, 0.01, 1,
     "share of the first-level cache for a block of a panel, with lane-wise multiply-adds"},
    {"contract-far-block", &C::contractFarBlock, 0.001, 1, "share of the second-level cache for it, without them"},
    {"contract-rows-collide", &C::contractRowsCollide, 0, 10,
     "how far packed rows of a tile fill the sets of a cache before they are stored apart"},
    // Attention.
    {"attention-softmax", &C::attentionSoftmax, 0, 1000,
     "cycles of a vector of scores between the products: stored, maximum, exponential, stored again"},
    {"attention-tile-start", &C::attentionTileStart, 0, 1000,
     "cycles of beginning and ending a tile of rows, beside starting its products"},
    {"attention-single-score", &C::attentionSingleScore, 0, 1000,
     "cycles of a score that full panels leave over, computed alone"},
    {"attention-waiting-sums", &C::attentionWaitingSums, 0, 100,
     "cycles of a vector of sums that wait in scratch, for each block of keys"},
    {"attention-fetched-line", &C::attentionFetchedLine, 0, 10, "cycles of fetching a line ahead"},
    {"attention-unfetched", &C::attentionUnfetched, 0, 10,
     "by how much waiting for keys and values grows where nothing fetches them"},
    {"softmax-instructions", &C::softmaxInstructions, 0, 1000,
     "instructions of a softmax in all of its passes, for a vector, as a kernel of its own"},
    {"softmax-latency", &C::softmaxLatency, 0, 1000, "cycles until such a vector is through"},
    {"softmax-live", &C::softmaxLive, 0, 64, "registers that it occupies"},
    // Depthwise convolutions.
    {"depthwise-row-start", &C::depthwiseRowStart, 0, 1000, "cycles of starting a row"},
    {"depthwise-pixel", &C::depthwisePixel, 0, 100, "cycles of a pixel's address in a tile"},
    {"depthwise-load-share", &C::depthwiseLoadShare, 0.05, 1,
     "share of the loads that could start in a cycle, of what does"},
    {"depthwise-issue-share", &C::depthwiseIssueShare, 0.05, 1,
     "share of the instructions that could start in a cycle, of what does"},
    {"depthwise-reloads", &C::depthwiseReloads, 0, 20, "loads that come again for every register that is missing"},
    {"depthwise-chains", &C::depthwiseChains, 0, 10,
     "how much longer a math function takes where no other stands beside it"},
    {"depthwise-store", &C::depthwiseStore, 0, 10, "stores of a vector of results, in cycles of as many as can start"},
    {"depthwise-first-window", &C::depthwiseFirstWindow, 0, 100,
     "what a task's first window is waited for, in multiples of a stream of as many bytes"},
    {"depthwise-first-line", &C::depthwiseFirstLine, 0, 100, "the same, divided by the lines that lie side by side"},
    {"depthwise-ahead", &C::depthwiseAhead, 0, 10, "what rows that are fetched ahead are waited for"},
    {"depthwise-ahead-line", &C::depthwiseAheadLine, 0, 10, "the same, divided by the lines that lie side by side"},
    {"depthwise-again", &C::depthwiseAgain, 0, 100, "what rows are waited for that the cache did not keep"},
    {"depthwise-again-ahead", &C::depthwiseAgainAhead, 0, 100, "the same, where rows are fetched ahead"},
    {"depthwise-results", &C::depthwiseResults, 0, 10, "what storing results takes, in multiples of a stream"},
    {"depthwise-pieces", &C::depthwisePieces, 0, 10, "what each further load of a line waits for it"},
    {"depthwise-kept-share", &C::depthwiseKeptShare, 0.05, 1, "share of the first-level cache that rows are kept in"},
    {"depthwise-from-others", &C::depthwiseFromOthers, 0, 100,
     "how many times as long another core's caches take as the shared one"},
    // Transposition.
    {"reorder-run-start", &C::reorderRunStart, 0, 10000,
     "cycles of beginning a run: addresses, and streams that are not fetched ahead yet"},
    {"reorder-far-run-start", &C::reorderFarRunStart, 0, 10000, "the same, beyond the second-level cache"},
    {"reorder-streams-take", &C::reorderStreamsTake, 0, 1,
     "share of a cache that streams take from the lines of a run"},
    {"reorder-square-end", &C::reorderSquareEnd, 0, 100, "instructions of a loop's end and of a square's addresses"},
    {"reorder-single", &C::reorderSingle, 0, 100, "how many times its instructions in cycles a single element takes"},
    // Spatial packing.
    {"spatial-tile-start", &C::spatialTileStart, 0, 1000,
     "cycles of starting a tile, whose addresses follow from the row's"},
    {"spatial-loop-turn", &C::spatialLoopTurn, 0, 100,
     "cycles of a turn of a loop over the window or over input channels"},
    {"spatial-row-start", &C::spatialRowStart, 0, 1000, "cycles of starting a row of tiles"},
    {"spatial-load-stall", &C::spatialLoadStall, 0, 10, "cycles of a load beside its issue"},
    {"spatial-exposed-latency", &C::spatialExposedLatency, 0, 1,
     "share of a multiply-add's latency that a chain of them shows"},
    {"spatial-idle-slot", &C::spatialIdleSlot, 0, 10,
     "multiply-adds of a step for an accumulator that a tile lacks to keep all units busy"},
    {"spatial-collision-stall", &C::spatialCollisionStall, 0, 100,
     "cycles of a line more that another pixel's threw out of the first-level cache"},
    {"spatial-usable-ways", &C::spatialUsableWays, 0.05, 10,
     "how far a window fills the sets of that cache before this happens"},
    {"spatial-overfilled", &C::spatialOverfilled, 0.05, 10,
     "how far it can before everything comes from the next level"},
    {"spatial-exposed-strided", &C::spatialExposedStrided, 0, 1,
     "share of a refill that is waited for where a panel's lines lie far apart"},
    // Methods of Winograd and Strassen.
    {"winograd-transforms", &C::winogradTransforms, 0.1, 16,
     "vector operations of a transform that start in a cycle: they depend on each other"},
    {"winograd-result", &C::winogradResult, 0, 100,
     "cycles of storing a vector of results, beside the tensors of the consumers"},
    {"strassen-sums", &C::strassenSums, 0.1, 16, "sums of quarters that start in a cycle"},
    {"strassen-transposing", &C::strassenTransposing, 0, 100,
     "cycles of transposing a vector of rows, as lane-wise multiply-adds take them"},
    {"strassen-least-gain", &C::strassenLeastGain, 0, 1,
     "share of the time that it must save to be worth its rounding errors"},
    {"strassen-least-gain-memory", &C::strassenLeastGainMemory, 0, 1, "the same without lane-wise multiply-adds"},
    // Sweeps.
    {"sweep-loop-end", &C::sweepLoopEnd, 0, 100, "instructions of a loop's end"},
    {"sweep-row-start", &C::sweepRowStart, 0, 1000,
     "cycles of starting a row: its indices, and a branch predicted wrong"},
    {"sweep-window", &C::sweepWindow, 1, 4096,
     "instructions that are looked ahead: later vectors fill the gaps of the first"},
    {"sweep-other-registers", &C::sweepOtherRegisters, 0, 32, "registers that hold constants and addresses"},
    {"sweep-worth-starting", &C::sweepWorthStarting, 0, 10000,
     "how many times as long as its start a task takes at least"},
    {"sweep-carried", &C::sweepCarried, 0, 100, "cycles from one sum or maximum to the next"},
    {"sweep-pool-step", &C::sweepPoolStep, 0, 1000, "instructions of a tap of a pooling window"},
    {"sweep-sequential-step", &C::sweepSequentialStep, 0, 1000, "instructions of an element of sequential work"},
    // Others.
    {"transposed-tap-start", &C::transposedTapStart, 0, 100,
     "cycles of a tap of groups side by side, beside multiply-adds and loads"},
    {"transposed-tile-start", &C::transposedTileStart, 0, 1000, "cycles of starting a tile of such groups"},
    {"transposed-spreading", &C::transposedSpreading, 0, 100,
     "cycles of spreading an element of joined phases over the image"},
    {"packed-unpacking", &C::packedUnpacking, 0, 100, "instructions that widen a vector of packed weights to floats"},
    {"packed-tile-start", &C::packedTileStart, 0, 1000, "cycles of starting a tile of packed weights"},
    {"packed-adding-up", &C::packedAddingUp, 0, 100, "cycles of adding up the lanes of a sum"},
    {"trees-step-instructions", &C::treesStepInstructions, 0, 100, "instructions of a step down a tree"},
    {"trees-step-latency", &C::treesStepLatency, 0, 1000,
     "cycles of a step that waits for itself: two loads, a comparison and a sum"},
    {"trees-look", &C::treesLook, 0, 100, "instructions of a look for who has moved"},
    {"trees-leaf", &C::treesLeaf, 0, 100, "instructions of adding up a leaf"},
    {"trees-leaf-vector", &C::treesLeafVector, 0, 100, "instructions of each further vector of a leaf"},
    {"trees-round-start", &C::treesRoundStart, 0, 1000, "cycles of starting a round of descents, mispredicted"},
    {"trees-issue", &C::treesIssue, 0.1, 16, "instructions that such code starts in a cycle at most"},
    {"trees-balance", &C::treesBalance, 0, 10, "levels by which a tree may be deeper than its leaves need"},
    // Choices between estimates.
    {"algorithm-margin", &C::algorithmMargin, 0.1, 1,
     "share of a product's time that spatial packing without groups must stay below"},
    {"versions-likely-weight", &C::versionsLikelyWeight, 0, 1000, "how many other sizes the likely one counts as"},
    {"versions-price", &C::versionsPrice, 0, 10,
     "what a further version of a kernel must gain, as a logarithm, over all sizes"},
    {"pieces-rows-together", &C::piecesRowsTogether, 1, 64, "rows that readers of a piece read side by side"},
    {"fusion-padded", &C::fusionPadded, 0, 1024,
     "instructions that a Pad computes itself at most: they are there once more for every lane at the ends of rows"},
};

constexpr llvm::StringLiteral defaults =
#include "compiler/target/calibration/default.inc"
    ;

struct Constant {
  double value = 0;
  std::string source;
};

struct CalibrationFile {
  std::map<std::string, std::string> sources;
  std::map<std::string, Constant> constants;
};

} // namespace
} // namespace fathom

LLVM_YAML_IS_STRING_MAP(fathom::Constant)
LLVM_YAML_IS_STRING_MAP(std::string)

namespace llvm::yaml {

template <> struct MappingTraits<fathom::Constant> {
  static const bool flow = true;
  static void mapping(IO &io, fathom::Constant &constant) {
    io.mapRequired("value", constant.value);
    io.mapRequired("source", constant.source);
  }
};

template <> struct MappingTraits<fathom::CalibrationFile> {
  static void mapping(IO &io, fathom::CalibrationFile &file) {
    int version = 1;
    io.mapRequired("fathom-calibration", version);
    if (version != 1)
      io.setError("version " + Twine(version) + " of calibrations is not 1");
    io.mapRequired("sources", file.sources);
    io.mapRequired("constants", file.constants);
  }
};

} // namespace llvm::yaml

namespace fathom {
namespace {

struct Defaults {
  Calibration calibration{};
  llvm::StringMap<std::string> sources; // by the constants' names

  // The file is a part of the compiler: a mistake in it is one of ours, and ends every test.
  Defaults() {
    CalibrationFile file = llvm::cantFail(parseYaml<CalibrationFile>(defaults, "default.yaml", "calibration"));
    for (const CalibrationField &field : table)
      if (!file.constants.count(field.name.str()))
        llvm::report_fatal_error("calibration/default.yaml lacks " + field.name);
    for (const auto &[name, constant] : file.constants) {
      llvm::cantFail(setConstant(calibration, name, constant.value));
      auto source = file.sources.find(constant.source);
      if (source == file.sources.end())
        llvm::report_fatal_error("calibration/default.yaml lacks the source of " + llvm::Twine(name));
      sources[name] = source->second;
    }
  }
};

const Defaults &readDefaults() {
  static const Defaults defaults;
  return defaults;
}

} // namespace

const Calibration &Calibration::byDefault() { return readDefaults().calibration; }

llvm::StringRef calibrationSource(llvm::StringRef name) {
  auto found = readDefaults().sources.find(name);
  return found == readDefaults().sources.end() ? "" : llvm::StringRef(found->second);
}

llvm::ArrayRef<CalibrationField> calibrationFields() { return table; }

const CalibrationField *findCalibrationField(llvm::StringRef name) {
  auto found = llvm::find_if(table, [&](const CalibrationField &field) { return field.name == name; });
  return found == std::end(table) ? nullptr : found;
}

llvm::Error setConstant(Calibration &calibration, llvm::StringRef name, double value) {
  const CalibrationField *field = findCalibrationField(name);
  if (!field)
    return llvm::createStringError("no constant of cost models is called '" + name +
                                   "'; 'fathom plan calibration' lists them");
  if (!(value >= field->min && value <= field->max))
    return llvm::createStringError(llvm::formatv("{0} = {1} is outside [{2}, {3}]", name, spellNumber(value),
                                                 spellNumber(field->min), spellNumber(field->max))
                                       .str());
  calibration.*field->member = value;
  return llvm::Error::success();
}

std::vector<double> valuesOf(const Calibration &calibration) {
  std::vector<double> values;
  for (const CalibrationField &field : table)
    values.push_back(calibration.*field.member);
  return values;
}

llvm::Expected<Calibration> calibrationOf(llvm::ArrayRef<double> values) {
  if (values.size() != std::size(table))
    return llvm::createStringError(llvm::formatv("{0} constants, not {1}", values.size(), std::size(table)).str());
  Calibration calibration{};
  for (auto [field, value] : llvm::zip(table, values))
    if (llvm::Error error = setConstant(calibration, field.name, value))
      return error;
  return calibration;
}

} // namespace fathom
