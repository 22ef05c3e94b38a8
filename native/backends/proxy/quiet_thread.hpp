// Threads that never run a signal handler of the host.
#pragma once

#include <functional>

namespace sotto::proxy {

// Starts a detached thread, with all signals blocked where the system has them: a connection that the server
// closed must not end the process with SIGPIPE. Throws std::system_error.
void start_quiet_thread(std::function<void()> body);

} // namespace sotto::proxy
