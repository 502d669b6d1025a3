// Where a vendor's library may be installed: beside the packages of the current Python, or in the vendor's own folders.
#pragma once

#include <string>
#include <vector>

namespace tenon::gpu {

// Folders of Python packages: PYTHONPATH, those above the plugin, and site-packages of the active environment, of the Python that runs this
// process, of the one on PATH, and of the user.
std::vector<std::string> package_folders();
// The folders in a variable such as LD_LIBRARY_PATH.
std::vector<std::string> folders_of(const char* variable);
// The existing paths that match a pattern with '*', sorted.
std::vector<std::string> matches(const std::string& pattern);

}  // namespace tenon::gpu
