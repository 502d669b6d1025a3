// A process for each op, so that one that dies is a finding and not the end.
#pragma once

#include <string>
#include <vector>

#include "execute.hpp"

namespace tenon::fuzz {

struct Options {
  uint64_t seed = 1;
  uint64_t calls = 300;  // of each op in a round
  uint64_t first = 0;    // number of an op's first call
  int64_t seconds = 0;   // rounds until then; 0: one round
  unsigned jobs = 1;
  std::string op;     // empty: all
  bool here = false;  // in this process, for a debugger
};

struct Totals {
  Counts counts;
  uint64_t cut = 0;    // calls over huge operands that were not waited for
  uint64_t found = 0;  // faults, each printed as a line FOUND
};

// The schemas of all ops, those of plugins included.
std::vector<Signature> all_signatures();
// `calls` calls of each of these ops, from number `first` on.
void run_round(const std::vector<Signature>& signatures, const Options& options, uint64_t first,
               Totals& totals);
// The same for one op in this process.
void run_here(const Signature& signature, const Options& options, Totals& totals);

}  // namespace tenon::fuzz
