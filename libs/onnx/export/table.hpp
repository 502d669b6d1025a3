// For each op of Tenon the nodes of ONNX that compute it, in opset 18 and later ones.
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

// x after an activation that `linear` names.
std::string activated(Emitter& out, DType dtype, const std::string& x, const std::string& name);

}  // namespace tenon::onnx
