// Prints where a process looks for plugins; privileged.py makes the program setuid. Linked with the core's objects, because for a setuid
// program the dynamic linker does not look for libtenon beside it.
#include <cstdio>

#include "plugin/search.hpp"

int main() {
  using namespace tenon::core;
  std::printf("privileged %d\n", is_privileged() ? 1 : 0);
  for (const char* name : {"TENON_PROBE", "TENON_DISABLE", "XDG_CACHE_HOME"})
    std::printf("%s %s\n", name, environment(name) == nullptr ? "unseen" : environment(name));
  for (const Place& place : search_places()) std::printf("place %s\n", place.path.c_str());
  return 0;
}
