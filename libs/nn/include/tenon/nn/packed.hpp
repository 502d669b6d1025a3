// Sequences of different lengths: padded to one length, or packed step by step.
#ifndef TENON_NN_PACKED_HPP
#define TENON_NN_PACKED_HPP

#include <algorithm>
#include <numeric>

#include "tenon/nn/detail/recurrent.hpp"

namespace tenon::nn::utils::rnn {

// The rows of all sequences, step by step, longest sequence first: data (rows, …), and on the host the number of rows in each step.
// sorted_indices puts a batch into this order, and unsorted_indices back; both are undefined if the batch was already sorted.
struct PackedSequence {
  Tensor data, batch_sizes, sorted_indices, unsorted_indices;
};

namespace detail {
using nn::detail::refuse;
using nn::detail::Run;

// For descending numbers: how many are above 0, 1, 2, …. Turns lengths into batch sizes, and back.
inline std::vector<int64_t> conjugate(const std::vector<int64_t>& falling) {
  std::vector<int64_t> found;
  for (size_t i = falling.size(); i > 0; --i)
    found.resize(std::max(found.size(), static_cast<size_t>(falling[i - 1])),
                 static_cast<int64_t>(i));
  return found;
}
// Pads a dimension of x to a size.
inline Tensor filled_up(const Tensor& x, int64_t dim, int64_t size, double value) {
  std::vector<int64_t> pads(2 * static_cast<size_t>(x.ndim() - dim), 0);
  pads.back() = size - x.shape(dim);
  return pads.back() == 0 ? x : pad(x, pads, "constant", value);
}
}  // namespace detail

// Packs input (T, B, …), or (B, T, …) with batch_first, whose sequences have `lengths` (B). These must descend, or with enforce_sorted =
// false are sorted here.
inline PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                           bool batch_first = false, bool enforce_sorted = true) {
  const char* const where = "pack_padded_sequence";
  Tensor x = batch_first ? input.transpose(0, 1) : input, sorted, unsorted;
  std::vector<int64_t> falling = lengths.to(DType::I64).cpu().to_vector<int64_t>();
  if (lengths.ndim() != 1 || lengths.shape(0) != x.shape(1) || falling.empty())
    detail::refuse(where, "lengths " + nn::detail::text_of(lengths.shape()) + " for a batch of " +
                              std::to_string(x.shape(1)));
  const auto [least, most] = std::ranges::minmax(falling);
  if (least < 1 || most > x.shape(0))
    detail::refuse(where, "lengths are " + std::to_string(least) + " to " + std::to_string(most) +
                              ", must be 1 to " + std::to_string(x.shape(0)));
  if (!enforce_sorted) {
    std::vector<int64_t> order(falling.size()), back(falling.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      return falling[static_cast<size_t>(a)] > falling[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < order.size(); ++i)
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    std::ranges::sort(falling, std::greater());
    sorted = tensor(order).to(x.device());
    unsorted = tensor(back).to(x.device());
    x = x.index_select(1, sorted);
  } else if (!std::ranges::is_sorted(falling, std::greater())) {
    detail::refuse(where, "lengths must not rise: give enforce_sorted = false to have them sorted");
  }
  const std::vector<int64_t> sizes = detail::conjugate(falling);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const detail::Run& run : nn::detail::runs_of(sizes)) {
    parts.push_back(x.narrow(0, start, run.steps).narrow(1, 0, run.rows).flatten(0, 1));
    start += run.steps;
  }
  return {concat(parts, 0), tensor(sizes), sorted, unsorted};
}

// Returns the sequences padded to one length (T, B, …), or (B, T, …) with batch_first, and their lengths (B).
inline std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence,
                                                      bool batch_first = false,
                                                      double padding_value = 0,
                                                      std::optional<int64_t> total_length = {}) {
  const std::vector<int64_t> sizes = sequence.batch_sizes.to_vector<int64_t>();
  const int64_t steps = total_length.value_or(static_cast<int64_t>(sizes.size()));
  if (steps < static_cast<int64_t>(sizes.size()))
    detail::refuse("pad_packed_sequence", "total_length " + std::to_string(steps) +
                                              " is below the longest sequence, " +
                                              std::to_string(sizes.size()));
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const detail::Run& run : nn::detail::runs_of(sizes)) {
    std::vector<int64_t> shape(sequence.data.shape().begin() + 1, sequence.data.shape().end());
    shape.insert(shape.begin(), {run.steps, run.rows});
    const Tensor part = sequence.data.narrow(0, start, run.steps * run.rows).reshape(shape);
    parts.push_back(detail::filled_up(part, 1, sizes[0], padding_value));
    start += run.steps * run.rows;
  }
  Tensor x = detail::filled_up(concat(parts, 0), 0, steps, padding_value),
         lengths = tensor(detail::conjugate(sizes));
  if (sequence.unsorted_indices.defined()) {
    x = x.index_select(1, sequence.unsorted_indices);
    lengths = lengths.index_select(0, sequence.unsorted_indices.cpu());
  }
  return {batch_first ? x.transpose(0, 1) : x, lengths};
}

// Pads sequences (Tᵢ, …) to the longest: (T, B, …), or (B, T, …) with batch_first.
inline Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first = false,
                           double padding_value = 0) {
  if (sequences.empty()) detail::refuse("pad_sequence", "needs one sequence at least");
  int64_t longest = 0;
  for (const Tensor& each : sequences) longest = std::max(longest, each.shape(0));
  std::vector<Tensor> padded;
  for (const Tensor& each : sequences)
    padded.push_back(detail::filled_up(each, 0, longest, padding_value));
  return stack(padded, batch_first ? 0 : 1);
}

// Packs sequences (Tᵢ, …).
inline PackedSequence pack_sequence(const std::vector<Tensor>& sequences,
                                    bool enforce_sorted = true) {
  std::vector<int64_t> lengths;
  for (const Tensor& each : sequences) lengths.push_back(each.shape(0));
  return pack_padded_sequence(pad_sequence(sequences), tensor(lengths), false, enforce_sorted);
}

}  // namespace tenon::nn::utils::rnn
#endif
