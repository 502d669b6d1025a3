// A stream: records work into large command buffers, submits them in batches, and counts them on a timeline semaphore.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../common/profile.hpp"
#include "device.hpp"
#include "memory.hpp"
#include "pipelines.hpp"
#include "ring.hpp"

namespace tenon::vulkan {

// A stretch of memory that a command reads or writes.
struct Use {
  const Block* block;
  VkDeviceSize begin, end;  // in the block
  bool write;
};

// A check that a shader makes: indices along a dimension. Reports one that is out of range; see shaders/indices.glsl.
struct IndexCheck {
  const char* op = nullptr;  // static; NULL: no check
  int64_t dim = 0, size = 0;
};

// One dispatch, built by launch.hpp.
struct Dispatch {
  PipelineKey key;
  uint32_t groups[3] = {1, 1, 1};
  struct Slot {
    const Buffer* buffer = nullptr;  // NULL: bytes of `local`
    VkDeviceSize offset = 0;         // in the buffer or in `local`
    VkDeviceSize bytes = 0;          // how much is touched from `offset` on
    bool write = false;
  } slots[kSlots];
  uint32_t slot_count = 0;
  uint32_t words[kWords] = {};
  // Parameters too large for words: layouts, host scalars.
  static constexpr uint32_t kLocal = 1536;
  alignas(16) std::byte local[kLocal];
  uint32_t local_size = 0;
  IndexCheck check;
  uint32_t check_slot = 0;  // where the shader reports
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static std::shared_ptr<Stream> create(Device& device);
  explicit Stream(Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Device& device() const { return device_; }

  // Each records and returns; [stream-ordered].
  void dispatch(const Dispatch& dispatch);
  void copy_in(const void* from, const Buffer& to, VkDeviceSize offset, VkDeviceSize bytes);
  void copy_out(const Buffer& from, VkDeviceSize offset, void* to, VkDeviceSize bytes);
  void copy_within(const Buffer& from, VkDeviceSize from_offset, const Buffer& to,
                   VkDeviceSize to_offset, VkDeviceSize bytes);
  // Fills whole words with a pattern of 4 bytes.
  void fill_words(const Buffer& to, VkDeviceSize offset, VkDeviceSize bytes, uint32_t pattern);

  // The timeline's value when everything recorded so far is done. Records the time in `clock` if given.
  uint64_t mark(VkQueryPool clock);
  // Later work waits for the other stream. [stream-ordered]
  void wait_for(const std::shared_ptr<Stream>& other, uint64_t value);

  // Submits the recorded work. [thread-safe]
  void flush();
  // Whether the value was reached; wait until it is. [thread-safe]
  bool reached(uint64_t value);
  void wait(uint64_t value);
  void finish();  // waits for everything recorded so far
  // Throws TN_OUT_OF_RANGE, once, if a shader met an index out of range.
  void report();
  void synchronize() {
    finish();
    report();
  }

 private:
  struct ReadBack {
    void* to;
    const char* from;
    size_t bytes;
  };
  struct Note {
    const uint32_t* at;
    IndexCheck check;
  };
  struct Batch {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkDescriptorPool sets = VK_NULL_HANDLE;
    uint64_t value = 0;
    uint32_t ops = 0;
    uint32_t bound = 0;  // descriptor sets taken from the pool
    uint64_t upload_end = 0, read_back_end = 0;
    std::vector<ReadBack> read_backs;
    bool writes_host = false;  // writes straight into pinned memory
    std::vector<Note> notes;
    std::vector<Buffer*> kept;  // freed when the batch is done
    std::vector<std::pair<std::shared_ptr<Stream>, uint64_t>> waits;
    // While a profiler listens: a time before the first call and one after each.
    VkQueryPool clocks = VK_NULL_HANDLE;
    std::vector<std::pair<Label, const char*>> stamps;  // whose call it was, and what ran
    const Shader* last = nullptr;
  };

  // These require the lock.
  Batch& open();
  void use(const Use* uses, uint32_t count);
  void barrier();
  void recorded(const Shader* shader, const char* what);
  void stamp(const char* what);
  void read_clocks(const Batch& batch);
  void submit();
  void reap(uint64_t value);
  void read_note(const Note& note);
  void retire(Batch& batch);
  void wait_oldest();
  VkDeviceSize upload_space(VkDeviceSize bytes);
  VkDeviceSize read_back_space(VkDeviceSize bytes);
  void bind(const Dispatch& dispatch, VkDeviceSize local, VkDeviceSize note);
  VkCommandBuffer new_commands();
  VkDescriptorPool new_sets();
  VkQueryPool new_clocks();
  std::string work_of(const Batch& batch) const;

  Device& device_;
  std::mutex mutex_;
  uint32_t queue_ = 0;
  Lane lane_;
  uint64_t submitted_;  // the last value that was submitted
  uint64_t done_;       // the last value that was seen
  bool is_open_ = false;
  Batch current_;
  std::deque<Batch> running_;
  std::vector<VkDescriptorPool> free_sets_;
  std::vector<VkQueryPool> free_clocks_;
  std::vector<Use> touched_;  // since the last barrier
  Ring uploads_, read_backs_;
  std::string out_of_range_;  // the first report, until it is thrown
  VkPipeline bound_ = VK_NULL_HANDLE;
};

}  // namespace tenon::vulkan
