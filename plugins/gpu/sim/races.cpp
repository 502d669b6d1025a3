#include "races.hpp"

namespace tenon::gpu::sim {
uint32_t Shadow::find_file(const char* name) {
  uint32_t k = 0;
  while (k < files_used_ && files_[k] != name) ++k;
  if (k == files_used_ && k < kFiles) files_[files_used_++] = name;
  last_name_ = name;
  return last_file_ = k;
}

void Shadow::begin_block() {
  if (cells_ > kMostCells) clear();
}

void Shadow::clear() {
  pages_.clear();
  for (Recent& recent : recent_) recent = Recent{};
  cells_ = 0;
}

Shadow::Page& Shadow::find(uintptr_t number) {
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  return *page;
}

// Gives the page cells of size `unit`: fresh ones for a new launch, otherwise it splits each cell.
void Shadow::split(Page& page, uint32_t unit, uint32_t launch) {
  const uint64_t count = kPageBytes >> unit;
  if (page.cells.size() < count) {
    cells_ += count - page.cells.size();
    page.cells.resize(count);
  }
  if (page.launch == launch)
    for (uint64_t k = count; k-- > 0;) page.cells[k] = page.cells[k >> (page.unit - unit)];
  page.launch = launch;
  page.unit = unit;
}

}  // namespace tenon::gpu::sim
