// Graphs of plugins/gpu/vendor_runtime.cpp over the stand-in, which runs work only when it must: what a replay enqueues comes between the
// work enqueued before it and the work enqueued after it. Only fills run.
#include "tenon/capture.hpp"

#include <gtest/gtest.h>

#include "tenon/tenon.hpp"

namespace {

using namespace tenon;

constexpr int64_t kCount = 100;
std::vector<float> all(float value) { return std::vector<float>(kCount, value); }
Tensor on(const Device& device, float value) {
  return to(tensor(all(value)), device);
}  // By a kernel where the bytes differ.
void fill(const Tensor& x, float value) {
  const int64_t shape[] = {kCount};
  const tn_value args[] = {detail::value(IntList(shape)), detail::value(value),
                           detail::value(DType::F32), detail::value(x.device())};
  detail::call_into(detail::op_full, args, 4, x);
}

TEST(Graphs, ReplayInOrderWithTheStream) {
  const Device rocm("rocm:0");
  Tensor x = on(rocm, 1), made;
  const Graph graph = capture(rocm, [&] {
    fill(x, 7);
    made = full({kCount}, 3.5f, DType::F32, rocm);
  });
  EXPECT_EQ(graph.nodes(), 2u);
  EXPECT_EQ(x.to_vector<float>(), all(1));  // nothing has run
  for (int round = 0; round < 3; ++round) {
    graph.replay();
    EXPECT_EQ(x.to_vector<float>(), all(7));
    EXPECT_EQ(made.to_vector<float>(), all(3.5f));
    graph.replay();
    fill(x, 2);
    EXPECT_EQ(x.to_vector<float>(), all(2));
    fill(made, 0);
    graph.replay();
    graph.replay();
    fill(x, 4);
    EXPECT_EQ(x.to_vector<float>(), all(4));
    EXPECT_EQ(made.to_vector<float>(), all(3.5f));
  }
}

TEST(Graphs, RefusedWorkDoesNotReachTheRuntime) {
  const Device rocm("rocm:1");
  Tensor x = on(rocm, 1);
  const Graph graph = capture(rocm, [&] {
    fill(x, 7);
    EXPECT_THROW(x.to_vector<float>(), Error);
    EXPECT_THROW(rocm.synchronize(), Error);
    EXPECT_THROW(to(x, Device("rocm:0")), Error);
    EXPECT_THROW(on(rocm, 2), Error);
    rocm.trim_memory();  // waits for the device's own stream
    fill(x, 8);
  });
  EXPECT_EQ(graph.nodes(), 2u);
  graph.replay();
  EXPECT_EQ(x.to_vector<float>(), all(8));
}

TEST(Graphs, TheirMemoryIsTheirsAsLongAsTheyLive) {
  const Device rocm("rocm:0");
  rocm.trim_memory();
  const uint64_t before = rocm.info().memory_free;
  {
    Tensor kept;
    Graph graph = capture(rocm, [&] {
      for (const float value : {1.0f, 2.0f, 3.5f}) kept = full({kCount}, value, DType::F32, rocm);
    });
    kept = Tensor();
    rocm.trim_memory();
    EXPECT_LT(rocm.info().memory_free, before);
    std::vector<Tensor> others;
    for (int i = 0; i < 8; ++i) others.push_back(on(rocm, 9));
    graph.replay();
    for (const Tensor& other : others) EXPECT_EQ(other.to_vector<float>(), all(9));
    EXPECT_THROW(capture(rocm,
                         [&] {
                           kept = full({kCount}, 5.5f, DType::F32, rocm);
                           throw std::runtime_error("from the body");
                         }),
                 std::runtime_error);
    fill(kept, 6);
    EXPECT_EQ(kept.to_vector<float>(), all(6));
  }
  rocm.trim_memory();
  EXPECT_EQ(rocm.info().memory_free, before);
}

}  // namespace
