// A stand-in for ROCTX that writes down its calls.
#include <string>

namespace {
std::string& text() {
  static std::string one;
  return one;
}
int depth = 0;
}  // namespace

extern "C" {
int roctxRangePushA(const char* name) {
  text() += std::string("(") + name;
  return depth++;
}
int roctxRangePop() {
  text() += ")";
  return --depth;
}
const char* fake_roctx_told() { return text().c_str(); }
}
