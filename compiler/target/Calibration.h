// The constants of cost formulas that no manual gives: calibration data, which was fitted to measurements, apart from
// the formulas. Each is declared once, with a name, a range and a meaning; its value and where that comes from are in
// calibration/default.yaml, and a machine's description overrides single ones.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fathom {

struct Calibration {
  // What all models share.
  double taskStart, spreading, usableCapacity, exposedNear, exposedFar, exposedStream, astrayLines, linesApart,
      resultVector, longChain, expandedFunction, producerOp;
  // Matrix products and convolutions.
  double productTileStart, productNewRows, productPartialSums, productStretchStart, productIterationStart,
      productLoadStall, productPackedRowStall, productBlockStall, productRowStall, productPanelStall,
      productNoSpareRegister, productNarrowTile, productLatencySlack, productLoopIssue, productCollisionStall,
      productOrderedRun, productOtherOrder, productManyStreams, productHiddenByArithmetic, productTransposing,
      productTurnsRows, productTurnsPanelWait, productTurnsHiddenWait, contractNearBlock, contractFarBlock,
      contractRowsCollide;
  // Attention.
  double attentionSoftmax, attentionTileStart, attentionSingleScore, attentionWaitingSums, attentionFetchedLine,
      attentionUnfetched, softmaxInstructions, softmaxLatency, softmaxLive;
  // Depthwise convolutions.
  double depthwiseRowStart, depthwisePixel, depthwiseLoadShare, depthwiseIssueShare, depthwiseReloads, depthwiseChains,
      depthwiseStore, depthwiseFirstWindow, depthwiseFirstLine, depthwiseAhead, depthwiseAheadLine, depthwiseAgain,
      depthwiseAgainAhead, depthwiseResults, depthwisePieces, depthwiseKeptShare, depthwiseFromOthers;
  // Transposition.
  double reorderRunStart, reorderFarRunStart, reorderStreamsTake, reorderSquareEnd, reorderSingle;
  // Spatial packing.
  double spatialTileStart, spatialLoopTurn, spatialRowStart, spatialLoadStall, spatialExposedLatency, spatialIdleSlot,
      spatialCollisionStall, spatialUsableWays, spatialOverfilled, spatialExposedStrided;
  // Methods of Winograd and Strassen.
  double winogradTransforms, winogradResult, strassenSums, strassenTransposing, strassenLeastGain,
      strassenLeastGainMemory;
  // Sweeps.
  double sweepLoopEnd, sweepRowStart, sweepWindow, sweepOtherRegisters, sweepWorthStarting, sweepCarried, sweepPoolStep,
      sweepSequentialStep;
  // Others.
  double transposedTapStart, transposedTileStart, transposedSpreading, packedUnpacking, packedTileStart, packedAddingUp,
      treesStepInstructions, treesStepLatency, treesLook, treesLeaf, treesLeafVector, treesRoundStart, treesIssue,
      treesBalance;
  // Choices between estimates.
  double algorithmMargin, versionsLikelyWeight, versionsPrice, piecesRowsTogether, fusionPadded;

  // The constants of calibration/default.yaml.
  static const Calibration &byDefault();
};

struct CalibrationField {
  llvm::StringLiteral name;
  double Calibration::*member;
  double min, max;
  llvm::StringLiteral meaning;
};

llvm::ArrayRef<CalibrationField> calibrationFields();
const CalibrationField *findCalibrationField(llvm::StringRef name);

// Refuses names that no constant has, and values out of its range.
llvm::Error setConstant(Calibration &calibration, llvm::StringRef name, double value);

// The constants as numbers in the order of the fields, and back: what fits them works on vectors.
std::vector<double> valuesOf(const Calibration &calibration);
llvm::Expected<Calibration> calibrationOf(llvm::ArrayRef<double> values);

// What the default value of a constant was fitted to.
llvm::StringRef calibrationSource(llvm::StringRef name);

} // namespace fathom
