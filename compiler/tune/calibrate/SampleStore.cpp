// A file of samples: read as a whole, added to at its end.
#include "compiler/tune/calibrate/SampleStore.h"

#include "compiler/package/OutputFile.h"
#include "compiler/support/Failure.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace fathom::tune {

Expected<SampleStore> SampleStore::read(std::string path, bool analysesAgain) {
  auto text = MemoryBuffer::getFile(path);
  if (!text)
    return fail(ErrorCode::FileUnreadable, "cannot read the samples '" + path + "': " + text.getError().message(),
                "'fathom calibrate MODEL.onnx --samples FILE' makes such a file");
  Expected<SampleFile> parsed = parseSamples((*text)->getBuffer(), path, analysesAgain);
  if (!parsed)
    return parsed.takeError();
  SampleStore store;
  // What was left of a line in the middle of which a run ended is cut off.
  store.whole = (*text)->getBuffer().rfind('\n') + 1;
  store.path = std::move(path), store.file = std::move(*parsed);
  return store;
}

Expected<SampleStore> SampleStore::open(std::string path, const std::string &target, int threads, bool analysesAgain) {
  uint64_t bytes = 0;
  if (path.empty() || !sys::fs::exists(path) || (!sys::fs::file_size(path, bytes) && bytes == 0)) {
    SampleStore store;
    store.path = std::move(path);
    store.file.target = target, store.file.threads = threads;
    return store;
  }
  Expected<SampleStore> store = read(path, analysesAgain);
  if (store && (store->file.target != target || store->file.threads != threads))
    return fail(ErrorCode::BadInput,
                formatv("samples '{0}' are of {1} with {2} threads, not of {3} with {4}", path, store->file.target,
                        store->file.threads, target, threads),
                "name another file, or the --target and --tune-threads that they are of");
  return store;
}

Error SampleStore::changeAll(function_ref<void(MutableArrayRef<Sample>)> change) {
  change(file.samples);
  if (path.empty())
    return Error::success();
  std::string text = headOf(file);
  for (const Sample &sample : file.samples)
    text += lineOf(sample);
  if (Error error = writeFile(path, [&](raw_ostream &out) { out << text; }))
    return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  whole = text.size();
  return Error::success();
}

Error SampleStore::add(ArrayRef<Sample> samples) {
  file.samples.insert(file.samples.end(), samples.begin(), samples.end());
  if (path.empty())
    return Error::success();
  std::string text = whole == 0 ? headOf(file) : "";
  for (const Sample &sample : samples)
    text += lineOf(sample);
  int descriptor;
  std::error_code code = sys::fs::openFileForReadWrite(path, descriptor, sys::fs::CD_OpenAlways, sys::fs::OF_None);
  if (!code)
    code = sys::fs::resize_file(descriptor, whole);
  if (code)
    return fail(ErrorCode::FileUnwritable, "cannot write samples to '" + path + "': " + code.message());
  raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out.seek(whole);
  out << text;
  out.close();
  if (out.has_error()) {
    std::string reason = out.error().message();
    out.clear_error();
    return fail(ErrorCode::FileUnwritable, "cannot write samples to '" + path + "': " + reason);
  }
  whole += text.size();
  return Error::success();
}

} // namespace fathom::tune
