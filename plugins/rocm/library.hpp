// AMD's libraries, opened when an op first asks for them.
#pragma once

#include "../gpu/library.hpp"

namespace tenon::gpu {

// The same as open_library; NULL also where the library calls another HIP runtime than the plugin's.
void* open_rocm_library(std::initializer_list<const char*> names, const char* variable,
                        std::string& reason);

}  // namespace tenon::gpu
