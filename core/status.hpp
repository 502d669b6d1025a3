// Errors inside the core are exceptions of type tenon::Error; guarded() is the barrier where they become statuses.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cpp/tenon/error.hpp"
#include "tenon/base.h"

namespace tenon::core {

template <class... Args>
[[noreturn]] void fail(uint32_t code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::vformat(format, fmt::make_format_args(args...)));
}

tn_status* make_status(uint32_t code, std::string_view message) noexcept;
// The status of the exception being handled; only inside a catch block.
tn_status* status_of_current_exception() noexcept;

// Runs `body` and turns whatever it throws into a status.
template <class Body>
tn_status* guarded(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return status_of_current_exception();
  }
}

// The result of `body`, or `otherwise` if it throws: for functions that return no status.
template <class Answer, class Body>
Answer answer(Answer otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

// Fills a caller's struct up to the size that it sets.
template <class Info>
void give(Info info, Info* out) {
  info.struct_size = out->struct_size;
  std::memcpy(out, &info, std::min<size_t>(out->struct_size, sizeof info));
}

// Whether an error's text begins with an op's name in brackets, or with that of graphs, whose errors tell the op and the line. Backends
// put their own names there, too: "[vulkan] no memory".
bool names_op(std::string_view message) noexcept;

// For "did you mean": the name with the smallest edit distance, empty when none is near.
std::string nearest_name(std::string_view wanted, const std::vector<std::string_view>& names);

using detail::check;
using detail::to_str;
using detail::to_view;

}  // namespace tenon::core
