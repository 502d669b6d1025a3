// Names the plugin's call during which a process dies.
#pragma once

namespace tenon::validate {

// Call once in a process. Signals that the program handles itself are left to it.
void install_last_words();

}  // namespace tenon::validate
