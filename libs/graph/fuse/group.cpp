#include "fuse/group.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ir/schema.hpp"
#include "tenon/schemas.h"

namespace tenon::graph {
namespace {

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
}

// The view broadcast to the rank of `shape`.
Access access_of(const View& view, std::span<const int64_t> shape) {
  Access access{view.buffer, view.offset};
  const size_t skip = shape.size() - view.shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    access.strides.push_back(d < skip || view.shape[d - skip] == 1 ? 0 : view.strides[d - skip]);
  return access;
}

std::vector<Access*> accesses_of(Group& group) {
  std::vector<Access*> all;
  all.reserve(group.members.size() * 3);
  for (Member& member : group.members) {
    all.push_back(&member.result);
    for (Access& read : member.reads) all.push_back(&read);
  }
  return all;
}

// Puts dimensions into the order given by `order`.
void reorder(Group& group, const std::vector<size_t>& order) {
  bool as_it_is = order.size() == group.shape.size();
  for (size_t d = 0; d < order.size(); ++d) as_it_is = as_it_is && order[d] == d;
  if (as_it_is) return;
  const auto picked = [&](const Dims& from) {
    Dims to;
    for (const size_t d : order) to.push_back(from[d]);
    return to;
  };
  for (Access* access : accesses_of(group)) access->strides = picked(access->strides);
  group.shape = picked(group.shape);
}

void merge(Group& group) {
  if (group.shape.size() < 2) return;
  const size_t kept =
      merge_dimensions(group.shape, accesses_of(group), group.shape.size() - group.reduced);
  group.reduced = group.shape.size() - kept;
}

// The dimensions that a reducing op names, or all if it names none.
std::vector<bool> reduced_dimensions(const Node& node, size_t rank) {
  std::vector<bool> reduced(rank, true);
  const auto& known = parameters(*node.op);
  for (size_t i = 0; i < node.args.size(); ++i) {
    const auto* dims = std::get_if<std::vector<int64_t>>(&node.args[i]);
    if (known[i].name != "dims" || dims == nullptr) continue;
    reduced.assign(rank, false);
    for (const int64_t d : *dims)
      reduced[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d)] = true;
  }
  return reduced;
}

// Kept dimensions come first, then reduced ones; possible only if they already have this order.
bool make_reduction(const Node& node, Group& group, std::string& why) {
  const auto* x = std::get_if<View>(&node.args[arg::sum::x]);  // of every reduction
  if (x == nullptr) return why = "it reduces a number", false;
  if (x->numel() == 0) return why = "it has no elements", false;
  const size_t rank = x->shape.size();
  const std::vector<bool> reduced = reduced_dimensions(node, rank);
  Member& member = group.members[0];
  member.kind = Member::Kind::Reduce;
  member.reads = {access_of(*x, x->shape)};
  member.result = {node.results[0].buffer, node.results[0].offset, Dims(rank)};
  const bool keeps = node.results[0].shape.size() == rank;
  size_t next = 0;
  std::vector<size_t> order;
  for (size_t d = 0; d < rank; ++d) {
    if (!reduced[d]) {
      member.result.strides[d] = node.results[0].strides[keeps ? d : next++];
      if (group.reduced != 0 && x->shape[d] != 1)
        return why = "it reduces other dimensions than the last ones", false;
    }
    if (x->shape[d] == 1) continue;
    order.push_back(d);
    group.reduced += reduced[d] ? 1 : 0;
  }
  group.shape = x->shape;
  reorder(group, order);
  return true;
}

// Whether the node reads and writes whole rows in one order, so that its loop is one dimension.
bool is_one_row(const Node& node) {
  const View& result = node.results[0];
  return result.numel() > 1 && result.contiguous() &&
         std::ranges::all_of(node.args, [&](const Argument& argument) {
           const auto* view = std::get_if<View>(&argument);
           return view == nullptr || (view->shape == result.shape && view->contiguous());
         });
}

void make_elementwise(const Node& node, Group& group) {
  const View& result = node.results[0];
  Member& member = group.members[0];
  if (is_one_row(node)) {
    group.shape = {result.numel()};
    member.result = {result.buffer, result.offset, {1}};
    member.reads.reserve(node.args.size());
    for (const Argument& argument : node.args)
      if (const auto* view = std::get_if<View>(&argument))
        member.reads.push_back({view->buffer, view->offset, {1}});
    return;
  }
  member.result = access_of(result, result.shape);
  member.reads.reserve(node.args.size());
  for (const Argument& argument : node.args)
    if (const auto* view = std::get_if<View>(&argument))
      member.reads.push_back(access_of(*view, result.shape));
  group.shape = result.shape;
  std::vector<size_t> order;  // as the result lies in memory
  order.reserve(result.shape.size());
  for (size_t d = 0; d < result.shape.size(); ++d)
    if (result.shape[d] != 1) order.push_back(d);
  std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return result.strides[d]; });
  reorder(group, order);
}

// The common refinement of both lists of dimensions; none if their boundaries do not match.
std::optional<Dims> common(Dims a, Dims b) {
  Dims cut;  // innermost first
  while (!a.empty() && !b.empty()) {
    const int64_t size = std::min(a.back(), b.back());
    if (a.back() % size != 0 || b.back() % size != 0) return std::nullopt;
    cut.push_back(size);
    for (auto* of : {&a, &b}) {
      of->back() /= size;
      if (of->back() == 1) of->pop_back();
    }
  }
  if (!a.empty() || !b.empty()) return std::nullopt;
  std::ranges::reverse(cut);
  return cut;
}

// Splits the first dimensions of the group, which together have the extent of `shape`, into those of `shape`.
void cut(Group& group, const Dims& shape) {
  if (group.shape == shape) return;
  const auto cut_strides = [&](const Dims& strides) {
    Dims made(shape.size());
    size_t d = shape.size();
    for (size_t own = group.shape.size(); own-- > 0;) {
      int64_t size = group.shape[own], step = strides[own];
      while (size > 1) {
        made[--d] = step;
        step *= shape[d];
        size /= shape[d];
      }
    }
    return made;
  };
  for (Access* access : accesses_of(group)) access->strides = cut_strides(access->strides);
  group.shape = shape;
}

// Repeats each of its elements over a row of the reduction.
void repeat_over(Group& group, std::span<const int64_t> row) {
  for (Access* access : accesses_of(group))
    access->strides.resize(access->strides.size() + row.size(), 0);
  group.shape.insert(group.shape.size(), row);
  group.reduced = row.size();
}

// All groups over the same dimensions: those over all elements and, next to a reduction, those with one element for each of its rows.
std::optional<Group> over_same_dimensions(std::vector<Group>& groups, std::string& why) {
  const auto found =
      std::ranges::find_if(groups, [](const Group& one) { return one.reduced != 0; });
  const bool rows = found != groups.end();
  const Group& first = rows ? *found : groups.front();
  const int64_t all = product(first.shape), kept = first.kept(), row = first.row();
  const auto once_a_row = [&](const Group& one) {
    return rows && one.reduced == 0 && row != 1 && product(one.shape) == kept;
  };
  const auto refuse = [&](const char* reason) { return why = reason, std::nullopt; };
  constexpr const char* kEnds = "their dimensions end at different places";
  std::optional<Dims> shape = first.shape;
  for (const Group& one : groups) {
    if (once_a_row(one)) continue;
    if (product(one.shape) != all || (one.reduced != 0 && one.row() != row))
      return refuse("they run over different numbers of elements");
    if (!(shape = common(*shape, one.shape))) return refuse(kEnds);
  }
  Group made;
  for (int64_t inner = 1; rows && inner < row; ++made.reduced)
    inner *= (*shape)[shape->size() - 1 - made.reduced];
  const auto split = shape->end() - static_cast<std::ptrdiff_t>(made.reduced);
  std::optional<Dims> places = Dims(shape->begin(), split);
  const Dims of_row(split, shape->end());
  for (const Group& one : groups)
    if (once_a_row(one) && !(places = common(*places, one.shape))) return refuse(kEnds);
  made.shape = *places;
  made.shape.insert(made.shape.size(), of_row);
  for (Group& one : groups) {
    const bool repeats = once_a_row(one);
    cut(one, repeats ? *places : made.shape);
    if (repeats) repeat_over(one, of_row);
    std::ranges::move(one.members, std::back_inserter(made.members));
  }
  std::ranges::sort(made.members, {}, &Member::node);
  return made;
}

// Whether each element that a member writes is touched by the others in the same iteration.
bool same_turns(Group& group) {
  std::vector<const Access*> written;
  for (const Member& member : group.members) written.push_back(&member.result);
  const auto buffer_of = [](const Access* access) { return access->buffer; };
  std::ranges::stable_sort(written, {}, buffer_of);
  return std::ranges::all_of(accesses_of(group), [&](const Access* access) {
    const auto found = std::ranges::lower_bound(written, access->buffer, {}, buffer_of);
    return found == written.end() || (*found)->buffer != access->buffer || **found == *access;
  });
}

}  // namespace

int64_t Group::kept() const { return product(std::span(shape).first(shape.size() - reduced)); }
int64_t Group::row() const { return product(std::span(shape).last(reduced)); }

size_t merge_dimensions(Dims& shape, const std::vector<Access*>& accesses, size_t kept) {
  size_t n = 0, kept_now = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool joins = n > 0 && !(d >= kept && n <= kept_now);
    for (const Access* access : accesses)
      joins = joins && access->strides[n - 1] == access->strides[d] * shape[d];
    const size_t to = joins ? n - 1 : n++;
    shape[to] = joins ? shape[to] * shape[d] : shape[d];
    for (Access* access : accesses) access->strides[to] = access->strides[d];
    if (d < kept) kept_now = n;
  }
  shape.resize(n);
  for (Access* access : accesses) access->strides.resize(n);
  return kept_now;
}

std::optional<Group> group_of(const Node& node, uint32_t at, std::string& why) {
  const auto refuse = [&](const char* reason) { return why = reason, std::nullopt; };
  if (node.kernel == nullptr) return refuse("it is called, not run by a kernel");
  if (!node.loop || node.results.size() != 1) return refuse("it is no loop over elements");
  const auto& known = parameters(*node.op);
  for (size_t i = 0; i < node.args.size(); ++i)
    if (std::holds_alternative<Views>(node.args[i]) || known[i].written)
      return refuse("it takes lists, or writes into arguments");
  if (has_symbols(node)) return refuse("it takes a number that may change from run to run");
  if (node.results[0].numel() == 0) return refuse("it has no elements");
  Group group;
  group.members.push_back({Member::Kind::Op, at});
  if (node.loop->reduced != 0) {
    if (!make_reduction(node, group, why)) return std::nullopt;
  } else {
    make_elementwise(node, group);
    if (node.name() == "clone" || node.name() == "contiguous")
      group.members[0].kind = Member::Kind::Copy;
  }
  merge(group);
  return group;
}

std::optional<Group> joined(std::vector<Group> groups, std::string& why) {
  auto made = over_same_dimensions(groups, why);
  if (!made) return std::nullopt;
  if (!same_turns(*made))
    return why = "one reads the other's result in another order, or repeats it", std::nullopt;
  merge(*made);
  return made;
}

}  // namespace tenon::graph
