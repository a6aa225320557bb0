// Strings in .npy files: NumPy has them as so many characters of four bytes (U), or as so many bytes (S).
#include "tools/fathom/run/Npy.h"

#include "runtime/fathom_rt.h"
#include "tools/fathom/Terminal.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace fathom {

StringRef Array::string(int64_t index) const {
  const auto &text = reinterpret_cast<const fathom_string *>(data())[index];
  return StringRef(text.data, text.size);
}

void Array::setStrings(std::vector<std::string> strings) {
  auto held = std::make_shared<std::vector<std::string>>(std::move(strings));
  for (auto [i, text] : enumerate(*held))
    reinterpret_cast<fathom_string *>(data())[i] = {text.data(), text.size()};
  texts = held;
}

Expected<std::vector<std::string>> decodeStrings(StringRef bytes, StringRef code, int64_t count) {
  uint64_t characters;
  bool isWide = code.front() == 'U';
  // NumPy gives strings a character at least; of none a small file could have any number.
  if (code.drop_front().getAsInteger(10, characters) || characters > (1 << 24) || (count && !characters))
    return fail(ErrorCode::BadInput, "strings of type '" + code + "' are not supported");
  uint64_t each = characters * (isWide ? 4 : 1);
  if (count && (bytes.size() % count || bytes.size() / count != each))
    return fail(ErrorCode::BadInput,
                Twine(count) + " strings of " + Twine(each) + " bytes are not " + Twine(bytes.size()) + " bytes");
  std::vector<std::string> strings;
  for (int64_t i = 0; i < count; ++i) {
    StringRef own = bytes.substr(i * each, each);
    if (!isWide) {
      strings.push_back(own.rtrim('\0').str());
      continue;
    }
    std::vector<UTF32> wide(characters);
    memcpy(wide.data(), own.data(), own.size());
    while (!wide.empty() && !wide.back())
      wide.pop_back();
    std::string text(4 * wide.size() + 1, '\0');
    const UTF32 *from = wide.data();
    auto *to = reinterpret_cast<UTF8 *>(text.data()), *start = to;
    if (ConvertUTF32toUTF8(&from, wide.data() + wide.size(), &to, to + text.size(), strictConversion) != conversionOK)
      return fail(ErrorCode::BadInput, "string " + Twine(i) + " has a character that Unicode does not");
    text.resize(to - start);
    strings.push_back(std::move(text));
  }
  return strings;
}

std::string encodeStrings(const Array &array, int64_t &characters) {
  std::vector<std::vector<UTF32>> all;
  characters = 1;
  for (int64_t i = 0; i < array.elements; ++i) {
    StringRef text = array.string(i);
    std::vector<UTF32> wide(text.size());
    auto *from = reinterpret_cast<const UTF8 *>(text.data());
    UTF32 *to = wide.data();
    // What is not UTF-8 becomes the character that stands for that.
    ConvertUTF8toUTF32(&from, from + text.size(), &to, to + wide.size(), lenientConversion);
    wide.resize(to - wide.data());
    characters = std::max<int64_t>(characters, wide.size());
    all.push_back(std::move(wide));
  }
  std::string bytes;
  for (std::vector<UTF32> &wide : all) {
    wide.resize(characters);
    bytes.append(reinterpret_cast<const char *>(wide.data()), 4 * wide.size());
  }
  return bytes;
}

} // namespace fathom
