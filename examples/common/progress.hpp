// A progress bar on standard error; if that is no terminal, a line for every tenth of the way.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

class Progress {
 public:
  Progress(std::string title, int64_t total, std::string unit = "images")
      : title_(std::move(title)), unit_(std::move(unit)), total_(std::max<int64_t>(total, 1)) {}
  ~Progress() {
    if (terminal_ && drawn_) std::fputc('\n', stderr);
  }

  // Call after each step, with the `items` processed so far; shows the recent mean loss.
  void update(int64_t done, int64_t items, double loss) {
    loss_ = seen_ ? 0.95 * loss_ + 0.05 * loss : loss;
    seen_ = true;
    const auto now = Clock::now();
    const bool last = done >= total_;
    const int64_t tenth = done * 10 / total_;
    if (!last && (terminal_ ? now - shown_ < std::chrono::milliseconds(100) : tenth == tenth_))
      return;
    shown_ = now;
    tenth_ = tenth;
    drawn_ = true;
    const double rate = static_cast<double>(items) / std::max(seconds(), 1e-9);
    const double left = seconds() / static_cast<double>(std::max<int64_t>(done, 1)) *
                        static_cast<double>(total_ - done);
    const int width = 30, filled = static_cast<int>(done * width / total_);
    const std::string bar = std::string(static_cast<size_t>(filled), '#') +
                            std::string(static_cast<size_t>(width - filled), '.');
    std::fprintf(stderr, "%s%s [%s] %3d %%  loss %.4f  %.0f %s/s, %.0f s left%s",
                 terminal_ ? "\r" : "", title_.c_str(), bar.c_str(),
                 static_cast<int>(done * 100 / total_), loss_, rate, unit_.c_str(), left,
                 terminal_ ? "  " : "\n");
    std::fflush(stderr);
  }
  double loss() const { return loss_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::string title_, unit_;
  int64_t total_;
  Clock::time_point start_ = Clock::now(), shown_{};
  int64_t tenth_ = -1;
  double loss_ = 0;
  bool terminal_ = ::isatty(STDERR_FILENO) != 0, drawn_ = false, seen_ = false;
};
