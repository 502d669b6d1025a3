#include "last_words.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "state.hpp"

namespace tenon::validate {
namespace {

// Takes no lock and allocates nothing: the process may have died while doing either.
void say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void say_where(std::string_view what) {
  const Crossing* at = current_crossing();
  if (at == nullptr) return;
  say("tenon: error: validate: ");
  if (const std::string_view op = current_op(); !op.empty()) {
    say("[");
    say(op);
    say("] ");
  }
  say("plugin \"");
  say(at->plugin);
  say("\", ");
  say(at->slot);
  say(": ");
  say(what);
  say("\n");
}

std::string_view meaning_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV: it touched memory that is not there";
    case SIGBUS:
      return "SIGBUS: it touched memory that is not there";
    case SIGABRT:
      return "SIGABRT: it, or a library it called, gave up; a block that is not its own may have "
             "been freed";
    case SIGFPE:
      return "SIGFPE: an integer was divided by zero";
    default:
      return "SIGILL: this CPU lacks an instruction";
  }
}

// SA_RESETHAND has restored the default, so the process ends when the signal comes again.
void on_signal(int signal) {
  say_where(meaning_of(signal));
  static_cast<void>(raise(signal));
}

void on_exit() { say_where("it ended the process; a plugin answers with a status"); }

}  // namespace

void install_last_words() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction mine {};
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_RESETHAND;
    sigaction(signal, &mine, nullptr);
  }
  static_cast<void>(std::atexit(on_exit));
}

}  // namespace tenon::validate
