#include "plugin/discover.hpp"

namespace tenon::core::plugins {

std::atomic<bool> g_discovered{false};

void discover_now() { g_discovered.store(true, std::memory_order_release); }

}  // namespace tenon::core::plugins
