// Files: safetensors, and writing that never leaves half a file.
#ifndef TENON_IO_HPP
#define TENON_IO_HPP

#include "tenon/io/safetensors.hpp"

#endif
