// An expression as tiles are computed: a list of steps over places in the first cache. A step is a stretch of an eager kernel, a call of an
// eager reduction, or a move between layouts; so results have the bits that the nodes give one by one.
#pragma once

#include <array>
#include <vector>

#include "chain.hpp"
#include "elementwise.hpp"

namespace tenon::cpu {

// Elements of a tile: places of them stay in the first cache beside what kernels need.
constexpr int64_t kTile = 512;
constexpr int64_t kLongestRow = 4096;  // that is reduced: what eager reductions take in one run
constexpr uint32_t kMostOperands = 16, kMostNodes = 128, kMostPlaces = 512, kMostArguments = 16;

// How many values a tile has of something: one, one for each row, one for each element.
enum class Spread : uint8_t { kOne, kRow, kAll };

// How the loop is cut: `rows` of dimension `across` by `columns` of the last one.
struct Tiling {
  uint32_t across = 0;  // the last one itself where a tile is a piece of a row
  int64_t rows = 1, columns = 1;
  int64_t row_tiles = 1, column_tiles = 1, planes = 1;
  int64_t count() const { return planes * row_tiles * column_tiles; }
};

// An operand of the loop. Steps in bytes.
struct Operand {
  int64_t size = 0;  // bytes of an element
  std::array<int64_t, TN_MAX_DIMS> step{};
  int64_t row = 0, column = 0;  // within a tile
  Spread spread = Spread::kOne;
  bool packed = false;  // a tile of it lies like a place: rows behind one another
};

// Where a step reads or writes: an operand's memory, a number, or a place of its own.
struct Side {
  uint16_t place = 0;
  bool packed = true;  // rows behind one another; else by the steps
  int64_t row = 0, column = 0;
};

struct Step {
  enum class Kind : uint8_t { kMove, kCompute, kReduce, kChain };
  Kind kind;
  Spread spread;  // of what it writes
  uint8_t inputs = 1;
  uint8_t ones = 0;  // kCompute: which inputs are one value
  int64_t size = 0;  // kMove: bytes of an element
  Side from, to;     // kCompute reads in[], kReduce from
  std::array<uint16_t, kMaxInputs> in{};
  const Elementwise* self = nullptr;
  ComputeFn compute = nullptr;
  ChainCode cheap = ChainCode::kNone;  // kCompute: what it is in a chain
  float low = 0, high = 0;             // of ChainCode::kClamp
  uint32_t chain = 0;                  // kChain: which
  alignas(16) std::array<unsigned char, kParamBytes> params{};
  const tn_kernel* kernel = nullptr;  // kReduce
  uint32_t attributes = 0;            // kReduce: where its arguments begin
  tn_dtype dtype_in = 0, dtype_out = 0;
};

struct Fused {
  tn_kernel kernel_of() const;
  void run(const tn_call& call) const;

  std::vector<int64_t> shape;
  uint32_t reduced = 0;
  Tiling tiling;
  uint32_t noutputs = 0;
  std::vector<Operand> operands;
  std::vector<Step> once;   // by each thread before its first tile: what all tiles share
  std::vector<Step> steps;  // for each tile
  std::vector<std::vector<ChainOp>> chains;
  bool streams = false;  // a chain has stores past the caches
  // Places: operands, numbers, then those in a thread's own memory.
  std::vector<std::array<unsigned char, 16>> numbers;
  std::vector<int64_t> offsets;  // of the third kind
  int64_t bytes = 0;             // of such memory
  int64_t grain = 1;             // tiles worth a thread
  double nanoseconds = 0;        // of a run, about
  // Arguments of reductions; what they point at.
  std::vector<std::vector<tn_value>> attributes;
  std::vector<std::vector<int64_t>> lists;
};

// read(place) of all that a step reads.
template <class Read>
void each_read(const Fused& fused, const Step& step, Read&& read) {
  if (step.kind == Step::Kind::kCompute) {
    for (uint32_t k = 0; k < step.inputs; ++k) read(step.in[k]);
  } else if (step.kind == Step::Kind::kChain) {
    for (const ChainOp& op : fused.chains[step.chain])
      if (op.reads()) read(op.place);
  } else {
    read(step.from.place);
  }
}
// write(place) of all that it writes.
template <class Write>
void each_write(const Fused& fused, const Step& step, Write&& write) {
  if (step.kind != Step::Kind::kChain) return write(step.to.place);
  for (const ChainOp& op : fused.chains[step.chain])
    if (op.writes()) write(op.place);
}

// Of all that the loop touches of an operand.
inline double bytes_of(const Fused& fused, const Operand& operand) {
  auto bytes = static_cast<double>(operand.size);
  for (size_t d = 0; d < fused.shape.size(); ++d)
    if (operand.step[d] != 0) bytes *= static_cast<double>(fused.shape[d]);
  return bytes;
}

}  // namespace tenon::cpu
