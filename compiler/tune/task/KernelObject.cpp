// Code of a kernel, linked with the functions that generated code calls.
#include "compiler/tune/task/KernelObject.h"

#include "compiler/package/Artifact.h"

using namespace mlir;

namespace fathom::tune {

llvm::Expected<KernelObject> objectOf(const KernelTask &task, const Schedule &schedule) {
  FailureOr<TaskCode> made = task.generate(schedule, CodeForm::Object);
  if (failed(made))
    return llvm::createStringError("there is no code of kernel '%s' with this schedule", task.name().str().c_str());
  std::vector<Object> objects;
  objects.push_back(std::move(made->code.object));
  objects.push_back(hostBackendOf(task.target()).supportObject(hostTargetOf(task.target())));
  llvm::Expected<std::string> linked = linkObjects(objects, task.target());
  if (!linked)
    return linked.takeError();
  return KernelObject{std::move(*linked),
                      (KernelTask::symbol + ".task").str(),
                      task.tasks(made->grid),
                      made->grid.scratchBytes,
                      made->grid.groupTasks,
                      task.buffers(schedule),
                      task.sizes()};
}

} // namespace fathom::tune
