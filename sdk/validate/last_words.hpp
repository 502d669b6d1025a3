// Names the plugin's call in which a process dies.
#pragma once

namespace tenon::validate {

// Once a process. Signals that the program handles itself are left to it.
void install_last_words();

}  // namespace tenon::validate
