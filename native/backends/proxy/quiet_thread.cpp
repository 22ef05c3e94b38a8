#include "backends/proxy/quiet_thread.hpp"

#include <thread>
#include <utility>

#ifndef _WIN32
#  include <pthread.h>
#  include <signal.h>
#endif

namespace sotto::proxy {

void start_quiet_thread(std::function<void()> body) {
#ifndef _WIN32
    struct Blocked {
        sigset_t before{};
        Blocked() {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
        }
        ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    } const blocked;
#endif
    std::thread(std::move(body)).detach();
}

} // namespace sotto::proxy
