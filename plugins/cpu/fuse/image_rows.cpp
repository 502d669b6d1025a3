#include "fuse/image_rows.hpp"

#include <algorithm>
#include <cmath>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// Whether the channels of a place lie side by side, without gaps.
bool lies_channels_last(const tn_view& view) {
  const int64_t* const s = view.shape;
  const std::array<int64_t, 4> dense = {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
  for (uint32_t d = 0; d < 4; ++d)
    if (s[d] != 1 && view.strides[d] != dense[d]) return false;
  return true;
}

// Elements of rows worth a thread, in rows.
int64_t grain_of(int64_t grain, int64_t channels) { return std::max<int64_t>(1, grain / channels); }

}  // namespace

ImageRows::ImageRows(const tn_graph_expression& expression, ImageRowsRecipe recipe)
    : recipe_(std::move(recipe)) {
  if (!lies_channels_last(*expression.views[0]) ||
      !lies_channels_last(*expression.views[recipe_.x]))
    fail(TN_UNIMPLEMENTED, "its images do not lie channels-last");
  const auto count = static_cast<size_t>(recipe_.channels);
  mean_.assign(count, 0), scale_.assign(count, 1), shift_.assign(count, 0);
}

void ImageRows::pack(const tn_view* const* views) {
  if (recipe_.kind != ImageRowsRecipe::Kind::kBatchNorm) return;
  const auto copy = [&](uint32_t operand, std::vector<float>& to) {
    if (operand != 0) std::copy_n(data_of<const float>(*views[operand]), to.size(), to.begin());
  };
  copy(recipe_.mean, mean_);
  copy(recipe_.weight, scale_);
  copy(recipe_.bias, shift_);
  if (recipe_.weight == 0) std::fill(scale_.begin(), scale_.end(), 1.0F);
  const float* const var = data_of<const float>(*views[recipe_.var]);
  for (size_t c = 0; c < scale_.size(); ++c)
    scale_[c] *= static_cast<float>(1 / std::sqrt(var[c] + recipe_.eps));
}

void ImageRows::run(const tn_call& call) const {
  // Arguments are the operands behind the output.
  const auto given = [&](uint32_t operand) {
    return operand == 0 ? nullptr : data_of<const float>(*call.args[operand - 1].as.view);
  };
  const float* const x = given(recipe_.x);
  auto* const y = data_of<float>(*call.outs[0]);
  switch (recipe_.kind) {
    case ImageRowsRecipe::Kind::kBatchNorm:
      return batch_norm(x, y);
    case ImageRowsRecipe::Kind::kGroupNorm:
      return group_norm(x, y, given(recipe_.weight), given(recipe_.bias));
    case ImageRowsRecipe::Kind::kMix:
      return mix(x, y);
  }
}

void ImageRows::batch_norm(const float* x, float* y) const {
  const int64_t n = recipe_.channels;
  const float* const parameters[] = {mean_.data(), scale_.data(), shift_.data()};
  parallel_for(recipe_.batch * recipe_.in_plane(), grain_of(kGrainMath, n),
               [&](int64_t begin, int64_t end) {
                 row_functions().affine(x + begin * n, y + begin * n, end - begin, n, parameters,
                                        recipe_.activation);
               });
}

// Sums of pieces of a sample are added in order, so they depend neither on threads nor on other samples.
void ImageRows::group_norm(const float* x, float* y, const float* weight, const float* bias) const {
  constexpr int64_t kPiece = 64;  // places whose sums are f32
  const int64_t n = recipe_.channels, places = recipe_.in_plane(), groups = recipe_.groups,
                width = n / groups, pieces = (places + kPiece - 1) / kPiece;
  const auto total = static_cast<double>(places * width);
  std::vector<double> partial(static_cast<size_t>(recipe_.batch * pieces * groups));
  std::vector<float> mean(static_cast<size_t>(recipe_.batch * n)), scale(mean.size());
  const auto each_piece = [&](auto&& use) {  // use(first row, rows, sample, its number)
    parallel_for(recipe_.batch * pieces, grain_of(kGrainMath, kPiece * n),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t at = i % pieces * kPiece;
                     use(i / pieces * places + at, std::min(kPiece, places - at), i / pieces, i);
                   }
                 });
  };
  const auto sum = [&](bool squares) {
    each_piece([&](int64_t row, int64_t rows, int64_t sample, int64_t i) {
      float* const sums = workspace<float>(Workspace::Sums, n);
      row_functions().sums(x + row * n, rows, n, squares ? mean.data() + sample * n : nullptr,
                           sums);
      for (int64_t g = 0; g < groups; ++g) {
        double all = 0;
        for (int64_t c = g * width; c < (g + 1) * width; ++c) all += double{sums[c]};
        partial[static_cast<size_t>(i * groups + g)] = all;
      }
    });
  };
  const auto each_group =
      [&](auto&& use) {  // use(mean of the sums, first and last element of mean)
        for (int64_t k = 0; k < recipe_.batch * groups; ++k) {
          double all = 0;
          for (int64_t p = 0; p < pieces; ++p)
            all += partial[static_cast<size_t>((k / groups * pieces + p) * groups + k % groups)];
          use(all / total, k * width, (k + 1) * width);
        }
      };
  sum(false);
  each_group([&](double average, int64_t from, int64_t to) {
    std::fill(mean.begin() + from, mean.begin() + to, static_cast<float>(average));
  });
  sum(true);
  each_group([&](double var, int64_t from, int64_t to) {
    const auto rstd = static_cast<float>(1 / std::sqrt(var + recipe_.eps));
    for (int64_t i = from; i < to; ++i)
      scale[static_cast<size_t>(i)] = weight == nullptr ? rstd : rstd * weight[i % n];
  });
  each_piece([&](int64_t row, int64_t rows, int64_t sample, int64_t) {
    const float* const parameters[] = {mean.data() + sample * n, scale.data() + sample * n,
                                       bias == nullptr ? shift_.data() : bias};
    row_functions().affine(x + row * n, y + row * n, rows, n, parameters, recipe_.activation);
  });
}

// Each line of results is mixed from lines first, then its places from those of that line.
void ImageRows::mix(const float* x, float* y) const {
  const PlaceTaps &down = recipe_.taps[0], &across = recipe_.taps[1];
  const int64_t n = recipe_.channels, line = recipe_.in[1] * n, row = recipe_.out[1] * n;
  parallel_for(recipe_.batch * recipe_.out[0], grain_of(kGrainMath, line + row),
               [&](int64_t begin, int64_t end) {
                 float* const mixed = workspace<float>(Workspace::Sums, line);
                 std::vector<const float*> from;
                 const auto put = [&](const PlaceTaps& taps, int64_t o, const float* base,
                                      int64_t step, float* to) {
                   const size_t first = taps.first[static_cast<size_t>(o)],
                                last = taps.first[static_cast<size_t>(o) + 1];
                   from.clear();
                   for (size_t k = first; k < last; ++k) from.push_back(base + taps.at[k] * step);
                   row_functions().mix(to, step, from.data(), taps.weight.data() + first,
                                       static_cast<int64_t>(last - first));
                 };
                 for (int64_t i = begin; i < end; ++i) {
                   put(down, i % recipe_.out[0], x + i / recipe_.out[0] * recipe_.in[0] * line,
                       line, mixed);
                   for (int64_t o = 0; o < recipe_.out[1]; ++o)
                     put(across, o, mixed, n, y + i * row + o * n);
                 }
               });
}

}  // namespace tenon::cpu
