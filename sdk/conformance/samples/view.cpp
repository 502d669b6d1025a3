// Views.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

// A view takes elements of x; fn maps an index of the result to an index of x.
template <class Fn>
void view(Table& t, const std::string& op, const std::string& label, const Shape& x,
          const Shape& result, const Args& rest, Fn fn) {
  t.add(
      op, label, kMovable,
      [=](DType dtype, Rng& rng) {
        Args args = {random_array(rng, dtype, x)};
        args.insert(args.end(), rest.begin(), rest.end());
        return args;
      },
      [=](const Args& a) {
        const Array& from = array(a, arg::reshape::x);
        Array out(from.dtype, result);
        for_each_index(result,
                       [&](const Shape& at) { out.v[out.at(at)] = from.v[from.at(fn(at))]; });
        return one(out);
      });
}

// The index with the same row-major position.
auto same_position(const Shape& from, const Shape& to) {
  return [=](const Shape& at) {
    size_t position = Array(DType::Bool, from).at(at);
    Shape index(to.size());
    for (size_t d = to.size(); d-- > 0;) {
      index[d] = static_cast<int64_t>(position) % to[d];
      position /= static_cast<size_t>(to[d]);
    }
    return index;
  };
}

void add_views(Table& t) {
  view(t, "reshape", "(2,3,4) to (4,6)", {2, 3, 4}, {4, 6}, {Shape{4, -1}},
       same_position({4, 6}, {2, 3, 4}));
  view(t, "flatten", "(2,3,4)", {2, 3, 4}, {2, 12}, {int64_t{1}, int64_t{-1}},
       same_position({2, 12}, {2, 3, 4}));
  view(t, "squeeze", "(2,1,3,1)", {2, 1, 3, 1}, {2, 3}, {}, [](const Shape& i) {
    return Shape{i[0], 0, i[1], 0};
  });
  view(t, "unsqueeze", "(2,3)", {2, 3}, {2, 1, 3}, {int64_t{1}}, [](const Shape& i) {
    return Shape{i[0], i[2]};
  });
  view(t, "permute", "(2,3,4)", {2, 3, 4}, {4, 2, 3}, {Shape{2, 0, 1}}, [](const Shape& i) {
    return Shape{i[1], i[2], i[0]};
  });
  view(t, "transpose", "(2,3,4)", {2, 3, 4}, {4, 3, 2}, {int64_t{0}, int64_t{-1}},
       [](const Shape& i) {
         return Shape{i[2], i[1], i[0]};
       });
  view(t, "expand", "(3,1)", {3, 1}, {2, 3, 4}, {Shape{2, 3, 4}}, [](const Shape& i) {
    return Shape{i[1], 0};
  });
  view(t, "slice", "(3,7) step 2", {3, 7}, {3, 3}, {int64_t{1}, int64_t{1}, int64_t{6}, int64_t{2}},
       [](const Shape& i) {
         return Shape{i[0], 1 + 2 * i[1]};
       });
  view(t, "select", "(3,4)", {3, 4}, {3}, {int64_t{1}, int64_t{-1}}, [](const Shape& i) {
    return Shape{i[0], 3};
  });
  view(t, "flip", "(3,4)", {3, 4}, {3, 4}, {Shape{1}}, [](const Shape& i) {
    return Shape{i[0], 3 - i[1]};
  });
  view(t, "diagonal", "(3,4) offset 1", {3, 4}, {3}, {int64_t{1}}, [](const Shape& i) {
    return Shape{i[0], i[0] + 1};
  });
  view(t, "alias", "(2,3)", {2, 3}, {2, 3}, {}, [](const Shape& i) { return i; });
  t.add(
       "as_strided", "(4,4) diagonal", kMovable,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {4, 4}), Shape{4}, Shape{5}};
       },
       [](const Args& a) {
         Array out(array(a, arg::as_strided::x).dtype, {4});
         for (size_t i = 0; i < 4; ++i) out.v[i] = array(a, arg::as_strided::x).v[5 * i];
         return one(out);
       })
      .layouts = false;
}

}  // namespace

void add_view_samples(Table& table) { add_views(table); }

}  // namespace tenon::conformance
