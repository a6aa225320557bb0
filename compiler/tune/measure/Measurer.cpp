// Hands groups to the program that measures and reads what it found; starts it again where a candidate ended it.
#include "compiler/tune/measure/Measure.h"

#include "compiler/support/Cancellation.h"
#include "compiler/tune/measure/GroupText.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace fathom::tune {

FailureOr<std::unique_ptr<Measurer>> Measurer::start(mlir::Location loc, const MeasurerOptions &options) {
  std::unique_ptr<Measurer> measurer(new Measurer(options));
  ConnectProblem problem;
  measurer->child = connect(options, problem);
  measurer->startCount = 1;
  if (measurer->child)
    return std::move(measurer);
  mlir::InFlightDiagnostic error = emitError(loc, ErrorCode::Device) << problem.message;
  return problem.hint.empty() ? LogicalResult(error) : LogicalResult(hint(std::move(error), problem.hint));
}

// Whether the program runs, perhaps again.
bool Measurer::isReady() {
  if (child || !lost.empty())
    return child.has_value();
  ConnectProblem problem;
  child = connect(options, problem);
  ++startCount;
  if (!child && !isCancelled())
    lost = problem.message;
  return child.has_value();
}

// One try at a group: who is in it, by their place in the whole, and how it went.
struct Measurer::Round {
  SmallVector<size_t> members;
  MutableArrayRef<Measurement> results;
  Talk talked = Talk::Done;
  int checking = -1; // the member that was run last before all were timed
};

void Measurer::readResults(Round &round) {
  while (true) {
    std::string line;
    round.talked = child->readLine(line, options.silentSeconds);
    if (round.talked != Talk::Done || line == "done")
      return;
    if (line == "alive")
      continue;
    if (line == "timing") {
      round.checking = -1;
      continue;
    }
    StringRef rest = line;
    int member = -1;
    bool isCheck = rest.consume_front("checking ");
    bool isKnown = (isCheck || rest.consume_front("kernel ")) && !rest.consumeInteger(10, member) && member >= 0 &&
                   size_t(member) < round.members.size();
    if (isKnown && isCheck)
      round.checking = member;
    else if (!isKnown || !parseMeasurement(rest.ltrim(), round.results[round.members[size_t(member)]])) {
      // What does not speak the language is no better than what does not speak.
      round.talked = Talk::Ended;
      return;
    } else if (Measurement &result = round.results[round.members[size_t(member)]];
               !isCheck && !result.isOk() && !options.machine.isHere())
      // Of several machines, it may be this one that is not well.
      result.note = options.machine.spelling + ": " + result.note;
  }
}

std::vector<Measurement> Measurer::measure(ArrayRef<MeasuredKernel> group, const MeasureOptions &how) {
  std::vector<Measurement> results(group.size());
  std::vector<std::string> texts(group.size());
  Round round{{}, results};
  for (auto [i, kernel] : enumerate(group))
    if (std::string problem; writeKernel(kernel, texts[i], problem))
      round.members.push_back(i);
    else
      results[i] = {Measurement::Status::Refused, 0, 0, 0, 0, 0, 0, problem};
  std::string why;
  for (int losses = 0; !round.members.empty() && losses < 2 && isReady();) {
    round.talked = child->write(writeOptions(how), options.silentSeconds);
    for (size_t i : round.members)
      if (round.talked == Talk::Done)
        round.talked = child->write(texts[i], options.silentSeconds);
    if (round.talked == Talk::Done)
      round.talked = child->write("measure\n", options.silentSeconds);
    round.checking = -1;
    if (round.talked == Talk::Done)
      readResults(round);
    if (round.talked == Talk::Done)
      return results;

    child.reset();
    if (round.talked == Talk::Cancelled)
      break;
    why = options.machine.spelling + (round.talked == Talk::Silent ? " gave no sign of life" : " went away");
    if (round.checking < 0) {
      ++losses;
      continue;
    }
    // Others that were told of before are measured again: their results are told with the rest.
    auto culprit = round.members.begin() + round.checking;
    results[*culprit] = {round.talked == Talk::Silent ? Measurement::Status::Hung : Measurement::Status::Crashed,
                         0,
                         0,
                         0,
                         0,
                         0,
                         0,
                         why + " when it was run"};
    round.members.erase(culprit);
  }
  for (size_t i : round.members)
    results[i] = {Measurement::Status::Lost,
                  0,
                  0,
                  0,
                  0,
                  0,
                  0,
                  isCancelled()  ? "cancelled"
                  : lost.empty() ? why + " while kernels were timed"
                                 : lost};
  return results;
}

} // namespace fathom::tune
