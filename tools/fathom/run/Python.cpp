// Finding and running Python.
#include "tools/fathom/run/Python.h"

#include "tools/fathom/Commands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

extern char **environ;

using namespace llvm;

namespace fathom {

static std::string beside(std::initializer_list<StringRef> steps) {
  SmallString<256> path(sys::path::parent_path(programPath()));
  for (StringRef step : steps)
    sys::path::append(path, step);
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

std::string findPython() {
  if (const char *python = getenv("FATHOM_PYTHON"); python && *python)
    return python;
  // build/bin/fathom beside .venv
  if (std::string python = beside({"..", "..", ".venv", "bin", "python"}); sys::fs::can_execute(python))
    return python;
  auto python = sys::findProgramByName("python3");
  return python ? *python : "";
}

std::string packageFolder() {
  // In the build folder, and installed inside the package itself.
  if (std::string folder = beside({"..", "python"}); sys::fs::exists(folder + "/fathom/__init__.py"))
    return folder;
  if (sys::fs::exists(beside({"..", "__init__.py"})))
    return beside({"..", ".."});
  return "";
}

Expected<int> runPython(const std::vector<std::string> &arguments) {
  std::string python = findPython();
  if (python.empty())
    return fail(ErrorCode::Device, "this command needs Python, and there is no python3",
                "set FATHOM_PYTHON to an interpreter that has onnx, onnxruntime and numpy");
  std::vector<std::string> environment;
  for (char **entry = environ; *entry; ++entry)
    if (!StringRef(*entry).starts_with("PYTHONPATH="))
      environment.push_back(*entry);
  std::string folder = packageFolder();
  if (const char *given = getenv("PYTHONPATH"); given && *given)
    folder += (folder.empty() ? "" : ":") + std::string(given);
  if (!folder.empty())
    environment.push_back("PYTHONPATH=" + folder);
  SmallVector<StringRef> words{python}, environmentRefs(environment.begin(), environment.end());
  words.append(arguments.begin(), arguments.end());
  std::string message;
  int exitCode = sys::ExecuteAndWait(python, words, ArrayRef<StringRef>(environmentRefs), {}, 0, 0, &message);
  if (exitCode == -1)
    return fail(ErrorCode::Device, "cannot run '" + python + "': " + message,
                "set FATHOM_PYTHON to an interpreter that has onnx, onnxruntime and numpy");
  if (exitCode == -2)
    return fail(ErrorCode::Internal, "the compiler or the compiled model crashed: " + message);
  return exitCode;
}

} // namespace fathom
