#include "chain.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "fused.hpp"

namespace tenon::cpu {

ChainCode cheap_op(std::string_view schema, tn_dtype in, tn_dtype out) {
  static constexpr std::array<std::pair<std::string_view, ChainCode>, 10> kCheap = {
      {{"add", ChainCode::kAdd},
       {"sub", ChainCode::kSub},
       {"mul", ChainCode::kMul},
       {"div", ChainCode::kDiv},
       {"neg", ChainCode::kNeg},
       {"abs", ChainCode::kAbs},
       {"sqrt", ChainCode::kSqrt},
       {"relu", ChainCode::kRelu},
       {"round", ChainCode::kRound},
       {"clamp", ChainCode::kClamp}}};
  const std::string_view name = schema.substr(0, schema.find_first_of("@("));
  if (in == TN_DTYPE_I32 && out == TN_DTYPE_I32)
    return name == "add"   ? ChainCode::kAddInt
           : name == "sub" ? ChainCode::kSubInt
                           : ChainCode::kNone;
  if (in == TN_DTYPE_I32 && out == TN_DTYPE_F32 && name == "cast") return ChainCode::kFromInt;
  if (in != TN_DTYPE_F32 || out != TN_DTYPE_F32) return ChainCode::kNone;
  const auto* const found =
      std::ranges::find(kCheap, name, [](const auto& one) { return one.first; });
  return found == kCheap.end() ? ChainCode::kNone : found->second;
}

namespace {

// With its operands exchanged.
ChainCode reversed(ChainCode code) {
  return code == ChainCode::kSub      ? ChainCode::kSubFrom
         : code == ChainCode::kSubInt ? ChainCode::kSubIntFrom
         : code == ChainCode::kDiv    ? ChainCode::kDivInto
                                      : code;
}

// Of a value and itself; kNone where that is no op of chains.
ChainCode with_itself(ChainCode code) {
  return code == ChainCode::kAdd   ? ChainCode::kDouble
         : code == ChainCode::kMul ? ChainCode::kSquare
                                   : ChainCode::kNone;
}

class Chains {
 public:
  Chains(Fused& fused, size_t places) : fused_(fused), last_read_(places, -1) {
    const auto& steps = fused.steps;
    for (size_t s = 0; s < steps.size(); ++s)
      each_read(fused, steps[s], [&](uint16_t place) { last_read_[place] = static_cast<int>(s); });
    double bytes = 0;
    for (const Operand& operand : fused.operands) bytes += bytes_of(fused, operand);
    streams_ = bytes >= kStreamed;
  }

  void make() {
    std::vector<Step> made;
    for (size_t s = 0, end = 0; s < fused_.steps.size(); s = end) {
      end = end_of(s);
      made.push_back(end - s == 1 ? fused_.steps[s] : chain(s, end));
    }
    fused_.steps = std::move(made);
  }

 private:
  // Bytes of operands of which caches would keep little for the next kernel.
  static constexpr double kStreamed = 24 << 20;

  size_t end_of(size_t s) const {
    const auto& steps = fused_.steps;
    size_t end = s + 1;
    if (steps[s].cheap == ChainCode::kNone) return end;
    while (end < steps.size() && goes_on(steps[end], steps[end - 1].to.place)) ++end;
    return end;
  }

  static bool goes_on(const Step& step, uint16_t value) {
    if (step.cheap == ChainCode::kNone) return false;
    const auto reads = std::count(step.in.begin(), step.in.begin() + step.inputs, value);
    return reads == 1 || (reads == 2 && with_itself(step.cheap) != ChainCode::kNone);
  }

  Step chain(size_t s, size_t end) {
    Step made{};
    made.kind = Step::Kind::kChain;
    made.spread = Spread::kAll;
    made.size = sizeof(float);
    made.chain = static_cast<uint32_t>(fused_.chains.size());
    auto& ops = fused_.chains.emplace_back();
    const Step& first = fused_.steps[s];
    ops.push_back({ChainCode::kLoad, (first.ones & 1) != 0, first.in[0]});
    if (first.inputs == 2)
      ops.push_back({first.cheap, (first.ones & 2) != 0, first.in[1]});
    else
      ops.push_back(alone(first));
    store(ops, s, end);
    for (size_t t = s + 1; t < end; ++t) {
      ops.push_back(op(fused_.steps[t], fused_.steps[t - 1].to.place));
      store(ops, t, end);
    }
    return made;
  }

  static ChainOp alone(const Step& step) { return {step.cheap, false, 0, step.low, step.high}; }

  static ChainOp op(const Step& step, uint16_t value) {
    if (step.inputs == 1) return alone(step);
    if (step.in[0] == value && step.in[1] == value) return {with_itself(step.cheap), false, 0};
    if (step.in[0] == value) return {step.cheap, (step.ones & 2) != 0, step.in[1]};
    return {reversed(step.cheap), (step.ones & 1) != 0, step.in[0]};
  }

  // What an output takes, and what others read than the next op of the chain.
  void store(std::vector<ChainOp>& ops, size_t t, size_t end) {
    const uint16_t place = fused_.steps[t].to.place;
    const bool read = last_read_[place] > static_cast<int>(t + 1 < end ? t + 1 : t);
    const bool output = place < fused_.operands.size();
    if (!output && !read) return;
    const bool streamed = output && !read && streams_;
    fused_.streams |= streamed;
    ops.push_back({streamed ? ChainCode::kStream : ChainCode::kStore, false, place});
  }

  Fused& fused_;
  std::vector<int> last_read_;  // by place: the last step that does
  bool streams_ = false;
};

}  // namespace

void make_chains(Fused& fused, size_t places) { Chains(fused, places).make(); }

}  // namespace tenon::cpu
