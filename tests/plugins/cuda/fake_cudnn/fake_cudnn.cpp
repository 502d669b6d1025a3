// A stand-in for libcudnn on the host: the functions of cudnn_functions.def, over an interpreter of its graphs. It shows what the plugin
// asks the library for, without a GPU. The first engine that it offers is not deterministic and must be turned down; memory must be
// aligned; and convolutions of 33 filters have no engine.
#include <cstdint>

#include "../../gpu/blas/fake_blas.hpp"
#include "interpreter.hpp"

namespace {

using fake_cudnn::Attribute;
using fake_cudnn::Descriptor;
using fake_cudnn::Ref;

constexpr int64_t kWorkspace = 4096, kNone = 33;
constexpr uintptr_t kAlignment = 16;
constexpr int kUnsteady = 0, kSteady = 1, kEngines = 2;

// The target of a descriptor's handle.
Ref& ref_of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Ref*>(descriptor); }

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
      return 8;
    default:
      return 4;
  }
}

const std::vector<Ref>& operations_of(const Descriptor& graph) {
  return graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts;
}

// Fills the descriptors that the caller made.
int64_t tell_engines(const Descriptor& heuristics, int64_t most, void* to) {
  const Ref& graph = heuristics.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const auto mode = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  if (mode == CUDNN_HEUR_MODE_FALLBACK || fake_cudnn::filters_of(operations_of(*graph)) == kNone)
    return 0;
  for (int i = 0; to != nullptr && i < kEngines && i < most; ++i) {
    Descriptor& configuration = *ref_of(static_cast<cudnnBackendDescriptor_t*>(to)[i]);
    configuration.engine = i;
    configuration.graph = graph;
    configuration.finalized = true;
  }
  return kEngines;
}

template <class T>
int64_t tell(int64_t most, void* to, T value) {
  if (most > 0 && to != nullptr) *static_cast<T*>(to) = value;
  return 1;
}

cudnnStatus_t execute(const Descriptor& plan, const Descriptor& pack) {
  const auto uids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto addresses = pack.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void*> memory;
  for (size_t i = 0; i < uids.size(); ++i) memory[uids[i]] = addresses[i];
  auto* const workspace = pack.one<char*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (workspace == nullptr) return CUDNN_STATUS_BAD_PARAM;
  std::memset(workspace, 0x7f, kWorkspace);
  const Descriptor& configuration = *plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (configuration.engine != kSteady) return CUDNN_STATUS_EXECUTION_FAILED;
  const auto& operations = operations_of(*configuration.graph);
  if (!fake_cudnn::is_aligned(operations, memory, kAlignment)) return CUDNN_STATUS_BAD_PARAM;
  fake_blas::note_use("cudnn");
  return fake_cudnn::compute(operations, memory) ? CUDNN_STATUS_SUCCESS
                                                 : CUDNN_STATUS_NOT_SUPPORTED;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static int one = 0;
  *handle = reinterpret_cast<cudnnHandle_t>(&one);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t* stream) {
  *stream = nullptr;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "the stand-in refuses it"; }
void cudnnGetLastErrorString(char* message, size_t bytes) {
  std::strncpy(message, "the stand-in refuses it", bytes);
  message[bytes - 1] = 0;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* made) {
  auto descriptor = std::make_shared<Descriptor>();
  descriptor->type = type;
  *made = new Ref(std::move(descriptor));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Ref*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  ref_of(descriptor)->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  Descriptor& d = *ref_of(descriptor);
  if (d.finalized || count < 0) return CUDNN_STATUS_BAD_PARAM;
  Attribute& attribute = d.attributes[name] = {type, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < count; ++i) {
      const Ref& part = ref_of(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]);
      if (!part->finalized) return CUDNN_STATUS_BAD_PARAM;
      attribute.parts.push_back(part);
    }
    return CUDNN_STATUS_SUCCESS;
  }
  const char* const bytes = static_cast<const char*>(elements);
  attribute.bytes.assign(bytes, bytes + static_cast<size_t>(count) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t most, int64_t* count,
                                       void* to) {
  const Descriptor& d = *ref_of(descriptor);
  int64_t told = 0;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      told = tell_engines(d, most, to);
      break;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      told = 1;
      if (most > 0 && to != nullptr)
        ref_of(*static_cast<cudnnBackendDescriptor_t*>(to))->engine = d.engine;
      break;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      if (d.engine == kUnsteady) told = tell(most, to, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
      break;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      told = tell(most, to, int64_t{d.engine});
      break;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      told = tell(most, to, kWorkspace);
      break;
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      told = tell(most, to, int32_t{0});
      break;
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      break;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (count != nullptr) *count = told;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return execute(*ref_of(plan), *ref_of(pack));
}

}  // extern "C"
