// Callbacks that plugins give the host: layers over a thread's calls, the end of a backward pass, refilling of storages.
#include <algorithm>
#include <deque>
#include <memory>

#include "layer.hpp"
#include "references.hpp"

namespace tenon::validate {
namespace {

struct CallLayer {
  std::string plugin;
  tn_call_layer given{};
  tn_call_layer published{};
  const tn_call_layer* name;  // as the plugin gave it
};

// This thread's, oldest first.
std::deque<CallLayer>& call_layers() {
  static thread_local std::deque<CallLayer> pushed;
  return pushed;
}

tn_status* call(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                uint32_t nouts, uint32_t* done) {
  const CallLayer& layer = *static_cast<const CallLayer*>(ctx);
  const Crossing here(layer.plugin, "layer.call");
  tn_status* status =
      cross([&] { return layer.given.call(layer.given.ctx, op, args, nargs, outs, nouts, done); });
  return status == nullptr && *done != 0 ? handed_over(outs, nouts) : status;
}

tn_status* call_into(void* ctx, const tn_op* op, const tn_value* args, uint32_t nargs,
                     tn_tensor* const* outs, uint32_t nouts, uint32_t* done) {
  const CallLayer& layer = *static_cast<const CallLayer*>(ctx);
  const Crossing here(layer.plugin, "layer.call_into");
  return cross(
      [&] { return layer.given.call_into(layer.given.ctx, op, args, nargs, outs, nouts, done); });
}

}  // namespace

tn_status* push_call_layer(std::string_view plugin, const tn_call_layer* layer) {
  if (layer == nullptr) return g_host->call_layer_push(layer);
  CallLayer& made = call_layers().emplace_back();
  made.plugin = plugin;
  made.name = layer;
  std::memcpy(&made.given, layer, std::min<size_t>(layer->struct_size, sizeof made.given));
  made.published.struct_size = sizeof made.published;
  made.published.ctx = &made;
  if (made.given.call != nullptr) made.published.call = call;
  if (made.given.call_into != nullptr) made.published.call_into = call_into;
  tn_status* status = g_host->call_layer_push(&made.published);
  if (status != nullptr) call_layers().pop_back();
  return status;
}

tn_status* pop_call_layer(const tn_call_layer* layer) {
  const bool newest = !call_layers().empty() && call_layers().back().name == layer;
  tn_status* status = g_host->call_layer_pop(newest ? &call_layers().back().published : layer);
  if (status == nullptr && newest) call_layers().pop_back();
  return status;
}

// ---- The end of a backward pass

namespace {

struct EndCall {
  std::string plugin;
  tn_status* (*done)(void* ctx);
  void* ctx;
  void (*destroy)(void* ctx);
};

}  // namespace

tn_status* call_on_end(std::string_view plugin, tn_status* (*done)(void* ctx), void* ctx,
                       void (*destroy)(void* ctx)) {
  if (done == nullptr) return g_host->backward_on_end(done, ctx, destroy);
  auto* end = new EndCall{std::string(plugin), done, ctx, destroy};
  tn_status* status = g_host->backward_on_end(
      [](void* self) {
        const EndCall& call = *static_cast<EndCall*>(self);
        const Crossing here(call.plugin, "backward_on_end.done");
        return cross([&] { return call.done(call.ctx); });
      },
      end,
      [](void* self) {
        const std::unique_ptr<EndCall> call(static_cast<EndCall*>(self));
        const Crossing here(call->plugin, "backward_on_end.destroy");
        if (call->destroy != nullptr) cross_void([&] { call->destroy(call->ctx); });
      });
  if (status != nullptr) delete end;
  return status;
}

// ---- Refilling a storage

tn_status* restore_storage(std::string_view plugin, tn_tensor* tensor,
                           tn_status* (*fill)(void* ctx, tn_tensor* tensor), void* ctx) {
  if (fill == nullptr) return g_host->storage_restore(tensor, fill, ctx);
  struct Filling {
    std::string_view plugin;
    tn_status* (*fill)(void* ctx, tn_tensor* tensor);
    void* ctx;
  } filling{plugin, fill, ctx};
  return g_host->storage_restore(
      tensor,
      [](void* self, tn_tensor* restored) {
        const Filling& of = *static_cast<Filling*>(self);
        const Crossing here(of.plugin, "storage_restore.fill");
        return cross([&] { return of.fill(of.ctx, restored); });
      },
      &filling);
}

}  // namespace tenon::validate
