// What this CPU can execute and the operating system saves.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::core {

// "avx2", "avx512f", "neon", … as identity cards name them. A feature counts only when the registers it uses are saved at a
// context switch (XSAVE). An unknown name is a feature that is not there.
bool cpu_has(std::string_view feature);

// Grows with the width of the registers that a feature uses; 0 where it uses none of its own.
uint64_t cpu_registers(std::string_view feature);

}  // namespace tenon::core
