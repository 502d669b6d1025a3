#include "metadata.hpp"

#include <fmt/format.h>

#include <cstring>

namespace tenon::validate {
namespace {

std::string sizes_of(const void* bytes, uint64_t count) {
  std::vector<int64_t> sizes(count / sizeof(int64_t));
  std::memcpy(sizes.data(), bytes, sizes.size() * sizeof(int64_t));
  std::string text;
  for (const int64_t size : sizes) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return "(" + text + ")";
}

}  // namespace

void Metadata::keep(const void* at, uint64_t bytes, std::string what, Kind kind) {
  if (at == nullptr || bytes == 0) return;
  const auto* first = static_cast<const unsigned char*>(at);
  regions_.push_back({const_cast<void*>(at), {first, first + bytes}, std::move(what), kind});
}

void Metadata::add(const tn_view& view, const std::string& what) {
  if (view.ndim > TN_MAX_DIMS) return;  // refused elsewhere
  keep(&view, sizeof view, "the view of " + what, Kind::Bytes);
  keep(view.shape, view.ndim * sizeof(int64_t), "the shape of " + what, Kind::Sizes);
  keep(view.strides, view.ndim * sizeof(int64_t), "the strides of " + what, Kind::Sizes);
}

void Metadata::add(const tn_value& value, const std::string& what) {
  if (value.tag == TN_VALUE_VIEW && value.as.view != nullptr) add(*value.as.view, what);
  if (value.tag != TN_VALUE_VIEWS) return;
  for (uint32_t e = 0; e < value.count; ++e)
    if (value.as.views[e] != nullptr) add(*value.as.views[e], fmt::format("{}[{}]", what, e));
}

void Metadata::add_loop(const tn_loop& loop) {
  keep(&loop, sizeof loop, "the loop", Kind::Bytes);
  if (loop.ndim > TN_MAX_DIMS) return;
  keep(loop.shape, loop.ndim * sizeof(int64_t), "the loop's shape", Kind::Sizes);
  for (uint32_t k = 0; k < loop.noperands; ++k)
    keep(loop.strides[k], loop.ndim * sizeof(int64_t), fmt::format("the loop's strides[{}]", k),
         Kind::Sizes);
}

std::string Metadata::restore() {
  std::string text;
  for (const Region& region : regions_) {
    const uint64_t size = region.bytes.size();
    if (std::memcmp(region.at, region.bytes.data(), size) == 0) continue;
    if (text.empty())
      text = region.kind == Kind::Bytes
                 ? region.what + " was written to"
                 : fmt::format("{} was changed from {} to {}", region.what,
                               sizes_of(region.bytes.data(), size), sizes_of(region.at, size));
    std::memcpy(region.at, region.bytes.data(), size);
  }
  return text;
}

}  // namespace tenon::validate
