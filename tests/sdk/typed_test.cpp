// Kernels over typed spans, and devices as classes, with a host table made for tests.
#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

#include "fake_host.hpp"
#include "tenon/device_type.hpp"

namespace tenon::sdk {
namespace {

using Typed = Sugar;

// A call over contiguous views, made by hand.
struct MadeCall {
  std::deque<tn_view> views;
  std::deque<std::vector<int64_t>> sizes;
  std::vector<tn_value> args;
  std::vector<const tn_view*> outs;
  tn_loop loop{};
  tn_call call{};

  template <class T>
  const tn_view* view(std::vector<T>& data, std::vector<int64_t> shape) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    sizes.push_back(shape);
    const int64_t* at = sizes.back().data();
    sizes.push_back(strides);
    tn_view made{};
    made.struct_size = sizeof made;
    made.dtype = dtype_of<T>;
    made.ndim = static_cast<uint32_t>(shape.size());
    made.flags = TN_VIEW_CONTIGUOUS;
    made.data = data.data();
    made.shape = at;
    made.strides = sizes.back().data();
    views.push_back(made);
    return &views.back();
  }
  template <class T>
  MadeCall& in(std::vector<T>& data, std::vector<int64_t> shape) {
    tn_value value{TN_VALUE_VIEW, 0, {}};
    value.as.view = view(data, std::move(shape));
    args.push_back(value);
    return *this;
  }
  template <class T>
  MadeCall& out(std::vector<T>& data, std::vector<int64_t> shape) {
    outs.push_back(view(data, std::move(shape)));
    return *this;
  }
  MadeCall& attribute(tn_value value) {
    args.push_back(value);
    return *this;
  }
  const tn_call* get(bool elementwise = false, bool contiguous = true) {
    call.struct_size = sizeof call;
    call.args = args.data();
    call.nargs = static_cast<uint32_t>(args.size());
    call.outs = outs.data();
    call.nouts = static_cast<uint32_t>(outs.size());
    call.loop = elementwise ? &loop : nullptr;
    call.flags = elementwise && contiguous ? TN_CALL_CONTIGUOUS : 0;
    return &call;
  }
};

bool supports(const tn_kernel& kernel, const tn_call* call) {
  uint32_t yes = 7;
  EXPECT_EQ(kernel.supports(kernel.self, call, &yes), nullptr);
  EXPECT_LE(yes, 1u);
  return yes == 1;
}
tn_value real(double x) {
  tn_value value{TN_VALUE_FLOAT, 0, {}};
  value.as.f = x;
  return value;
}
tn_value text(std::string_view x) {
  tn_value value{TN_VALUE_STR, static_cast<uint32_t>(x.size()), {}};
  value.as.str = x.data();
  return value;
}

void scale(std::span<const float> x, double factor, std::span<float> y) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] * static_cast<float>(factor);
}

TEST_F(Typed, AKernelIsAFunctionOverSpans) {
  const tn_kernel kernel = sdk::kernel<scale>("acme.scale(Tensor x, float factor) -> Tensor @1", 5);
  EXPECT_EQ(kernel.struct_size, sizeof kernel);
  EXPECT_EQ(kernel.dtypes, TN_MASK(TN_DTYPE_F32));
  EXPECT_EQ(kernel.priority, 5);
  std::vector<float> x = {1, 2, 3}, y(3);
  MadeCall made;
  made.in(x, {3}).attribute(real(2)).out(y, {3});
  EXPECT_TRUE(supports(kernel, made.get(true)));
  EXPECT_EQ(kernel.run(kernel.self, nullptr, made.get(true)), nullptr);
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6}));
  EXPECT_FALSE(supports(kernel, made.get(true, false))) << "operands with gaps or broadcasts";
  EXPECT_TRUE(supports(kernel, made.get(false))) << "no loop: inputs are contiguous";
}

TEST_F(Typed, OtherDtypesAndMissingArgumentsAreNotSupported) {
  const tn_kernel kernel = sdk::kernel<scale>("acme.scale(Tensor x, float factor) -> Tensor @1");
  std::vector<float> x(3);
  std::vector<double> wide(3);
  EXPECT_FALSE(supports(kernel, MadeCall().in(wide, {3}).attribute(real(2)).out(x, {3}).get()));
  EXPECT_FALSE(supports(kernel, MadeCall().in(x, {3}).attribute(real(2)).out(wide, {3}).get()));
  EXPECT_FALSE(supports(kernel, MadeCall().in(x, {3}).attribute({}).out(x, {3}).get()));
  EXPECT_FALSE(supports(kernel, MadeCall().in(x, {3}).get()));
}

// Every kind of parameter: shapes, a tensor that may be absent, integers, flags, text, a list.
void everything(Array<const int64_t> index, std::optional<std::span<const float>> weight,
                std::span<const int64_t> sizes, int64_t dim, bool keep, std::string_view mode,
                Array<float> first, std::span<uint8_t> second) {
  if (mode == "throw") throw std::runtime_error("broke");
  first(1, 2) = static_cast<float>(index(0, 1) + sizes[1] + dim) + (weight ? (*weight)[0] : 0.5f);
  second[0] = keep ? 1 : 0;
}

TEST_F(Typed, ParametersFollowTheSchema) {
  const tn_kernel kernel = sdk::kernel<everything>("acme.everything(…) -> (Tensor, Tensor) @1");
  EXPECT_EQ(kernel.dtypes, TN_MASK(TN_DTYPE_I64));
  std::vector<int64_t> index = {10, 20};
  std::vector<float> first(6), weight = {0.25f};
  std::vector<uint8_t> second(1);
  const int64_t list[2] = {300, 400};
  tn_value sizes{TN_VALUE_INTS, 2, {}}, dim{TN_VALUE_INT, 0, {}}, keep{TN_VALUE_BOOL, 0, {}};
  sizes.as.ints = list;
  dim.as.i = -1;
  keep.as.i = 1;
  const auto fill = [&](MadeCall& made, bool weighted, std::string_view mode) {
    made.in(index, {1, 2});
    if (weighted)
      made.in(weight, {1});
    else
      made.attribute({});
    made.attribute(sizes).attribute(dim).attribute(keep).attribute(text(mode));
    made.out(first, {2, 3}).out(second, {1});
    return made.get();
  };
  MadeCall with, without, broken;
  EXPECT_TRUE(supports(kernel, fill(with, true, "sum")));
  EXPECT_EQ(kernel.run(kernel.self, nullptr, with.get()), nullptr);
  EXPECT_EQ(first[5], 20 + 400 - 1 + 0.25f);
  EXPECT_EQ(second[0], 1);
  EXPECT_TRUE(supports(kernel, fill(without, false, "sum")));
  EXPECT_EQ(kernel.run(kernel.self, nullptr, without.get()), nullptr);
  EXPECT_EQ(first[5], 20 + 400 - 1 + 0.5f);
  expect(kernel.run(kernel.self, nullptr, fill(broken, true, "throw")), TN_INTERNAL, "broke");
}

bool square(Array<const float> x, Array<float>) {
  return x.ndim() == 2 && x.shape(0) == x.shape(-1);
}
void transpose(Array<const float> x, Array<float> y) {
  for (int64_t i = 0; i < x.shape(0); ++i)
    for (int64_t j = 0; j < x.shape(1); ++j) y(j, i) = x(i, j);
}

TEST_F(Typed, SupportsLooksAtShapes) {
  const tn_kernel kernel = sdk::kernel<transpose, square>("acme.transpose(Tensor x) -> Tensor @1");
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  MadeCall made, flat;
  EXPECT_TRUE(supports(kernel, made.in(x, {2, 2}).out(y, {2, 2}).get()));
  EXPECT_FALSE(supports(kernel, flat.in(x, {4}).out(y, {4}).get()));
  EXPECT_EQ(kernel.run(kernel.self, nullptr, made.get()), nullptr);
  EXPECT_EQ(y, (std::vector<float>{1, 3, 2, 4}));
}

// ---- Devices as classes ---------------------------------------------------------------------------------------------------------

tn_device_type g_type;
tn_device_table g_device;
tn_memory_table g_memory;
tn_stream_table g_stream;
std::string g_log;

struct Plain {
  uint64_t allocated = 0;
  void info(uint32_t, tn_device_info* out) const { out->compute_units = 3; }
  void allocate(uint32_t index, uint64_t bytes, void** buffer, void** address) {
    if (bytes > 100) fail(TN_OUT_OF_MEMORY, "device ", index, " has no ", bytes, " bytes");
    allocated += bytes;
    *buffer = *address = this;
  }
  void free(uint32_t, void*) noexcept(false) { throw std::runtime_error("freed twice"); }
  void copy_in(uint32_t, void*, const void*, void*, uint64_t, uint64_t) { throw 1; }
  void copy_out(uint32_t, void*, void*, uint64_t, void*, uint64_t) const noexcept {}
  void copy_within(uint32_t, void*, void*, uint64_t, void*, uint64_t, uint64_t) {}
};
struct WithStreams : Plain {
  static constexpr uint32_t memory_flags = TN_MEMORY_ADDRESSABLE;
  void count(uint32_t* devices, tn_str*) { *devices = 2; }
  void stream_create(uint32_t index, void** stream) {
    *stream = reinterpret_cast<void*>(uintptr_t{index} + 1);
  }
  void stream_destroy(void*) {}
  void event_query(void*, uint32_t* done) { *done = 1; }
};

struct Devices : Sugar {
  void SetUp() override {
    own.register_device_type = [](void*, const tn_device_type* type) -> tn_status* {
      g_type = *type;
      g_device = *type->device;
      g_memory = *type->memory;
      g_stream = type->stream != nullptr ? *type->stream : tn_stream_table{};
      return nullptr;
    };
    own.log = [](uint32_t, tn_str message) { g_log = view_of(message); };
    Sugar::SetUp();
    registry.emplace(host(), nullptr, "/somewhere");
  }
  std::optional<Registry> registry;
};

TEST_F(Devices, MembersBecomeSlots) {
  Plain plain;
  register_devices(*registry, "plain", plain);
  EXPECT_EQ(view_of(g_type.name), "plain");
  EXPECT_EQ(g_type.stream, nullptr);
  void *buffer = nullptr, *address = nullptr;
  EXPECT_EQ(g_memory.allocate(g_type.self, 0, 64, &buffer, &address), nullptr);
  EXPECT_EQ(plain.allocated, 64u);
  EXPECT_EQ(buffer, &plain);
  tn_device_info about{};
  EXPECT_EQ(g_device.info(g_type.self, 0, &about), nullptr);
  EXPECT_EQ(about.compute_units, 3u);
  uint32_t count = 0;
  tn_str reason{};
  EXPECT_EQ(g_device.count(g_type.self, &count, &reason), nullptr);
  EXPECT_EQ(count, 1u) << "one device, unless the class counts";
  EXPECT_EQ(g_device.synchronize(g_type.self, 0), nullptr);
}

TEST_F(Devices, MissingMembersAreMissingSlots) {
  Plain plain;
  register_devices(*registry, "plain", plain);
  EXPECT_EQ(g_memory.fill, nullptr);
  EXPECT_EQ(g_memory.copy_peer, nullptr);
  EXPECT_EQ(g_memory.flags, 0u);
  WithStreams streams;
  register_devices(*registry, "streams", streams);
  EXPECT_NE(g_stream.create, nullptr);
  EXPECT_NE(g_stream.event_query, nullptr);
  EXPECT_EQ(g_stream.event_record, nullptr);
  EXPECT_EQ(g_memory.flags, TN_MEMORY_ADDRESSABLE);
  void* stream = nullptr;
  EXPECT_EQ(g_stream.create(g_type.self, 1, &stream), nullptr);
  EXPECT_EQ(stream, reinterpret_cast<void*>(2));
  uint32_t count = 0;
  EXPECT_EQ(g_device.count(g_type.self, &count, nullptr), nullptr);
  EXPECT_EQ(count, 2u);
}

TEST_F(Devices, ExceptionsOfMembersBecomeStatuses) {
  Plain plain;
  register_devices(*registry, "plain", plain);
  void *buffer = nullptr, *address = nullptr;
  expect(g_memory.allocate(g_type.self, 3, 200, &buffer, &address), TN_OUT_OF_MEMORY,
         "device 3 has no 200 bytes");
  expect(g_memory.copy_in(g_type.self, 0, nullptr, nullptr, nullptr, 0, 0), TN_INTERNAL,
         "unknown exception");
  g_memory.free(g_type.self, 0, nullptr);
  EXPECT_EQ(g_log, "freed twice") << "a slot that returns nothing has only the log";
}

}  // namespace
}  // namespace tenon::sdk
