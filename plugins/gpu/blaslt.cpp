#include "blaslt.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <mutex>

#include "backend.hpp"
#include "capture.hpp"
#include "library.hpp"
#include "tuned.hpp"

namespace tenon::gpu::blaslt {
namespace {

constexpr uint64_t kMostWorkspace = 32 << 20;

// ---- Plans --------------------------------------------------------------------------------------------------------------

// One algorithm for aligned memory and one for the rest, because algorithms may require alignment. The library may lack either.
enum Alignment { kLoose, kVector, kAlignments };

struct Choice {
  std::vector<Heuristic> found;  // the best first; several if they are to be measured
  std::string problem;           // under which the fastest is kept; empty once it is known
};
constexpr int kMeasured = 8, kRepetitions = 3;

class Plan final : public BlasPlan {
 public:
  // Throws TN_UNIMPLEMENTED if the library has no algorithm with either alignment.
  Plan(const tn_call& call, const BlasProduct& product, Activation fused, bool sums = false);

 private:
  void multiply(const tn_call& call, const BlasProduct& product) const override;
  void enqueue(const tn_call& call, const BlasProduct& product) const;
  void multiply_by(const tn_call& call, const BlasPlace& at, const Heuristic& how) const;
  void measure(const tn_call& call, const BlasPlace& at, Choice& choice) const;
  void fuse(const tn_call& call, const BlasProduct& product, Activation activation, bool sums);
  void choose_for(const tn_call& call, const BlasProduct& product, Alignment alignment,
                  uint32_t bytes);
  std::string problem_of(const tn_call& call, const BlasProduct& product, uint32_t bytes) const;
  bool takes_any_memory() const override { return has_[kLoose]; }
  bool suits(const tn_call& call, const BlasProduct& product) const override;

  Description description_;
  MatrixLayout a_, b_, c_;
  bool has_[kAlignments] = {};
  mutable Choice choices_[kAlignments];
  mutable std::mutex measuring_;  // guards them where algorithms are measured
  BLASLT(Epilogue_t) epilogue_ = BLASLT_VALUE(EPILOGUE_DEFAULT);
  bool has_pointer_ = false;    // to a bias, or to the place for the sums
  mutable std::mutex pointer_;  // guards the pointer in the description, which threads share
};

// The library's gelu is the tanh approximation.
bool can_fuse(Activation activation) { return activation == kRelu || activation == kGeluTanh; }

BLASLT(Epilogue_t) epilogue_of(bool biased, Activation activation) {
  if (activation == kGeluTanh)
    return biased ? BLASLT_VALUE(EPILOGUE_GELU_BIAS) : BLASLT_VALUE(EPILOGUE_GELU);
  if (activation == kRelu)
    return biased ? BLASLT_VALUE(EPILOGUE_RELU_BIAS) : BLASLT_VALUE(EPILOGUE_RELU);
  return biased ? BLASLT_VALUE(EPILOGUE_BIAS) : BLASLT_VALUE(EPILOGUE_DEFAULT);
}

Plan::Plan(const tn_call& call, const BlasProduct& product, Activation fused, bool sums) {
  const Product& p = product.product;
  const tn_dtype dtype = output(call).dtype;
  const Types types = types_of(dtype);
  description_ = make_description(types, product.b, product.a);
  fuse(call, product, fused, sums);
  a_ = make_layout(types.element, product.a, p.k, p.m, product.copies, product.a_step);
  b_ = make_layout(types.element, product.b, p.n, p.k, product.copies, product.b_step);
  c_ = make_layout(types.element, p.n, p.m, p.n, product.copies, p.m * p.n);
  if (kVectorBytes != 0) choose_for(call, product, kVector, kVectorBytes);
  choose_for(call, product, kLoose, size_of(dtype));
  if (!has_[kVector] && !has_[kLoose])
    sdk::fail(TN_UNIMPLEMENTED, "[", rt::kName, "] no algorithm for this product");
}

// "cuBLASLt-13.1.0-NVIDIA-H100-80GB-HBM3": bytes of an algorithm are for this device and version alone.
std::string file_of(const tn_call& call) {
  std::string name;
  for (const LibraryFound& one : concluded_libraries())
    if (one.name.ends_with("BLASLt")) name = one.name + "-" + one.version;
  name += "-" + backend().device(call.device_index).name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  return name;
}

std::string Plan::problem_of(const tn_call& call, const BlasProduct& product,
                             uint32_t bytes) const {
  const Product& p = product.product;
  std::string text = std::to_string(output(call).dtype);
  for (const int64_t number :
       {p.m, p.n, p.k, product.copies, product.a.pitch, product.b.pitch, product.a_step,
        product.b_step, int64_t{product.a.transposed}, int64_t{product.b.transposed},
        static_cast<int64_t>(epilogue_), int64_t{bytes},
        static_cast<int64_t>(types_of(output(call).dtype).compute)})
    text += "," + std::to_string(number);
  return text;
}

// What an earlier run has found.
Choice known_choice(const std::string& file, std::string problem) {
  const std::optional<Tuned> known = find_tuned(file, problem);
  Heuristic one{};
  if (!known || known->algorithm.size() != sizeof one.algo) return {{}, std::move(problem)};
  std::memcpy(&one.algo, known->algorithm.data(), sizeof one.algo);
  one.workspaceSize = known->workspace;
  return {{one}, ""};
}

void Plan::choose_for(const tn_call& call, const BlasProduct& product, Alignment alignment,
                      uint32_t bytes) try {
  // Some heuristics look at whether there is a bias and how it is aligned.
  const void* const somewhere = reinterpret_cast<const void*>(uintptr_t{bytes});
  if (has_pointer_) set(description_, BLASLT_VALUE(MATMUL_DESC_BIAS_POINTER), somewhere);
  Choice& choice = choices_[alignment];
  if (is_tuning()) choice = known_choice(file_of(call), problem_of(call, product, bytes));
  if (choice.found.empty())
    choice.found =
        choose(call, description_, b_, a_, c_, bytes, choice.problem.empty() ? 1 : kMeasured);
  has_[alignment] = true;
  for (const Heuristic& one : choice.found)
    workspace = std::max<uint64_t>(workspace, one.workspaceSize);
} catch (const sdk::Error& error) {
  if (error.code() != TN_UNIMPLEMENTED) throw;
}

void Plan::fuse(const tn_call& call, const BlasProduct& product, Activation activation, bool sums) {
  const tn_view* const bias = product.product.bias;
  activates = activation != kNone;
  adds_up = sums;
  // The library's B is our a; it sums B over the dimension of the product.
  epilogue_ = sums ? BLASLT_VALUE(EPILOGUE_BGRADB) : epilogue_of(bias != nullptr, activation);
  set(description_, BLASLT_VALUE(MATMUL_DESC_EPILOGUE), epilogue_);
  has_pointer_ = sums || bias != nullptr;
  if (!has_pointer_) return;
  const DataType element = types_of(output(call).dtype).element;
  set(description_, BLASLT_VALUE(MATMUL_DESC_BIAS_DATA_TYPE), static_cast<int32_t>(element));
}

// ---- Runs ---------------------------------------------------------------------------------------------------------------

bool suits_vectors(const void* address) {
  return kVectorBytes != 0 && is_aligned(address, kVectorBytes);
}

void Plan::multiply(const tn_call& call, const BlasProduct& product) const {
  if (!has_pointer_) return enqueue(call, product);
  const std::lock_guard lock(pointer_);
  const void* const beside = product.beside()->data;
  set(description_, BLASLT_VALUE(MATMUL_DESC_BIAS_POINTER), beside);
  enqueue(call, product);
}

bool are_vectors(const BlasPlace& at, const tn_view* beside) {
  return suits_vectors(at.a) && suits_vectors(at.b) && suits_vectors(at.c) &&
         (beside == nullptr || suits_vectors(beside->data));
}

bool Plan::suits(const tn_call& call, const BlasProduct& product) const {
  for (int64_t i = 0; i < blas_calls(product) && !has_[kLoose]; ++i)
    if (!are_vectors(blas_place(call, product, i), product.beside())) return false;
  return true;
}

void Plan::multiply_by(const tn_call& call, const BlasPlace& at, const Heuristic& how) const {
  const float one = 1, zero = 0;
  const double long_one = 1, long_zero = 0;
  const bool is_double = output(call).dtype == TN_DTYPE_F64;
  check(
      BLASLT_CALL(Matmul)(handle_of(call), description_.get(),
                          is_double ? static_cast<const void*>(&long_one) : &one, at.b, b_.get(),
                          at.a, a_.get(), is_double ? static_cast<const void*>(&long_zero) : &zero,
                          at.c, c_.get(), at.c, c_.get(), &how.algo, call.scratch, workspace,
                          static_cast<StreamHandle>(stream_of(call).handle())),
      "multiplying matrices");
}

// Each algorithm writes the same result, so they are measured on the call itself.
void Plan::measure(const tn_call& call, const BlasPlace& at, Choice& choice) const {
  double least = std::numeric_limits<double>::infinity();
  Heuristic fastest = choice.found.front();
  for (const Heuristic& one : choice.found) try {
      multiply_by(call, at, one);
      const double seconds = seconds_on(stream_of(call), [&] {
        for (int i = 0; i < kRepetitions; ++i) multiply_by(call, at, one);
      });
      if (seconds < least) least = seconds, fastest = one;
    } catch (const sdk::Error& error) {  // an algorithm that the heuristic should not have offered
      if (error.code() == TN_DEVICE_LOST) throw;
    }
  choice.found = {fastest};
  const std::string bytes(reinterpret_cast<const char*>(&fastest.algo), sizeof fastest.algo);
  keep_tuned(file_of(call), choice.problem, {bytes, fastest.workspaceSize});
  choice.problem.clear();
}

void Plan::enqueue(const tn_call& call, const BlasProduct& product) const {
  std::unique_lock<std::mutex> lock(measuring_, std::defer_lock);
  if (is_tuning()) lock.lock();
  for (int64_t i = 0; i < blas_calls(product); ++i) {
    const BlasPlace at = blas_place(call, product, i);
    const bool vectors = has_[kVector] && are_vectors(at, product.beside());
    Choice& choice = choices_[vectors ? kVector : kLoose];
    if (!choice.problem.empty() && !is_captured(stream_of(call).handle()))
      measure(call, at, choice);
    multiply_by(call, at, choice.found.front());
  }
}

}  // namespace

Description make_description(const Types& types, const BlasSide& a, const BlasSide& b) {
  BLASLT(MatmulDesc_t) made = nullptr;
  check(BLASLT_CALL(MatmulDescCreate)(&made, types.compute, types.scale), "describing a product");
  Description description(made);
  const auto operation = [](const BlasSide& side) {
    return side.transposed ? BLAS_VALUE(OP_T) : BLAS_VALUE(OP_N);
  };
  set(description, BLASLT_VALUE(MATMUL_DESC_TRANSA), operation(a));
  set(description, BLASLT_VALUE(MATMUL_DESC_TRANSB), operation(b));
  return description;
}

MatrixLayout make_layout(DataType element, int64_t rows, int64_t columns, int64_t pitch,
                         int64_t copies, int64_t step) {
  BLASLT(MatrixLayout_t) made = nullptr;
  check(BLASLT_CALL(MatrixLayoutCreate)(&made, element, static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), pitch),
        "describing a matrix");
  MatrixLayout layout(made);
  set(layout, BLASLT_VALUE(MATRIX_LAYOUT_BATCH_COUNT), static_cast<int32_t>(copies));
  set(layout, BLASLT_VALUE(MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), step);
  return layout;
}
MatrixLayout make_layout(DataType element, const BlasSide& side, int64_t along, int64_t across,
                         int64_t copies, int64_t step) {
  return side.transposed ? make_layout(element, across, along, side.pitch, copies, step)
                         : make_layout(element, along, across, side.pitch, copies, step);
}

std::vector<Heuristic> choose(const tn_call& call, const Description& description,
                              const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c,
                              uint32_t alignment, int most) {
  BLASLT(MatmulPreference_t) made = nullptr;
  check(BLASLT_CALL(MatmulPreferenceCreate)(&made), "describing what an algorithm may use");
  const Preference preference(made);
  set(preference, BLASLT_VALUE(MATMUL_PREF_MAX_WORKSPACE_BYTES), kMostWorkspace);
  for (const auto which : kAlignmentPreferences) set(preference, which, alignment);
  for (const auto& [which, value] : kPreferences) set(preference, which, value);
  std::vector<Heuristic> found(static_cast<size_t>(most));
  int count = 0;
  check(BLASLT_CALL(MatmulAlgoGetHeuristic)(handle_of(call), description.get(), a.get(), b.get(),
                                            c.get(), c.get(), preference.get(), most, found.data(),
                                            &count),
        "choosing an algorithm");
  if (count == 0) sdk::fail(TN_UNIMPLEMENTED, "[", rt::kName, "] no algorithm for this product");
  found.resize(static_cast<size_t>(count));
  return found;
}

bool takes_bias(const BlasProduct& product) {
  const Product& p = product.product;
  return p.bias == nullptr || p.bias_step == 1 || p.n == 1;
}

std::unique_ptr<BlasPlan> prepare(const tn_call& call, const BlasProduct& product) {
  const bool sums = product.sums != nullptr;
  if (sums || can_fuse(product.activation)) try {
      return std::make_unique<Plan>(call, product, product.activation, sums);
    } catch (const sdk::Error& error) {
      if (error.code() != TN_UNIMPLEMENTED) throw;
    }
  return std::make_unique<Plan>(call, product, kNone);
}

}  // namespace tenon::gpu::blaslt
