// What a library's file shows before it is opened.
#pragma once

#include "plugin/pinned.hpp"

namespace tenon::core {

// Throws Error with the reason when the file is no library that this process could open as a plugin: not ELF, truncated, for
// another architecture, without tn_plugin_query, or in need of the core's symbols. Reads a few kilobytes; trusts nothing in them.
void check_library_file(const Pinned& file);

}  // namespace tenon::core
