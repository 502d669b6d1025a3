// Where plugins are looked for.
#pragma once

#include <string>
#include <vector>

#include "loader.hpp"

namespace tenon::core {

struct Place {
  std::string path;
  std::string refusal;  // why it is not read; empty when it is
  bool asked_for;       // by TENON_PLUGIN_PATH: what is refused there is worth a warning
};

// Directories in order of precedence, each once: TENON_PLUGIN_PATH, the user's, those next to libtenon, the system's. Only those
// that exist, except for TENON_PLUGIN_PATH's own. The first level of subdirectories belongs to a place.
std::vector<Place> search_places();
// Why users other than this one, root and those who may replace libtenon could change the file at a path, or put another in its
// place: its owner and mode, or those of a directory above it. Empty if they could not.
std::string why_untrusted(const std::string& path);
// The directory of libtenon, however it was found; empty when it cannot be told.
std::string own_directory();

// True when the process runs with rights its user does not have, so that the environment is not to be trusted.
bool is_privileged();

}  // namespace tenon::core
