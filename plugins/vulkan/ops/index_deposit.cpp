#include "ops/index_deposit.hpp"

#include "shaders/buckets.hpp"
#include "shaders/deposit.hpp"
#include "shaders/keys.hpp"

namespace tenon::vulkan {

void in_or_none(Launch& launch, const tn_view& view) {
  if (numel(view) == 0)
    launch.none();
  else
    launch.in(view);
}

Launch keys_launch(const tn_call& call, const Deposit& d, Keys keys, uint32_t index_dtype) {
  const int64_t words = d.add ? 2 * d.places + 1 : d.places;
  stream_of(call.stream)
      .fill_words(*static_cast<const Buffer*>(call.scratch_buffer), 0,
                  static_cast<uint64_t>(words) * 4, 0);
  Launch launch(call, shaders::keys, Compute::kI32);
  launch.constant(keys).constant(d.add ? 0 : 1).constant(index_dtype);
  launch.scratch(0, d.bytes()).word(d.rows).word(d.keys());
  return launch;
}

void keys_of_list(const tn_call& call, const Deposit& d, const char* op, const tn_view& index,
                  const IndexList& list) {
  Launch launch = keys_launch(call, d, kByList, index.dtype);
  in_or_none(launch, index);
  launch.check(op, list.dim, list.size);
  launch.word(list.size).word(list.plane).word(list.wrap ? 1u : 0u).word(list.skip);
  launch.elements(d.rows);
}

void finish_deposit(const tn_call& call, const Deposit& d) {
  for (uint32_t code = 0; d.add && d.rows > 0 && code < 3; ++code) {
    Launch buckets(call, shaders::buckets, Compute::kI32);
    buckets.constant(code).scratch(0, d.bytes()).word(d.places).word(d.rows);
    buckets.elements(code == 0 ? d.places : d.rows);
  }
  const tn_view& out = output(call);
  Launch launch(call, shaders::deposit, compute_of(out.dtype));
  launch.constant(out.dtype).constant(d.add ? 0 : 1).constant(d.dense() ? 0 : 1);
  launch.out(out);
  if (d.x != nullptr)
    launch.in(*d.x);
  else
    launch.none();
  in_or_none(launch, *d.source);
  launch.scratch(0, d.bytes());
  launch.word(numel(out)).word(d.places).word(d.inner).word(d.rows).word(d.x != nullptr ? 1u : 0u);
  launch.word(static_cast<uint32_t>(d.shape.size())).word(launch.bias(2));
  std::vector<uint32_t> table(d.shape.begin(), d.shape.end());
  for (const int64_t step : d.steps)
    table.push_back(static_cast<uint32_t>(static_cast<int32_t>(step)));
  if (!table.empty()) launch.table(table);
  launch.elements(numel(out));
}

}  // namespace tenon::vulkan
