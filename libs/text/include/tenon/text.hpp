// Tokenizers: turn text into the token numbers that trained networks expect.
#ifndef TENON_TEXT_HPP
#define TENON_TEXT_HPP

#include "tenon/text/byte_pair.hpp"
#include "tenon/text/wordpiece.hpp"

#endif
