// Files: safetensors and GGUF, and writing that never leaves half a file.
#ifndef TENON_IO_HPP
#define TENON_IO_HPP

#include "tenon/io/gguf.hpp"
#include "tenon/io/safetensors.hpp"

#endif
