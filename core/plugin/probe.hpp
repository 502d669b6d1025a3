// Libraries are tried in a child process before this one opens them. The loader's lock must be held.
#pragma once

#include <string>

#include "plugin/pinned.hpp"

namespace tenon::core {

// What a usable library reported about itself; empty if probing is off.
struct Probed {
  std::string id, version;
};

// Throws Error with the reason why the library must not be opened: its hash is not the card's (`sha256`, empty for none), or it
// crashed, hung, ended the process, or was refused there.
Probed probe(const Pinned& library, const std::string& sha256);

// True in the child process itself, which opens what it is given.
bool is_probe();
// Tells the child what comes next, so that a crash has a place. Nothing elsewhere.
void probe_stage(const char* what);

}  // namespace tenon::core
