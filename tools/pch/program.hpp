// Precompiled for the `tenon` command.
#include <boost/program_options.hpp>

#include "client.hpp"
#include "formatting.hpp"
