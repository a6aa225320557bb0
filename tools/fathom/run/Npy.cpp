// Reading and writing .npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "tools/fathom/run/Npy.h"
#include "tools/fathom/run/SmallNumbers.h"

#include "compiler/package/OutputFile.h"
#include "runtime/fathom_rt.h"
#include "tools/fathom/Terminal.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace fathom {

static_assert(endianness::native == endianness::little, "elements are read and written as they lie in memory");

static constexpr StringLiteral magic = "\x93NUMPY";

struct DtypeCode {
  int32_t dtype;
  StringLiteral code; // without the byte order
};
static constexpr DtypeCode dtypeCodes[] = {
    {FATHOM_F16, "f2"}, {FATHOM_F32, "f4"}, {FATHOM_F64, "f8"}, {FATHOM_I8, "i1"},
    {FATHOM_I16, "i2"}, {FATHOM_I32, "i4"}, {FATHOM_I64, "i8"}, {FATHOM_U8, "u1"},
    {FATHOM_U16, "u2"}, {FATHOM_U32, "u4"}, {FATHOM_U64, "u8"}, {FATHOM_BOOL, "b1"},
};

Expected<Array> Array::measure(int32_t dtype, ArrayRef<int64_t> dims) {
  Array array;
  array.dtype = dtype;
  array.dims.assign(dims.begin(), dims.end());
  array.elements = 1;
  bool overflow = false, empty = is_contained(dims, 0);
  for (int64_t size : dims)
    overflow |= size < 0 || (!empty && MulOverflow(array.elements, size, array.elements));
  int64_t bytes;
  if (empty)
    array.elements = 0;
  if (overflow || MulOverflow(array.elements, int64_t(fathom_dtype_bytes(dtype)), bytes))
    return fail(ErrorCode::BadInput, "an array of shape " + spellDims(dims) + " is too large");
  array.bytes = bytes;
  return array;
}

Error Array::allocate() {
  memory = aligned_alloc(64, alignTo(std::max<size_t>(bytes, 1), 64));
  return memory ? Error::success() : fail(ErrorCode::Device, "no memory for an array of shape " + spellDims(dims));
}

Expected<Array> Array::create(int32_t dtype, ArrayRef<int64_t> dims) {
  Expected<Array> array = measure(dtype, dims);
  if (array)
    if (Error error = array->allocate())
      return error;
  return array;
}

void Array::swap(Array &other) {
  std::swap(dtype, other.dtype);
  std::swap(dims, other.dims);
  std::swap(elements, other.elements);
  std::swap(bytes, other.bytes);
  std::swap(memory, other.memory);
  std::swap(texts, other.texts);
}

std::string spellDims(ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (auto [i, size] : enumerate(dims))
    text += (i ? "," : "") + std::to_string(size);
  return text + "]";
}

namespace {

// The header is a Python dictionary literal with three known keys.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  StringRef descr;
  bool fortran = false;
  SmallVector<int64_t> shape;

  bool parse() {
    unsigned seen = 0;
    if (!eat("{"))
      return false;
    while (!eat("}")) {
      StringRef key;
      if (!string(key) || !eat(":"))
        return false;
      if (key == "descr" ? !string(descr) : key == "fortran_order" ? !boolean() : key == "shape" ? !tuple() : true)
        return false;
      seen |= key == "descr" ? 1 : key == "shape" ? 2 : 4;
      if (!eat(",") && !rest.ltrim().starts_with("}"))
        return false;
    }
    return seen == 7 && rest.trim().empty();
  }

private:
  bool eat(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool string(StringRef &value) {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return false;
    size_t end = rest.find(rest[0], 1);
    if (end == StringRef::npos)
      return false;
    value = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return true;
  }
  bool boolean() {
    fortran = eat("True");
    return fortran || eat("False");
  }
  bool tuple() {
    if (!eat("("))
      return false;
    while (!eat(")")) {
      int64_t size;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, size) || size < 0 || shape.size() == 64)
        return false;
      shape.push_back(size);
      if (!eat(",") && !rest.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }

  StringRef rest;
};

} // namespace

Expected<Array> readNpy(StringRef path) {
  auto refuse = [&](const Twine &reason, const Twine &hint = "") {
    return fail(ErrorCode::BadInput, "'" + path + "': " + reason, hint);
  };
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': " + code.message());
  if (status.type() != sys::fs::file_type::regular_file)
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': it is not a regular file");
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.consume_front(magic) || bytes.size() < 4)
    return refuse("not a .npy file", "numpy.save writes one");
  unsigned version = uint8_t(bytes[0]);
  if (version < 1 || version > 3)
    return refuse("version " + Twine(version) + " of .npy is unknown");
  // Version 1 has a length of 2 bytes, the others one of 4.
  size_t lengthBytes = version == 1 ? 2 : 4;
  bytes = bytes.drop_front(2);
  if (bytes.size() < lengthBytes)
    return refuse("the file is cut short");
  size_t length = lengthBytes == 2 ? support::endian::read16le(bytes.data()) : support::endian::read32le(bytes.data());
  bytes = bytes.drop_front(lengthBytes);
  if (bytes.size() < length)
    return refuse("the file is cut short");
  HeaderParser header(bytes.take_front(length));
  if (!header.parse())
    return refuse("its header cannot be read");
  bytes = bytes.drop_front(length);
  if (header.fortran)
    return refuse("the array is in Fortran order", "numpy.ascontiguousarray makes it row-major");
  StringRef code = header.descr;
  if (code.starts_with(">") && !code.ends_with("1"))
    return refuse("the elements are big-endian", "array.astype(array.dtype.newbyteorder('<')) converts them");
  code = code.ltrim("<|=>");
  auto found = find_if(dtypeCodes, [&](const DtypeCode &entry) { return entry.code == code; });
  // Arrays of ml_dtypes are saved as plain bytes: bfloat16 as pairs, and smaller types one by one.
  bool isString = code.size() > 1 && (code.front() == 'U' || code.front() == 'S');
  int32_t dtype = isString                        ? FATHOM_STRING
                  : code == "V2"                  ? FATHOM_BF16
                  : code == "V1" || code == "f1"  ? FATHOM_U8
                  : found == std::end(dtypeCodes) ? 0
                                                  : found->dtype;
  if (!dtype)
    return refuse("elements of type '" + header.descr + "' are not supported");
  // No memory is taken for more than the file has.
  Expected<Array> array = Array::measure(dtype, header.shape);
  if (!array)
    return refuse(toString(array.takeError()));
  std::vector<std::string> texts;
  if (isString) {
    auto strings = decodeStrings(bytes, code, array->elements);
    if (!strings)
      return refuse(toString(strings.takeError()));
    texts = std::move(*strings);
  } else if (bytes.size() != array->bytes) {
    return refuse("shape " + spellDims(header.shape) + " needs " + Twine(array->bytes) + " bytes, the file has " +
                  Twine(bytes.size()));
  }
  if (Error error = array->allocate())
    return refuse(toString(std::move(error)));
  if (isString)
    array->setStrings(std::move(texts));
  else
    memcpy(array->data(), bytes.data(), bytes.size());
  return array;
}

Error writeNpy(StringRef path, const Array &array) {
  bool widen = array.dtype == FATHOM_BF16, isString = array.dtype == FATHOM_STRING;
  int64_t characters = 0;
  std::string strings = isString ? encodeStrings(array, characters) : "";
  int32_t dtype = widen ? int32_t(FATHOM_F32) : isSmallDtype(array.dtype) ? int32_t(FATHOM_U8) : array.dtype;
  auto found = find_if(dtypeCodes, [&](const DtypeCode &entry) { return entry.dtype == dtype; });
  if (found == std::end(dtypeCodes) && !isString)
    return fail(ErrorCode::Internal, "data type " + Twine(array.dtype) + " has no .npy code");
  std::string code = isString ? "U" + std::to_string(characters) : found->code.str();
  std::string header = "{'descr': '" + std::string(!isString && StringRef(code).ends_with("1") ? "|" : "<") + code +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t size : array.dims)
    header += std::to_string(size) + ",";
  header += "), }";
  // The data starts at a multiple of 64 bytes.
  size_t prefix = magic.size() + 4;
  header.resize(alignTo(prefix + header.size() + 1, 64) - prefix - 1, ' ');
  header += '\n';
  Error error = writeFile(path, [&](raw_ostream &out) {
    out << magic << '\x01' << '\0' << char(header.size() & 255) << char(header.size() >> 8) << header;
    if (isString)
      return void(out << strings);
    if (!widen)
      return void(out.write(array.data(), array.bytes));
    for (int64_t i = 0; i < array.elements; ++i) {
      uint32_t wide = uint32_t(support::endian::read16le(array.data() + 2 * i)) << 16;
      out.write(reinterpret_cast<const char *>(&wide), sizeof wide);
    }
  });
  if (error)
    return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  return Error::success();
}

} // namespace fathom
