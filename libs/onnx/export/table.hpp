// For each op of Tenon, the ONNX nodes that compute it (opset 18 and later).
#pragma once

#include "export/emitter.hpp"

namespace tenon::onnx {

using Emit = void (*)(Emitter&, const RecordedCall&);

void add_control(std::map<std::string, Emit>& table);
void add_elementwise(std::map<std::string, Emit>& table);
void add_formulas(std::map<std::string, Emit>& table);
void add_layers(std::map<std::string, Emit>& table);
void add_moves(std::map<std::string, Emit>& table);
void add_recurrent(std::map<std::string, Emit>& table);
void add_reductions(std::map<std::string, Emit>& table);

// x after the activation that `linear` names.
std::string activated(Emitter& out, DType dtype, const std::string& x, const std::string& name);

}  // namespace tenon::onnx
