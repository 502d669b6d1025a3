// Layers over the calls of a thread: order, replacement, errors, scope. `clone` of host memory needs no plugin.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "dispatch/call.hpp"
#include "outcome.hpp"
#include "tenon/ext/draft/call_layers.h"
#include "tenon/op.h"
#include "tenon/tensor.h"

namespace tenon::core {
namespace {

using test::take;

const tn_op& clone_op() { return require_op("clone"); }

Ref floats(std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  tn_tensor* out = nullptr;
  check(tn_tensor_from_host(values.data(), values.size() * sizeof(float), TN_DTYPE_F32, 1, &n,
                            nullptr, &out));
  return Ref(out);
}
Ref clone(const Ref& x) {
  const tn_value arg = tensor_value(x.get());
  return call_one(clone_op(), &arg, 1);
}
float first(const Ref& x) { return *static_cast<const float*>(x->view.data); }

std::string error_of(auto&& body) {
  try {
    body();
  } catch (const Error& error) {
    return fmt::format("{} {}", error.code(), error.what());
  }
  return "no error";
}

// Logs its name, then does what the test asked for.
struct Logging : tn_call_layer {
  explicit Logging(std::string given) : tn_call_layer{}, name(std::move(given)) {
    struct_size = sizeof(tn_call_layer);
    ctx = this;
    call = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
              uint32_t nouts, uint32_t* done) {
      auto& layer = *static_cast<Logging*>(self);
      log += layer.name + " ";
      return layer.act(op, args, nargs, outs, nouts, done);
    };
    check(tn_call_layer_push(this));
  }
  ~Logging() { tn_status_release(tn_call_layer_pop(this)); }
  Logging(const Logging&) = delete;

  tn_status* act(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                 uint32_t nouts, uint32_t* done) const {
    if (calls_on) {
      *done = 1;
      return tn_op_call(op, args, nargs, outs, nouts);
    }
    if (answer) {
      *done = 1;
      outs[0] = Ref(answer).take();
    }
    if (claims) *done = 1;
    return fails ? tn_status_make(TN_CANCELLED, to_str("not today")) : nullptr;
  }

  static inline std::string log;
  std::string name;
  Ref answer;
  bool calls_on = false, claims = false, fails = false;
};

class Layers : public testing::Test {
 protected:
  void SetUp() override { Logging::log.clear(); }
  Ref x = floats({1, 2});
};

TEST_F(Layers, TheNewestSeesACallFirst) {
  const Logging below("below"), above("above");
  EXPECT_EQ(first(clone(x)), 1);
  EXPECT_EQ(Logging::log, "above below ");
}

TEST_F(Layers, OneMayComputeTheCall) {
  const Logging below("below");
  Logging above("above");
  above.answer = floats({7});
  EXPECT_EQ(first(clone(x)), 7);
  EXPECT_EQ(Logging::log, "above ");
}

TEST_F(Layers, ALayersCallsGoToThoseBelow) {
  const Logging lowest("lowest");
  Logging middle("middle"), above("above");
  above.calls_on = middle.calls_on = true;
  EXPECT_EQ(first(clone(x)), 1);
  EXPECT_EQ(Logging::log, "above middle lowest ");
  clone(x);  // every layer sees the next call again
  EXPECT_EQ(Logging::log, "above middle lowest above middle lowest ");
}

TEST_F(Layers, AnErrorEndsTheCall) {
  const Logging below("below");
  Logging above("above");
  above.fails = true;
  above.claims = true;
  EXPECT_EQ(error_of([&] { clone(x); }), "12 not today");
  EXPECT_EQ(Logging::log, "above ");
  above.fails = false;
  EXPECT_EQ(error_of([&] { clone(x); }), "11 [clone] a layer computed it without result 0");
}

TEST_F(Layers, AreOfTheirThread) {
  const Logging here("here");
  std::thread([&] { clone(x); }).join();
  EXPECT_EQ(Logging::log, "");
}

TEST_F(Layers, ComeOffInOrder) {
  Logging below("below"), above("above");
  EXPECT_EQ(take(tn_call_layer_pop(&below)).code, TN_FAILED_PRECONDITION);
  check(tn_call_layer_pop(&above));
  clone(x);
  EXPECT_EQ(Logging::log, "below ");
  EXPECT_EQ(take(tn_call_layer_pop(&above)).code, TN_FAILED_PRECONDITION);
  check(tn_call_layer_pop(&below));
  clone(x);
  EXPECT_EQ(Logging::log, "below ");
}

TEST_F(Layers, StayAsTheyAreWhileOneIsAtWork) {
  static tn_call_layer meddler;
  static uint32_t pushed, popped;
  meddler = {};
  meddler.struct_size = sizeof meddler;
  meddler.call = [](void*, const tn_op*, const tn_value*, uint32_t, tn_tensor**, uint32_t,
                    uint32_t*) -> tn_status* {
    pushed = take(tn_call_layer_push(&meddler)).code;
    popped = take(tn_call_layer_pop(&meddler)).code;
    return nullptr;
  };
  check(tn_call_layer_push(&meddler));
  clone(x);
  EXPECT_EQ(pushed, TN_FAILED_PRECONDITION);
  EXPECT_EQ(popped, TN_FAILED_PRECONDITION);
  check(tn_call_layer_pop(&meddler));
}

TEST_F(Layers, CallsThatWereRecordedBelowAreMadeAgainUnseen) {
  Logging below("below"), above("above");
  EXPECT_EQ(tn_call_layers_show(1), 2U);
  clone(x);
  EXPECT_EQ(Logging::log, "below ");
  EXPECT_EQ(tn_call_layers_show(0), 1U);
  clone(x);
  EXPECT_EQ(Logging::log, "below ");
  EXPECT_EQ(take(tn_call_layer_push(&below)).code, TN_FAILED_PRECONDITION);
  EXPECT_EQ(tn_call_layers_show(9), 0U);  // as many as there are
  clone(x);
  EXPECT_EQ(Logging::log, "below above below ");
}

TEST_F(Layers, CallsIntoATensorHaveAFunctionOfTheirOwn) {
  const Logging deaf("deaf");  // it has no call_into
  tn_call_layer layer{};
  layer.struct_size = sizeof layer;
  layer.call_into = [](void*, const tn_op*, const tn_value*, uint32_t, tn_tensor* const* outs,
                       uint32_t, uint32_t* done) -> tn_status* {
    *static_cast<float*>(outs[0]->view.data) = 9;
    *done = 1;
    return nullptr;
  };
  const Ref out = floats({0, 0});
  const tn_value arg = tensor_value(x.get());
  tn_tensor* const into[] = {out.get()};
  check(tn_op_call_into(&clone_op(), &arg, 1, into, 1));
  EXPECT_EQ(first(out), 1);
  check(tn_call_layer_push(&layer));
  check(tn_op_call_into(&clone_op(), &arg, 1, into, 1));
  check(tn_call_layer_pop(&layer));
  EXPECT_EQ(first(out), 9);
  EXPECT_EQ(Logging::log, "");
}

TEST_F(Layers, HooksSeeResultsOfALayer) {
  static std::string providers;
  providers.clear();
  tn_call_hooks hooks{};
  hooks.struct_size = sizeof hooks;
  hooks.after = [](void*, const tn_op*, const tn_value*, uint32_t, tn_tensor* const*, uint32_t,
                   tn_str provider) { providers += std::string(to_view(provider)) + " "; };
  Logging layer("layer");
  layer.calls_on = true;
  tn_call_hooks_set(&hooks);
  clone(x);
  tn_call_hooks_set(nullptr);
  EXPECT_EQ(providers, "core layer ");
}

TEST_F(Layers, AShortStructIsReadAsFarAsItGoes) {
  tn_call_layer layer{};
  layer.struct_size = offsetof(tn_call_layer, call);
  layer.call = [](void*, const tn_op*, const tn_value*, uint32_t, tn_tensor**, uint32_t,
                  uint32_t*) { return tn_status_make(TN_INTERNAL, to_str("beyond the end")); };
  check(tn_call_layer_push(&layer));
  EXPECT_EQ(first(clone(x)), 1);
  check(tn_call_layer_pop(&layer));
}

}  // namespace
}  // namespace tenon::core
