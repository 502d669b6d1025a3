// Batches of a dataset, prepared by worker threads in an order that the seed decides.
#ifndef TENON_DATA_LOADER_HPP
#define TENON_DATA_LOADER_HPP

#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "tenon/data/dataset.hpp"

namespace tenon::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  // Seeds the shuffling, together with the epoch's number. Without a seed, manual_seed() decides.
  std::optional<uint64_t> seed = {};
  int64_t workers = 0;                             // threads; 0: batches are made when asked for
  int64_t prefetch = 2;                            // batches each worker keeps ready
  bool drop_last = false;                          // leave out a last batch that is not full
  std::function<Example(Example)> transform = {};  // runs on each batch, in the workers
};

namespace detail {

// SplitMix64 (Steele et al. 2014). Unlike std::shuffle, it gives the same order with every standard library.
inline uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
inline void shuffle(std::vector<int64_t>& order, uint64_t seed, uint64_t epoch) {
  uint64_t state = seed;
  state = next_random(state) ^ epoch * 0xd1342543de82ef95u;
  for (size_t i = order.size(); i > 1; --i) {
    const uint64_t bound = i, limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t draw = next_random(state);
    while (draw >= limit) draw = next_random(state);
    std::swap(order[i - 1], order[draw % bound]);
  }
}

// The next number of the default generator.
inline uint64_t draw_seed() {
  return static_cast<uint64_t>(randint({}, 0, INT64_MAX, DType::I64).item<int64_t>());
}

// One pass over the data. Batches come in order, no matter which worker made them.
class Epoch {
 public:
  Epoch(const Dataset& dataset, const LoaderOptions& options, std::vector<int64_t> order)
      : dataset_(dataset), options_(options), order_(std::move(order)) {
    const int64_t n = static_cast<int64_t>(order_.size()), size = options.batch_size;
    batches_ = options.drop_last ? n / size : (n + size - 1) / size;
    ahead_ = std::max<int64_t>(1, options.workers * std::max<int64_t>(options.prefetch, 1));
    ready_.resize(static_cast<size_t>(ahead_));
    for (int64_t w = 0; w < std::min(options.workers, batches_); ++w)
      workers_.emplace_back([this] { work(); });
  }
  ~Epoch() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  // Gets the next batch, or returns false at the end. Rethrows a worker's exception at the batch where it happened.
  bool next(Example& out) {
    if (taken_ == batches_) return false;
    if (workers_.empty()) {
      out = make(taken_++);
      return true;
    }
    Slot slot;
    {
      std::unique_lock lock(mutex_);
      Slot& mine = ready_[static_cast<size_t>(taken_ % ahead_)];
      filled_.wait(lock, [&] { return mine.full; });
      slot = std::exchange(mine, Slot());
      ++taken_;
    }
    room_.notify_one();
    if (slot.error) std::rethrow_exception(slot.error);
    out = std::move(slot.batch);
    return true;
  }

 private:
  struct Slot {
    Example batch;
    std::exception_ptr error;
    bool full = false;
  };

  Example make(int64_t number) const {
    const size_t begin = static_cast<size_t>(number * options_.batch_size);
    const size_t count = std::min(static_cast<size_t>(options_.batch_size), order_.size() - begin);
    Example batch = dataset_.batch(std::span(order_).subspan(begin, count));
    return options_.transform ? options_.transform(std::move(batch)) : batch;
  }

  void work() {
    while (true) {
      int64_t number;
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock,
                   [&] { return stopping_ || started_ == batches_ || started_ < taken_ + ahead_; });
        if (stopping_ || started_ == batches_) return;
        number = started_++;
      }
      Slot slot;
      try {
        slot.batch = make(number);
      } catch (...) {
        slot.error = std::current_exception();
      }
      slot.full = true;
      {
        const std::lock_guard lock(mutex_);
        ready_[static_cast<size_t>(number % ahead_)] = std::move(slot);
      }
      filled_.notify_one();
    }
  }

  const Dataset& dataset_;
  const LoaderOptions& options_;
  std::vector<int64_t> order_;
  int64_t batches_ = 0, ahead_ = 1;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::vector<Slot> ready_;
  int64_t started_ = 0, taken_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace detail

// for (data::Example& batch : loader) { … batch[0] … batch[1] … }
// The dataset must outlive the loader. Each loop is an epoch, which you may leave early.
class DataLoader {
 public:
  DataLoader(const Dataset& dataset, LoaderOptions options)
      : dataset_(dataset), options_(std::move(options)) {
    if (options_.batch_size <= 0)
      throw Error(TN_INVALID_ARGUMENT, "[DataLoader] batch_size is " +
                                           std::to_string(options_.batch_size) +
                                           ", must be at least 1");
    if (options_.workers < 0 || options_.workers > 256)
      throw Error(TN_INVALID_ARGUMENT, "[DataLoader] workers is " +
                                           std::to_string(options_.workers) +
                                           ", must be between 0 and 256");
  }
  DataLoader(const Dataset&&, LoaderOptions) = delete;
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Example;
    using difference_type = std::ptrdiff_t;
    using pointer = Example*;
    using reference = Example&;
    Iterator() = default;
    explicit Iterator(std::shared_ptr<detail::Epoch> epoch) : epoch_(std::move(epoch)) { ++*this; }
    Example& operator*() { return batch_; }
    Example* operator->() { return &batch_; }
    Iterator& operator++() {
      if (!epoch_->next(batch_)) epoch_.reset();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return epoch_ == other.epoch_; }

   private:
    std::shared_ptr<detail::Epoch> epoch_;
    Example batch_;
  };

  // Starts the next epoch.
  Iterator begin() {
    std::vector<int64_t> order(static_cast<size_t>(dataset_.size()));
    std::iota(order.begin(), order.end(), 0);
    if (options_.shuffle)
      detail::shuffle(order, options_.seed ? *options_.seed : detail::draw_seed(), epoch_);
    ++epoch_;
    return Iterator(std::make_shared<detail::Epoch>(dataset_, options_, std::move(order)));
  }
  Iterator end() const { return {}; }
  // Batches in an epoch.
  int64_t size() const {
    const int64_t n = dataset_.size(), size = options_.batch_size;
    return options_.drop_last ? n / size : (n + size - 1) / size;
  }
  // The epoch of the next loop; set it to continue an interrupted run.
  void set_epoch(uint64_t epoch) { epoch_ = epoch; }

 private:
  const Dataset& dataset_;
  LoaderOptions options_;
  uint64_t epoch_ = 0;
};

}  // namespace tenon::data
#endif
