// Hooks that change what recorded calls save for their gradients.
#include "support.hpp"

namespace tenon::testing {
namespace {

// Saves tensors as halves, and counts them.
struct Halves {
  int packed = 0, unpacked = 0;
  bool refuse = false, forget = false;

  static tn_status* pack(void* self, tn_tensor* tensor, tn_tensor* alias, tn_tensor** kept) {
    Halves& halves = *static_cast<Halves*>(self);
    ++halves.packed;
    EXPECT_NE(tensor, alias);
    EXPECT_EQ(tn_tensor_requires_grad(alias), 0u) << "an alias has no history";
    if (halves.refuse) return tn_status_make(TN_CANCELLED, detail::to_str("no room"));
    if (!halves.forget) *kept = (Tensor::share(alias) * 0.5).take();
    return nullptr;
  }
  static tn_status* unpack(void* self, tn_tensor* kept, tn_tensor** tensor) {
    Halves& halves = *static_cast<Halves*>(self);
    ++halves.unpacked;
    Tensor whole = Tensor::share(kept) * 2;
    EXPECT_FALSE(whole.requires_grad()) << "nothing is recorded here";
    *tensor = (halves.forget ? whole.sum() : whole).take();
    return nullptr;
  }
  tn_saved_hooks table{sizeof(tn_saved_hooks), 0, this, pack, unpack};
};

class Within {
 public:
  explicit Within(const tn_saved_hooks& hooks) : before_(tn_saved_hooks_set(&hooks)) {}
  ~Within() { tn_saved_hooks_set(before_); }
  Within(const Within&) = delete;

 private:
  const tn_saved_hooks* before_;
};

TEST(SavedHooks, PackAndUnpackWhatOpsSave) {
  Halves halves;
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  Tensor y;
  {
    const Within within(halves.table);
    y = (x * w).exp();  // saves x, w and the result of exp
  }
  EXPECT_EQ(halves.packed, 3);
  y.sum().backward({}, true);
  EXPECT_EQ(halves.unpacked, 3);
  const Values first = grad_of(x);
  EXPECT_NEAR(first[0], 3 * std::exp(3.f), 1e-4);
  y.sum().backward();
  EXPECT_EQ(halves.unpacked, 6) << "a graph that was kept is unpacked again";
  EXPECT_NEAR(grad_of(x)[0], 2 * first[0], 1e-3);
}

TEST(SavedHooks, SecondGradients) {
  Halves halves;
  Tensor x = leaf({2});
  Tensor y;
  {
    const Within within(halves.table);
    y = x * x * x;
  }
  const Tensor first = gradient(y, x, {.create_graph = true});
  EXPECT_EQ(values(first), Values{12});
  EXPECT_EQ(values(gradient(first, x)), Values{12});
}

TEST(SavedHooks, WritesToPackedTensorsHaveNoEffect) {
  Halves halves;
  Tensor x = leaf({2}), w = tensor({5.f});
  Tensor y;
  {
    const Within within(halves.table);
    y = x * w;
  }
  w.add_(1);
  y.backward();
  EXPECT_EQ(grad_of(x), Values{5});
}

TEST(SavedHooks, ErrorsEndTheCall) {
  Halves halves;
  Tensor x = leaf({1, 2});
  const Within within(halves.table);
  halves.refuse = true;
  EXPECT_ERROR(x * x, "no room");
  halves.refuse = false;
  halves.forget = true;
  EXPECT_ERROR(x * x, "[mul] hooks packed a saved tensor into nothing");
  halves.forget = false;
  const Tensor y = (x * x).sum();
  halves.forget = true;
  EXPECT_ERROR(y.backward(), "[mul]", "what hooks unpacked is not the tensor of shape (2,)",
               "f32()");
}

}  // namespace
}  // namespace tenon::testing
