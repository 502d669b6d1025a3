#include <gtest/gtest.h>

#include "libs/scratch.hpp"
#include "tenon/graph.hpp"
#include "tenon/onnx.hpp"
#include "tenon/tenon.hpp"
#include "wire.hpp"

namespace tenon {
namespace {

std::string written(const Scratch& folder, const std::string& text) {
  return folder.write("model.onnx", text);
}

std::string error_of(const std::string& text) {
  const Scratch folder;
  try {
    onnx::load(written(folder, text));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Onnx, RunsAndTraces) {
  const Scratch folder;
  const onnx::Model model = onnx::load(written(folder, test::relu_model()));
  const Tensor x = tensor({-1.F, 2.F});
  EXPECT_EQ(model({x})[0].to_vector<float>(), (std::vector<float>{0, 2}));
  const graph::Program program =
      graph::trace({x}, [&](std::span<const Tensor> in) { return model(in); });
  EXPECT_EQ(program({x})[0].to_vector<float>(), (std::vector<float>{0, 2}));
}

TEST(Onnx, TellsWhatItIs) {
  const Scratch folder;
  const onnx::Model model = onnx::load(written(folder, test::relu_model()));
  const tn_onnx_info info = model.info();
  EXPECT_EQ(info.inputs, 1u);
  EXPECT_EQ(info.results, 1u);
  EXPECT_EQ(info.nodes, 1u);
  EXPECT_EQ(info.opset, 21);
  const tn_onnx_port port = model.input(0);
  EXPECT_EQ(detail::to_view(port.name), "x");
  ASSERT_EQ(port.ndim, 1u);
  EXPECT_EQ(port.shape[0], 2);
  EXPECT_THROW(model.input(1), Error);
  // A caller with an older header gets the fields that fit into its struct.
  tn_onnx_info small{};
  small.struct_size = offsetof(tn_onnx_info, nodes);
  detail::check(tn_onnx_get_info(model.get(), &small));
  EXPECT_EQ(small.inputs, 1u);
  EXPECT_EQ(small.opset, 0);
}

TEST(Onnx, ExportsNamesAndSizes) {
  const Scratch folder;
  const std::string path = folder.path("sized.onnx");
  const Tensor rows = arange(4).reshape({2, 2}).to(DType::F32);
  const graph::Program program =
      graph::trace({rows}, {{{0, {"rows"}}}},
                   [](std::span<const Tensor> in) { return std::vector{in[0] / in[0].shape(0)}; });
  onnx::save(program, path, {21, {"x"}, {"y"}});
  const onnx::Model model = onnx::load(path);
  EXPECT_EQ(model.info().opset, 21);
  EXPECT_EQ(detail::to_view(model.input(0).name), "x");
  EXPECT_EQ(detail::to_view(model.result(0).name), "y");
  EXPECT_EQ(model.input(0).shape[0], -1);
  EXPECT_EQ(detail::to_view(model.input(0).symbols[0]), "rows");
  const Tensor more = ones({5, 2});
  EXPECT_EQ(model({more})[0].to_vector<float>(), (more / 5).to_vector<float>());
  EXPECT_THROW(onnx::save(program, path, {0, {"x", "z"}, {}}), Error);
  EXPECT_THROW(onnx::save(program, path, {0, {"x"}, {"x"}}), Error);
}

TEST(Onnx, NullIsRefused) {
  for (tn_status* status :
       {tn_onnx_load({}, nullptr), tn_onnx_get_info(nullptr, nullptr),
        tn_onnx_input(nullptr, 0, nullptr), tn_onnx_run(nullptr, nullptr, 0, nullptr, 0),
        tn_onnx_list_ops(nullptr, nullptr, nullptr), tn_onnx_list_converters(nullptr, nullptr)}) {
    ASSERT_NE(status, nullptr);
    EXPECT_EQ(tn_status_code(status), static_cast<uint32_t>(TN_INVALID_ARGUMENT));
    tn_status_release(status);
  }
  tn_onnx_release(nullptr);
  tn_onnx_release_values(nullptr, 3);
}

TEST(Onnx, WrongInputsAreRefused) {
  const Scratch folder;
  const onnx::Model model = onnx::load(written(folder, test::relu_model()));
  EXPECT_THROW(model({}), Error);
  EXPECT_THROW(model({zeros({3})}), Error);
  EXPECT_THROW(model({zeros({2}, DType::I64)}), Error);
  EXPECT_THROW(model.run({onnx::Value(std::vector<onnx::Value>{zeros({2})})}), Error);
}

TEST(Onnx, MalformedFilesAreToldByTheirPlace) {
  using namespace test;  // NOLINT(google-build-using-namespace): the words of the wire format
  EXPECT_NE(error_of("").find("no graph"), std::string::npos);
  EXPECT_NE(error_of("\x0f").find("wire type"), std::string::npos);
  EXPECT_NE(error_of(bytes(7, "") + "\x3a\x7f").find("byte 4: field 7 should have 127 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(11, '\xff')).find("more than ten bytes"), std::string::npos);
  EXPECT_NE(error_of(model(bytes(1, bytes(1, "x")))).find("a node without an op"),
            std::string::npos);
  EXPECT_NE(error_of(bytes(7, bytes(1, node("Relu", "x", "y")))).find("names no opset"),
            std::string::npos);
}

TEST(Onnx, TensorsThatDoNotFitTheirShape) {
  using namespace test;  // NOLINT(google-build-using-namespace): the words of the wire format
  const auto tensor_of = [](const std::string& fields) {
    return model(bytes(5, fields + bytes(8, "w")));
  };
  EXPECT_NE(error_of(tensor_of(number(1, 3) + number(2, 1) + bytes(9, "1234")))
                .find("'w': 4 bytes for 3"),
            std::string::npos);
  EXPECT_NE(error_of(tensor_of(number(1, uint64_t{1} << 62) + number(1, 8) + number(2, 1)))
                .find("a size of"),
            std::string::npos);
  EXPECT_NE(error_of(tensor_of(number(1, 1) + number(2, 9) + bytes(9, "\x02"))).find("a bool"),
            std::string::npos);
  EXPECT_NE(error_of(tensor_of(number(1, 1) + number(2, 8) + bytes(6, "a"))).find("STRING"),
            std::string::npos);
}

// Bodies nested deeper than in any real model.
TEST(Onnx, DepthIsLimited) {
  using namespace test;  // NOLINT(google-build-using-namespace): the words of the wire format
  std::string graph;
  for (int i = 0; i < 40; ++i)
    graph = bytes(1, bytes(5, bytes(1, "then_branch") + bytes(6, graph)) + bytes(4, "If"));
  EXPECT_NE(error_of(model(graph)).find("deep"), std::string::npos);
}

// Many two-byte messages must not take a multiple of the file's memory.
TEST(Onnx, TinyMessagesAreLimited) {
  using namespace test;  // NOLINT(google-build-using-namespace): the words of the wire format
  std::string graph;
  for (int i = 0; i < 400'000; ++i) graph += bytes(11, "");
  EXPECT_NE(error_of(model(graph)).find("four times the file"), std::string::npos);
}

}  // namespace
}  // namespace tenon
