#include "dispatch/layers.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "boundary.hpp"
#include "dispatch/call.hpp"
#include "modes.hpp"
#include "on_exit.hpp"
#include "tenon/ext/draft/call_layers.h"

namespace tenon::core {
namespace {

struct Layer {
  const tn_call_layer* name;  // where it was given; not looked at again
  tn_call_layer table;
};

struct Layers {
  std::vector<Layer> all;
  size_t seen = 0;  // how many of them see calls: those below the one that is at work
  bool at_work() const { return seen != all.size(); }
};
Layers& layers() {
  static thread_local Layers of_this_thread;
  return of_this_thread;
}

void see(size_t n) {
  layers().seen = n;
  t_modes = n != 0 ? t_modes | kModeLayers : t_modes & ~kModeLayers;
}

// ask(layer, done) of each from the top down, until one has done the call. The layers below it see what it calls meanwhile.
template <class Ask>
bool ask_layers(Ask&& ask) {
  const OnExit over([before = layers().seen] { see(before); });
  for (size_t n = layers().seen; n-- > 0;) {
    const tn_call_layer layer = layers().all[n].table;
    see(n);
    uint32_t done = 0;
    ask(layer, done);
    if (done != 0) return true;
  }
  return false;
}

}  // namespace

bool layers_call(const Frame& frame, tn_tensor** outs) {
  return ask_layers([&](const tn_call_layer& layer, uint32_t& done) {
    if (layer.call == nullptr) return;
    tn_status* status = layer.call(layer.ctx, &frame.op(), frame.args(), frame.nargs(), outs,
                                   frame.nresults(), &done);
    if (status != nullptr) std::fill_n(outs, frame.nresults(), nullptr);  // an error has no results
    check(status);
    for (uint32_t k = 0; done != 0 && k < frame.nresults(); ++k)
      if (outs[k] == nullptr) frame.fail(TN_INTERNAL, "a layer computed it without result {}", k);
  });
}

bool layers_call_into(const Frame& frame, tn_tensor* const* outs, uint32_t nouts) {
  return ask_layers([&](const tn_call_layer& layer, uint32_t& done) {
    if (layer.call_into != nullptr)
      check(
          layer.call_into(layer.ctx, &frame.op(), frame.args(), frame.nargs(), outs, nouts, &done));
  });
}

}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_call_layer_push(const tn_call_layer* layer) {
  TN_REQUIRE(layer);
  return guarded([&] {
    if (layers().at_work())
      fail(TN_FAILED_PRECONDITION, "[call_layer_push] a layer of this thread is at work");
    tn_call_layer known{};
    std::memcpy(&known, layer, std::min<size_t>(layer->struct_size, sizeof known));
    layers().all.push_back({layer, known});
    see(layers().all.size());
  });
}

tn_status* tn_call_layer_pop(const tn_call_layer* layer) {
  TN_REQUIRE(layer);
  return guarded([&] {
    if (layers().at_work() || layers().all.empty() || layers().all.back().name != layer)
      fail(TN_FAILED_PRECONDITION,
           "[call_layer_pop] it is not the newest layer of this thread, or at work");
    layers().all.pop_back();
    see(layers().all.size());
  });
}

uint32_t tn_call_layers_show(uint32_t n) {
  const auto before = static_cast<uint32_t>(layers().seen);
  see(std::min<size_t>(n, layers().all.size()));
  return before;
}
