// Which features the CPU under us has, by LLVM's names.
#ifndef FATHOM_RUNTIME_CPUFEATURES_H
#define FATHOM_RUNTIME_CPUFEATURES_H

#include <cstdint>

namespace fathom {

enum class Feature { Present, Missing, Unknown };

// Unknown means that this runtime has never heard of the name, so that it cannot promise the feature.
Feature cpuFeature(const char *Name);

// The ELF machine number this runtime was built for, and the name of such a number; null for one nobody compiles for.
extern const uint16_t HostMachine;
const char *machineName(uint16_t Machine);

} // namespace fathom

#endif
