// How many threads plugins may compute on.
#pragma once

#include "tenon/ext/draft/threads.h"

namespace tenon::core {

// What the host answers to get_interface("tn.threads", 1).
extern const tn_threads g_threads_table;

}  // namespace tenon::core
