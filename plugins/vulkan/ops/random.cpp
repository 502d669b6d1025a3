// Random numbers, the same as in sdk/include/tenon/philox.hpp. randperm sorts draws and is left to the host.
#include "shaders/random.hpp"
#include "elementwise.hpp"
#include "tenon/philox.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t {
  kUniform,
  kNormal,
  kRandint,
  kBernoulli,
  kDropoutMask
};  // as shaders/random.comp

// `draws`: numbers in a block.
void run(const tn_call& call, Op op, Compute compute, uint32_t generator, int64_t draws,
         const tn_view* from, std::span<const uint32_t> words) {
  const tn_view& out = output(call);
  const sdk::Call args(call);
  Launch launch(call, shaders::random, compute);
  launch.constant(op).constant(out.dtype).constant(from != nullptr ? from->dtype : 0).out(out);
  if (from != nullptr) launch.in(*from);
  launch.word(numel(out));
  for (const uint64_t number : {args.seed(generator), args.offset(generator)})
    launch.word(static_cast<uint32_t>(number)).word(static_cast<uint32_t>(number >> 32));
  for (const uint32_t word : words) launch.word(word);
  launch.elements((numel(out) + draws - 1) / draws);
}

void run_real(const tn_call& call, uint32_t op) {
  using arg = tenon::arg::uniform;  // normal has mean and std in the positions of low and high
  const Compute compute = compute_of(output(call).dtype);
  run(call, static_cast<Op>(op), compute, arg::generator, compute == Compute::kF64 ? 2 : 4, nullptr,
      attributes(compute, real_arg(call, arg::low), real_arg(call, arg::high)));
}

void run_randint(const tn_call& call, uint32_t) {
  using arg = tenon::arg::randint;
  const uint64_t low = static_cast<uint64_t>(call.args[arg::low].as.i),
                 range = static_cast<uint64_t>(call.args[arg::high].as.i) - low;
  const uint32_t words[] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                            static_cast<uint32_t>(range), static_cast<uint32_t>(range >> 32)};
  run(call, kRandint, Compute::kI64, arg::generator, 2, nullptr, words);
}

void run_bernoulli(const tn_call& call, uint32_t) {
  run(call, kBernoulli, compute_of(output(call).dtype), arg::bernoulli::generator, 4,
      &input(call, arg::bernoulli::p), {});
}

void run_dropout_mask(const tn_call& call, uint32_t) {
  const double p = real_arg(call, arg::dropout_mask::p);
  const Compute compute = compute_of(output(call).dtype);
  const auto kept = attributes(compute, p < 1 ? 1 / (1 - p) : 0, 0);
  const uint32_t words[] = {kept[0], kept[1], 0, 0, philox::bernoulli_threshold(p)};
  run(call, kDropoutMask, compute, arg::dropout_mask::generator, 4, nullptr, words);
}

}  // namespace

void add_random_kernels(KernelList& list) {
  constexpr uint64_t kRealFloats = kFloats | kDouble;
  list.add({.schema = TN_SCHEMA_UNIFORM, .dtypes = kRealFloats, .run = run_real, .code = kUniform});
  list.add({.schema = TN_SCHEMA_NORMAL, .dtypes = kRealFloats, .run = run_real, .code = kNormal});
  list.add({.schema = TN_SCHEMA_RANDINT, .dtypes = kInts, .run = run_randint});
  list.add({.schema = TN_SCHEMA_BERNOULLI, .dtypes = kRealFloats, .run = run_bernoulli});
  list.add({.schema = TN_SCHEMA_DROPOUT_MASK,
            .dtypes = kRealFloats,
            .run = run_dropout_mask,
            .flags = TN_KERNEL_STRIDED});
}

}  // namespace tenon::vulkan
