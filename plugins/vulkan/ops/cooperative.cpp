// Whether matrix units are used. The driver's claim is tested first, because the code was never run on such hardware.
#include "ops/cooperative.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "shaders/cooperative.hpp"
#include "shaders/cooperative_emulated.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

using Choice = Options::Cooperative;
constexpr int64_t kSmallest = 64;  // rows and columns; below, most of a tile would be zeros

Choice choice_of(const tn_call& call) {
  return backend().device(call.device_index).options().cooperative;
}
bool is_emulated(Choice choice) { return choice == Choice::kEmulated || choice == Choice::kWrong; }

bool offered(const tn_call& call) {
  const Choice choice = choice_of(call);
  const Physical& p = backend().physical(call.device_index);
  const auto& limits = p.properties.limits;
  if (is_emulated(choice))
    return limits.maxComputeWorkGroupInvocations >= Cooperative::kInvocations &&
           limits.maxComputeSharedMemorySize >= 32768;
  return choice == Choice::kWhereOffered && p.cooperative;
}

bool in_eights(const Product::Operand& operand, const Product& p, int64_t along, int64_t across) {
  bool fits = along == 1 && across % 8 == 0 && operand.view->offset % 16 == 0;
  for (uint32_t d = 0; d < p.ndim; ++d) fits &= operand.batch[d] % 8 == 0;
  for (uint32_t d = 0; d < operand.view->ndim; ++d) fits &= operand.view->strides[d] >= 0;
  return fits;
}

// Memory and a stream for the test, freed at its end.
class Trial {
 public:
  explicit Trial(uint32_t index) : index_(index) { backend().stream_create(index, &stream_); }
  ~Trial() {
    for (void* buffer : buffers_) backend().free(index_, buffer);
    backend().stream_destroy(stream_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void* buffer(uint64_t bytes) {
    void* address = nullptr;
    backend().allocate(index_, bytes, &buffers_.emplace_back(), &address);
    return buffers_.back();
  }
  void* stream() const { return stream_; }

 private:
  uint32_t index_;
  void* stream_ = nullptr;
  std::vector<void*> buffers_;
};

constexpr int64_t kRows = 150, kColumns = 140, kDepth = 72;  // with edges in every direction

// Computes one layout of the operands both ways; true if they agree.
bool agree(uint32_t index, bool a_by_k, bool b_by_k) {
  Trial trial(index);
  // Multiples of 1/8 up to magnitude 2: sums are exact in f32, so both ways must give the same bits.
  const auto halves = [&](int64_t count, uint32_t seed) {
    static constexpr uint16_t kValues[] = {0x3000, 0x3400, 0x3800, 0x3c00, 0x4000, 0xb400, 0xbc00};
    std::vector<uint16_t> values(static_cast<size_t>(count));
    for (uint16_t& value : values)
      value = kValues[(seed = seed * 1664525u + 1013904223u) >> 16 & 3u];
    for (size_t i = 0; i < values.size(); i += 5) values[i] = kValues[4 + i % 3];
    void* buffer = trial.buffer(values.size() * 2);
    backend().copy_in(index, trial.stream(), values.data(), buffer, 0, values.size() * 2);
    return buffer;
  };
  const auto view_of = [](void* buffer, const int64_t* shape, const int64_t* strides) {
    tn_view view{};
    view.struct_size = sizeof view;
    view.buffer = buffer;
    view.dtype = TN_DTYPE_F16;
    view.ndim = 2;
    view.shape = shape;
    view.strides = strides;
    return view;
  };
  const int64_t a_shape[] = {kRows, kDepth}, b_shape[] = {kDepth, kColumns};
  const int64_t c_shape[] = {kRows, kColumns}, c_strides[] = {kColumns, 1};
  const int64_t a_strides[] = {a_by_k ? kDepth : 1, a_by_k ? 1 : kRows};
  const int64_t b_strides[] = {b_by_k ? 1 : kColumns, b_by_k ? kDepth : 1};
  const tn_view a = view_of(halves(kRows * kDepth, 1), a_shape, a_strides);
  const tn_view b = view_of(halves(kDepth * kColumns, 2), b_shape, b_strides);
  std::array<tn_value, 2> args{};
  for (tn_value& each : args) each.tag = TN_VALUE_VIEW;
  args[arg::matmul::x].as.view = &a;
  args[arg::matmul::y].as.view = &b;

  std::vector<uint16_t> results[2];
  for (const Way way : {Way::kTiles, Way::kCooperative}) {
    std::vector<uint16_t>& result = results[way == Way::kCooperative ? 1 : 0];
    result.resize(kRows * kColumns);
    const tn_view c = view_of(trial.buffer(result.size() * 2), c_shape, c_strides);
    const tn_view* outs[] = {&c};
    tn_call call{};
    call.struct_size = sizeof call;
    call.args = args.data();
    call.nargs = static_cast<uint32_t>(args.size());
    call.outs = outs;
    call.nouts = 1;
    call.stream = trial.stream();
    call.device_index = index;
    run_matmul(call, way);
    backend().copy_out(index, trial.stream(), c.buffer, 0, result.data(), result.size() * 2);
    backend().stream_synchronize(trial.stream());
  }
  return results[0] == results[1];
}

bool works(uint32_t index) {
  std::string why = "give other numbers";
  try {
    if (agree(index, true, true) && agree(index, true, false) && agree(index, false, true) &&
        agree(index, false, false))
      return true;
  } catch (const sdk::Error& error) {
    if (error.code() == TN_DEVICE_LOST || error.code() == TN_OUT_OF_MEMORY) throw;
    why = std::string("fail: ") + error.what();
  }
  const std::string text = "[vulkan] the matrix units of " + backend().device(index).name() + " " +
                           why + "; products of f16 go without them";
  sdk::host()->log(2, sdk::str_of(text));
  return false;
}

}  // namespace

int64_t Cooperative::groups(const Product& p) {
  const auto pieces = [](int64_t n) { return (n + kTile - 1) / kTile; };
  return pieces(p.m) * pieces(p.n) * p.batches;
}

uint32_t Cooperative::flags(const Product& p) {
  const bool a = p.a.column == 1 ? in_eights(p.a, p, p.a.column, p.a.row)
                                 : in_eights(p.a, p, p.a.row, p.a.column);
  const bool b = p.b.row == 1 ? in_eights(p.b, p, p.b.row, p.b.column)
                              : in_eights(p.b, p, p.b.column, p.b.row);
  return (a ? 8u : 0u) | (b ? 16u : 0u);
}

bool takes_cooperative(const tn_call& call, const Product& p) {
  if (p.a.view->dtype != TN_DTYPE_F16 || p.b.view->dtype != TN_DTYPE_F16 ||
      output(call).dtype != TN_DTYPE_F16)
    return false;
  if (p.m < kSmallest || p.n < kSmallest || p.k < kSmallest || p.batches == 0) return false;
  return offered(call) &&
         backend().device(call.device_index).cooperative([&] { return works(call.device_index); });
}

const Shader& cooperative_shader(const tn_call& call) {
  return is_emulated(choice_of(call)) ? shaders::cooperative_emulated : shaders::cooperative;
}

uint32_t cooperative_error(const tn_call& call) {
  return choice_of(call) == Choice::kWrong ? 1 : 0;
}

}  // namespace tenon::vulkan
