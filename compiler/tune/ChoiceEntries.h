// What a database keeps of whole-model choices: entries of a class of their own, whose knobs are the numbers of sites.
#pragma once

#include "compiler/tune/Choices.h"
#include "compiler/tune/Tune.h"

namespace fathom::tune {

// Stands for a model as it was proposed: all its kernels in their order, and what can be chosen.
std::string choiceKey(const Program &proposed, llvm::ArrayRef<Site> sites, const CodegenOptions &options);

// Whether a database may have choices at all: looked at before the key is made, which takes longer.
llvm::Expected<bool> hasChoices(ScheduleDatabase &database, const Target &target, FloatMode fp);
// What is known of this model; choices that it does not have are nothing.
llvm::Expected<std::optional<ChosenModel>> knownChoices(ScheduleDatabase &database, llvm::StringRef key,
                                                        llvm::ArrayRef<Site> sites, const Target &target,
                                                        const Request &request);
llvm::Error keepChoices(ScheduleDatabase &database, llvm::StringRef key, ChosenModel &model, const Target &target,
                        const Request &request);

} // namespace fathom::tune
