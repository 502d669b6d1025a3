// Where a vendor's library may lie on a machine: beside the packages of the Python at hand, and in the vendor's own installation.
#pragma once

#include <string>
#include <vector>

namespace tenon::gpu {

// Folders of Python packages: PYTHONPATH, those above the plugin itself, and site-packages of the environment that is active, of the
// Python that runs the process, of the one on PATH, and of the user.
std::vector<std::string> package_folders();
// Folders of a variable such as LD_LIBRARY_PATH.
std::vector<std::string> folders_of(const char* variable);
// What is there of a path with '*', in the order of the alphabet.
std::vector<std::string> matches(const std::string& pattern);

}  // namespace tenon::gpu
