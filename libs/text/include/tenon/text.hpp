// Tokenizers: text as numbers of a vocabulary, as the networks that were trained with it want them.
#ifndef TENON_TEXT_HPP
#define TENON_TEXT_HPP

#include "tenon/text/byte_pair.hpp"
#include "tenon/text/wordpiece.hpp"

#endif
