// A process for each op, so that a process that dies is a finding and does not end the run.
#pragma once

#include <string>
#include <vector>

#include "execute.hpp"

namespace tenon::fuzz {

struct Options {
  uint64_t seed = 1;
  uint64_t calls = 300;  // of each op in a round
  uint64_t first = 0;    // number of an op's first call
  int64_t seconds = 0;   // begins new rounds for so long; 0: one round
  unsigned jobs = 1;
  std::string op;     // empty: all
  bool here = false;  // in this process, for a debugger
};

struct Totals {
  Counts counts;
  uint64_t cut = 0;    // calls over huge operands that were cut short
  uint64_t found = 0;  // faults, each printed on a line FOUND
};

// The schemas of all ops, including those of plugins.
std::vector<Signature> all_signatures();
// Makes `calls` calls of each of these ops, beginning with number `first`.
void run_round(const std::vector<Signature>& signatures, const Options& options, uint64_t first,
               Totals& totals);
// The same for one op, in this process.
void run_here(const Signature& signature, const Options& options, Totals& totals);

}  // namespace tenon::fuzz
