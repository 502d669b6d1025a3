#include "convert/table.hpp"

#include <algorithm>
#include <unordered_map>

namespace tenon::onnx {
namespace {

constexpr Family (*kFamilies[])() = {
    activation_ops,  attention_ops,       classical_ops, control_ops,        conv_ops,
    elementwise_ops, fused_attention_ops, fused_ops,     generate_ops,       indexing_ops,
    loss_ops,        matrix_ops,          ml_ops,        norm_ops,           pool_ops,
    quantize_ops,    quantized_layer_ops, recurrent_ops, reduce_ops,         resize_ops,
    sequence_ops,    shape_ops,           signal_ops,    support_vector_ops, training_ops,
    tree_ops,        vision_ops,
};

const std::unordered_multimap<std::string_view, const Entry*>& table() {
  static const auto made = [] {
    std::unordered_multimap<std::string_view, const Entry*> by_name;
    for (const auto family : kFamilies)
      for (const Entry& entry : family()) by_name.emplace(entry.op, &entry);
    return by_name;
  }();
  return made;
}

}  // namespace

const Entry* find_entry(std::string_view domain, std::string_view op, int64_t opset) {
  const auto [first, last] = table().equal_range(op);
  for (auto at = first; at != last; ++at) {
    const Entry& entry = *at->second;
    if (entry.domain == domain && entry.from <= opset && opset <= entry.to) return &entry;
  }
  return nullptr;
}

std::vector<const Entry*> entries() {
  std::vector<const Entry*> list;
  for (const auto& [name, entry] : table()) list.push_back(entry);
  std::ranges::sort(list, {}, [](const Entry* entry) {
    return std::tuple(std::string_view(entry->domain), std::string_view(entry->op), entry->from);
  });
  return list;
}

}  // namespace tenon::onnx
