// A source's kernel is read from its text, as its problem is what its schedule is relative to.
#include "compiler/tune/transfer/Carry.h"

#include "compiler/kernel/FixedSchedule.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace fathom::tune {

// What is not legal is looked for nearby so often, as that enumerates a space.
static constexpr int mostRepairs = 4;

const Target *Carrier::targetOf(StringRef spelling) {
  auto [known, isNew] = targets.try_emplace(spelling);
  if (isNew) {
    if (llvm::Expected<Target> target = parseTarget(spelling))
      known->second = std::move(*target);
    else
      llvm::consumeError(target.takeError());
  }
  return known->second ? &*known->second : nullptr;
}

const RelativeSchedule *Carrier::relative(const PoolEntry &source) {
  auto [place, isNew] = known.try_emplace(source.entry.id());
  std::optional<RelativeSchedule> &result = place->second;
  const KernelClass *klass = findKernelClass(source.entry.kernelClass);
  const Target *target = targetOf(source.entry.target);
  if (!isNew || !klass || !target)
    return result ? &*result : nullptr;
  // A text of another version may not be read any more, which is nobody's mistake.
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(StringRef(source.entry.kernel).split('\n').second, ParserConfig(context));
  if (!module || module->getBody()->empty())
    return nullptr;
  auto function = dyn_cast<func::FuncOp>(module->getBody()->front());
  if (!function || function.empty())
    return nullptr;
  std::unique_ptr<Space> space = klass->family.spaceOf(anchorOrEnd(function), *target);
  Schedule schedule = scheduleOf(source.entry, *klass);
  // Of what is not legal there, nothing is known.
  if (llvm::Error error = checkSchedule(*klass, schedule, *space)) {
    llvm::consumeError(std::move(error));
    return nullptr;
  }
  result = relativeTo(inOrder(schedule, *klass), klass->family.knobs(), scaleOf(*space, *target));
  return &*result;
}

std::vector<Carried> Carrier::candidates(const KernelTask &task, const Pool &pool, StringRef model) {
  const KernelClass &klass = task.kernelClass();
  std::string opClass = opClassOf(task.key());
  std::string anchor = task.site()->getName().stripDialect().str();
  auto isOfClass = [&](const PoolEntry &entry, bool exactly) {
    if (!model.empty() && entry.model != model)
      return false;
    if (exactly)
      return entry.opClass == opClass;
    SmallVector<StringRef> ops;
    StringRef(entry.opClass).split(ops, ' ');
    return entry.entry.kernelClass == klass.name && llvm::is_contained(ops, anchor);
  };
  bool exactly = llvm::any_of(pool.entries(), [&](const PoolEntry &entry) { return isOfClass(entry, true); });
  Scale scale = scaleOf(task.space(), task.target());
  llvm::StringSet<> seen{printSchedule(task.planned())};
  std::vector<Carried> candidates;
  int repairs = 0;
  // What was found on this target comes first.
  for (bool isHere : {true, false})
    for (const PoolEntry &source : pool.entries()) {
      if ((source.entry.target == task.target().spelling()) != isHere || !isOfClass(source, exactly))
        continue;
      const RelativeSchedule *relative = this->relative(source);
      if (!relative)
        continue;
      Schedule schedule = resolve(*relative, klass.family.knobs(), scale);
      if (!task.space().violation(schedule).empty()) {
        if (repairs++ >= mostRepairs)
          continue;
        schedule = legalNear(schedule, klass, task.space(), task.space());
      }
      if (seen.insert(printSchedule(schedule)).second)
        candidates.push_back({std::move(schedule), source.model + ":" + source.kernel});
    }
  return candidates;
}

} // namespace fathom::tune
