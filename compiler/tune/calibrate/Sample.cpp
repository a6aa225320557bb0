// Samples to lines of JSON and back. Nobody trusts a file: what is not as it should be is named with its line.
#include "compiler/tune/calibrate/Sample.h"

#include "compiler/support/Failure.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;

namespace fathom::tune {

static constexpr StringLiteral formatKey = "fathom-samples";
static constexpr int64_t formatVersion = 1;

bool SampleFile::has(StringRef kernel, const Schedule &schedule) const {
  return any_of(samples, [&](const Sample &sample) { return sample.kernel == kernel && sample.schedule == schedule; });
}

std::string headOf(const SampleFile &file) {
  std::string text;
  raw_string_ostream(text) << json::Value(json::Object{
                                  {formatKey, formatVersion}, {"target", file.target}, {"threads", file.threads}})
                           << "\n";
  return text;
}

std::string lineOf(const Sample &sample) {
  // A list, as the order of knobs is a part of a schedule.
  json::Array schedule;
  for (const auto &[name, value] : sample.schedule.knobs)
    schedule.push_back(json::Array{name, value});
  json::Object features;
  for (auto [name, value] : zip(featureNames, sample.features))
    features[name] = value;
  std::string text;
  raw_string_ostream(text) << json::Value(json::Object{{"kernel", sample.kernel},
                                                       {"name", json::fixUTF8(sample.name)},
                                                       {"class", sample.kernelClass},
                                                       {"schedule", std::move(schedule)},
                                                       {"nanoseconds", sample.nanoseconds},
                                                       {"spread", sample.spread},
                                                       {"draft", sample.draft},
                                                       {"features", std::move(features)},
                                                       {"working_sets", json::Array(sample.workingSets)}})
                           << "\n";
  return text;
}

namespace {

// Reads the members of a line; the first problem is the one that is told.
class LineReader {
public:
  LineReader(const json::Object &line, bool analysesAgain) : line(line), analysesAgain(analysesAgain) {}

  Sample sample() {
    Sample sample;
    sample.kernel = text("kernel"), sample.name = text("name"), sample.kernelClass = text("class");
    sample.nanoseconds = number("nanoseconds", line), sample.spread = number("spread", line);
    sample.draft = number("draft", line);
    if (problem.empty() && !(sample.nanoseconds > 0))
      problem = "'nanoseconds' is not positive";
    readSchedule(sample.schedule);
    if (const json::Object *features = line.getObject("features"))
      for (auto [name, value] : zip(featureNames, sample.features))
        value = analysesAgain && !features->get(name) ? 0 : number(name, *features);
    else
      complain("'features' is missing or not an object");
    const json::Array *sets = line.getArray("working_sets");
    if (!sets || sets->size() != sample.workingSets.size())
      complain("'working_sets' is not a list of " + std::to_string(sample.workingSets.size()) + " numbers");
    else
      for (auto [value, set] : zip(*sets, sample.workingSets))
        set = value.getAsNumber().value_or(0);
    return sample;
  }

  std::string problem;

private:
  void complain(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }
  std::string text(StringRef key) {
    if (auto found = line.getString(key))
      return found->str();
    complain(("'" + key + "' is missing or not text").str());
    return "";
  }
  double number(StringRef key, const json::Object &object) {
    auto found = object.getNumber(key);
    if (found && *found >= 0 && std::isfinite(*found))
      return *found;
    complain(("'" + key + "' is missing or no number from 0 on").str());
    return 0;
  }
  void readSchedule(Schedule &schedule) {
    const json::Array *knobs = line.getArray("schedule");
    if (!knobs)
      return complain("'schedule' is missing or not a list");
    for (const json::Value &value : *knobs) {
      const json::Array *knob = value.getAsArray();
      bool isKnob = knob && knob->size() == 2 && (*knob)[0].getAsString() && (*knob)[1].getAsInteger();
      if (!isKnob)
        return complain("'schedule' is no list of names with whole numbers");
      schedule.knobs.emplace_back((*knob)[0].getAsString()->str(), *(*knob)[1].getAsInteger());
    }
  }

  const json::Object &line;
  bool analysesAgain;
};

// LLVM's parser calls itself for each level of brackets.
bool nestsDeeply(StringRef line) {
  int depth = 0, deepest = 0;
  for (char character : line) {
    depth += character == '[' || character == '{';
    depth -= character == ']' || character == '}';
    deepest = std::max(deepest, depth);
  }
  return deepest > 64;
}

} // namespace

Expected<SampleFile> parseSamples(StringRef text, StringRef fileName, bool analysesAgain) {
  SampleFile file;
  size_t number = 0;
  auto wrong = [&](const Twine &problem) {
    return fail(ErrorCode::BadInput, "samples '" + fileName + "', line " + Twine(number) + ": " + problem,
                "'fathom calibrate MODEL.onnx --samples FILE' makes such a file");
  };
  while (text.contains('\n')) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    if (nestsDeeply(line))
      return wrong("nests too deeply");
    Expected<json::Value> value = json::parse(line);
    if (!value)
      return wrong(toString(value.takeError()));
    const json::Object *object = value->getAsObject();
    if (!object)
      return wrong("is not an object");
    if (number == 1) {
      if (object->getInteger(formatKey) != formatVersion)
        return wrong("does not say \"" + formatKey + "\":" + Twine(formatVersion));
      file.target = object->getString("target").value_or("").str();
      file.threads = int(object->getInteger("threads").value_or(1));
      continue;
    }
    LineReader reader(*object, analysesAgain);
    file.samples.push_back(reader.sample());
    if (!reader.problem.empty())
      return wrong(reader.problem);
  }
  if (number == 0)
    return wrong("there is nothing in it");
  return file;
}

} // namespace fathom::tune
