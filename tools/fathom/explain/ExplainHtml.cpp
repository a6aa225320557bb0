// The page is a text with three holes: its style, its script (both of tools/fathom/explain/page, inside this program)
// and the data, which the script draws. It needs nothing else.
#include "tools/fathom/explain/ExplainHtml.h"

#include "tools/fathom/explain/Page.inc"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace fathom {

void printHtml(const json::Object &told, raw_ostream &out) {
  std::string data;
  raw_string_ostream(data) << json::Value(json::Object(told));
  // A name may hold what ends a script.
  std::string safe;
  for (char c : data)
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  auto [head, afterStyle] = page::text.split("/*STYLE*/");
  auto [body, afterData] = afterStyle.split("/*DATA*/");
  auto [between, end] = afterData.split("/*SCRIPT*/");
  out << head << page::style << body << safe << between << page::script << end;
}

} // namespace fathom
