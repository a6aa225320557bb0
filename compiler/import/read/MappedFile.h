// Read-only mappings of files, opened so that a name inside a model cannot lead outside the model's folder.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <memory>

namespace fathom::importer {

// A regular file mapped into memory for as long as the object lives.
class MappedFile {
public:
  // Opens the file at `path`, following links: for paths that the user gives.
  static llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef path);
  // Maps the file behind `fd` and closes `fd`. `soleLink` refuses files that other names lead to as well.
  static llvm::Expected<std::shared_ptr<MappedFile>> map(int fd, bool soleLink);

  llvm::StringRef bytes() const { return region ? llvm::StringRef(region.const_data(), region.size()) : ""; }

private:
  llvm::sys::fs::mapped_file_region region;
};

enum class OpenWith { Openat2, Components };

// Opens a file beneath the folder `folder` (a descriptor) for reading: no absolute names, no "..", no symbolic links on
// the way. `how` picks the system call that enforces it: one openat2, or, where the kernel lacks that, one openat for
// every component.
llvm::Expected<int> openBeneath(int folder, llvm::StringRef name, OpenWith how = OpenWith::Openat2);

} // namespace fathom::importer
