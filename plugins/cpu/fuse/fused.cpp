#include "fused.hpp"

#include <hwy/cache_control.h>

#include "move.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// What one thread works with.
class Worker {
 public:
  Worker(const Fused& fused, char* const* base) : fused_(fused), base_(base) {
    size_t p = fused.operands.size();
    for (size_t k = 0; k < p; ++k) places_[k] = base[k];
    for (const auto& number : fused.numbers)
      places_[p++] = const_cast<char*>(reinterpret_cast<const char*>(number.data()));
    char* const own = static_cast<char*>(
        workspace(Workspace::Fused, static_cast<size_t>(std::max<int64_t>(fused.bytes, 1))));
    for (const int64_t offset : fused.offsets) places_[p++] = own + offset;
    rows_ = fused.tiling.rows, columns_ = fused.tiling.columns;
    for (const Step& step : fused.once) run(step);
  }

  void tile(int64_t index) {
    const Tiling& tiling = fused_.tiling;
    const int64_t column = index % tiling.column_tiles * tiling.columns;
    index /= tiling.column_tiles;
    const int64_t row = index % tiling.row_tiles * tiling.rows;
    place(index / tiling.row_tiles, row, column);
    for (const Step& step : fused_.steps) run(step);
  }

 private:
  // Where the tile begins in each operand, and how large it is.
  void place(int64_t plane, int64_t row, int64_t column) {
    const Tiling& tiling = fused_.tiling;
    const auto last = static_cast<uint32_t>(fused_.shape.size()) - 1;
    for (size_t k = 0; k < fused_.operands.size(); ++k)
      places_[k] = base_[k] + row * fused_.operands[k].row + column * fused_.operands[k].column;
    if (fused_.shape.empty()) return;
    columns_ = std::min(tiling.columns, fused_.shape[last] - column);
    if (tiling.across != last) rows_ = std::min(tiling.rows, fused_.shape[tiling.across] - row);
    for (uint32_t d = last; plane != 0 && d-- > 0;) {
      if (d == tiling.across) continue;
      const int64_t i = plane % fused_.shape[d];
      for (size_t k = 0; k < fused_.operands.size(); ++k)
        places_[k] += i * fused_.operands[k].step[d];
      plane /= fused_.shape[d];
    }
  }

  int64_t count(Spread spread) const {
    return spread == Spread::kAll ? rows_ * columns_ : spread == Spread::kRow ? rows_ : 1;
  }

  void run(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kMove:
        return move(step);
      case Step::Kind::kCompute: {
        const char* in[kMaxInputs];
        for (uint32_t k = 0; k < step.inputs; ++k) in[k] = places_[step.in[k]];
        return step.compute(*step.self, step.params.data(), step.ones, places_[step.to.place], in,
                            count(step.spread));
      }
      case Step::Kind::kReduce:
        return reduce(step);
      case Step::Kind::kChain: {
        const auto& ops = fused_.chains[step.chain];
        return run_chain_(ops.data(), ops.size(), places_, count(step.spread));
      }
    }
  }

  void move(const Step& step) {
    const int64_t columns = step.spread == Spread::kAll ? columns_ : 1;
    const int64_t rows = step.spread == Spread::kOne ? 1 : rows_;
    const auto layout = [&](const Side& side) {
      return side.packed ? Layout2{columns * step.size, step.size} : Layout2{side.row, side.column};
    };
    move_tile(places_[step.from.place], layout(step.from), places_[step.to.place], layout(step.to),
              rows, columns, step.size);
  }

  // The eager kernel, over the rows of this tile: a loop of two dimensions where the whole loop keeps one.
  void reduce(const Step& step) {
    const bool whole = fused_.shape.size() == fused_.reduced;
    const int64_t shape[] = {rows_, columns_}, x[] = {columns_, 1}, y[] = {1, 0};
    const uint32_t skip = whole ? 1 : 0;
    const int64_t* const strides[] = {y + skip, x + skip};
    tn_loop loop{sizeof(tn_loop), 2 - skip, 1, 2, shape + skip, strides};
    tn_view from{sizeof(tn_view),
                 step.dtype_in,
                 2 - skip,
                 TN_VIEW_CONTIGUOUS,
                 places_[step.from.place],
                 shape + skip,
                 x + skip,
                 nullptr,
                 0,
                 {}};
    tn_view to{sizeof(tn_view),
               step.dtype_out,
               1 - skip,
               TN_VIEW_CONTIGUOUS,
               places_[step.to.place],
               shape,
               y,
               nullptr,
               0,
               {}};
    const tn_view* const outs[] = {&to};
    std::array<tn_value, kMostArguments> args;
    const auto& given = fused_.attributes[step.attributes];
    std::copy(given.begin(), given.end(), args.begin());
    args.front().tag = TN_VALUE_VIEW;  // what a step is of comes first
    args.front().as.view = &from;
    tn_call call{};
    call.struct_size = sizeof call;
    call.args = args.data();
    call.nargs = static_cast<uint32_t>(given.size());
    call.outs = outs;
    call.nouts = 1;
    call.loop = &loop;
    sdk::check(step.kernel->run(step.kernel->self, nullptr, &call));
  }

  const Fused& fused_;
  char* const* base_;
  const RunChain run_chain_ = chain_runner();
  int64_t rows_, columns_;
  char* places_[kMostPlaces];
};

}  // namespace

void Fused::run(const tn_call& call) const {
  char* base[kMostOperands];
  for (uint32_t k = 0; k < operands.size(); ++k)
    base[k] = static_cast<char*>(k < noutputs ? call.outs[k]->data
                                              : call.args[k - noutputs].as.view->data);
  parallel_for(tiling.count(), grain, [&](int64_t begin, int64_t end) {
    Worker worker(*this, base);
    for (int64_t i = begin; i < end; ++i) worker.tile(i);
    if (streams) hwy::FlushStream();
  });
}

}  // namespace tenon::cpu
