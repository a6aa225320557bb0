// fathom doctor: what someone who helps needs to know about a machine.
#include "compiler/driver/Manifest.h"
#include "compiler/target/HostCaches.h"
#include "compiler/target/MachineFile.h"
#include "runtime/device/Device.h"
#include "tools/fathom/Commands.h"
#include "tools/fathom/machine/MachinePeak.h"
#include "tools/fathom/run/Python.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include <cmath>
#include <set>
#include <unistd.h>

using namespace llvm;

namespace fathom {

static json::Object describeCpu() {
  json::Object caches;
  std::vector<int64_t> sizes = hostCacheBytes();
  constexpr const char *names[] = {"l1d", "l2", "l3"};
  for (auto [i, name] : enumerate(names))
    caches[name] = i < sizes.size() ? json::Value(sizes[i]) : json::Value(nullptr);
  std::vector<std::string> used;
  if (auto host = parseTarget("host"))
    used = host->required;
  else
    consumeError(host.takeError());
  // What the kernel lists, and what the loader finds besides, where the CPU's name implies it.
  std::set<std::string> features(used.begin(), used.end());
  for (const auto &entry : sys::getHostCPUFeatures())
    if (entry.second)
      features.insert(entry.first().str());
  return json::Object{{"name", sys::getHostCPUName()},
                      {"code_uses", json::Array(used)},
                      {"triple", sys::getProcessTriple()},
                      {"cpus", int64_t(sysconf(_SC_NPROCESSORS_ONLN))},
                      {"memory_bytes", int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)},
                      {"features", json::Array(features)},
                      {"caches", std::move(caches)}};
}

// The devices of a space as the runtime opens them, or why it opens none.
static json::Object describeDevices(int32_t space) {
  json::Array devices;
  for (int32_t number = 0;; ++number) {
    Device *device = nullptr;
    if (fathom_status *status = openDevice(space, number, device)) {
      std::string why = fathom_status_message(status);
      fathom_status_free(status);
      if (number == 0)
        return json::Object{{"devices", json::Array()}, {"problem", why}};
      return json::Object{{"devices", std::move(devices)}};
    }
    char driver[256];
    device->describe(driver, sizeof driver);
    devices.push_back(formatv("{0}: {1} ({2})", number, device->name(), driver).str());
  }
}

static constexpr char packageQuery[] = R"(
import json, sys
from importlib import metadata
found = {}
for name in ("numpy", "onnx", "onnxruntime", "nanobind", "fathom"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = None
print(json.dumps({"executable": sys.executable, "version": sys.version.split()[0], "packages": found}))
)";

static json::Object describePython() {
  std::string python = findPython();
  SmallString<128> answer;
  if (python.empty() || sys::fs::createTemporaryFile("fathom-doctor", "json", answer))
    return json::Object{{"executable", "none"}};
  FileRemover remover(answer);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(answer), StringRef("")};
  if (sys::ExecuteAndWait(python, {python, "-c", packageQuery}, std::nullopt, redirects, /*SecondsToWait=*/20) != 0)
    return json::Object{{"executable", python}, {"problem", "it does not run"}};
  auto file = MemoryBuffer::getFile(answer);
  auto value = file ? json::parse((*file)->getBuffer()) : json::Value(nullptr);
  if (!value) {
    consumeError(value.takeError());
    return json::Object{{"executable", python}};
  }
  json::Object *described = value->getAsObject();
  return described ? std::move(*described) : json::Object{{"executable", python}};
}

static void printTree(const json::Object &object, unsigned indent) {
  std::vector<StringRef> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first);
  sort(keys);
  for (StringRef key : keys) {
    const json::Value &value = *object.get(key);
    outs().indent(indent) << key << ":";
    if (const json::Object *nested = value.getAsObject()) {
      outs() << "\n";
      printTree(*nested, indent + 2);
      continue;
    }
    if (const json::Array *list = value.getAsArray())
      for (const json::Value &item : *list)
        outs() << " " << item.getAsString().value_or("?");
    else if (auto text = value.getAsString())
      outs() << " " << *text;
    else if (value.kind() == json::Value::Null)
      outs() << (object.get("l1d") ? " unknown" : " none");
    else if (key.ends_with("bytes") || object.get("l1d"))
      outs() << " " << spellBytes(value.getAsInteger().value_or(0));
    else
      outs() << " " << value;
    outs() << "\n";
  }
}

// How fast one core reads from each level, in cycles of which its multiply-adds tell the length.
static void measureCaches(Target &target) {
  double flopsPerCycle = 2 * target.fmaPerCycle * double(target.lanes(32));
  double cyclesPerSecond = measurePeak(1).flopPerSecond / flopsPerCycle;
  if (!(cyclesPerSecond > 0))
    return;
  auto perCycle = [&](int64_t bytes) {
    return std::max(0.1, std::round(10 * readRate(bytes, 1) / cyclesPerSecond) / 10);
  };
  for (CacheLevel &level : target.caches)
    level.bytesPerCycle = perCycle(level.bytes / 2);
  target.memoryBytesPerCycle = perCycle(4 * target.caches.back().bytes);
}

Expected<int> doctorCommand(const Arguments &arguments) {
  if (arguments.options.text("target") == "help")
    return printTargets(arguments.options);
  bool measures = arguments.options.flag("measure");
  if (arguments.options.has("target") || measures) {
    auto target = parseTarget(arguments.options.text("target"));
    if (!target)
      return fail(ErrorCode::BadTarget, toString(target.takeError()));
    if (measures && arguments.options.text("target") != "host")
      return fail(ErrorCode::BadTarget,
                  "--measure is for the host, not for '" + arguments.options.text("target") + "'");
    if (measures)
      measureCaches(*target);
    outs() << printMachineFile(*target);
    return 0;
  }
  json::Object described{{"fathom", compilerVersion},
                         {"runtime", fathom_version()},
                         {"llvm", LLVM_VERSION_STRING},
                         {"onnx_schema", FATHOM_ONNX_VERSION},
                         {"program", programPath()},
                         {"cpu", describeCpu()},
                         {"python", describePython()},
                         {"cuda", describeDevices(FATHOM_ABI_SPACE_CUDA)},
                         {"opencl", describeDevices(FATHOM_ABI_SPACE_OPENCL)}};
  if (arguments.options.flag("json"))
    printJson(std::move(described), /*oneLine=*/true);
  else
    printTree(described, 0);
  return 0;
}

} // namespace fathom
