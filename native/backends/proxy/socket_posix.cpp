#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/proxy/cancellation.hpp"

namespace sotto::proxy {

void SocketWatch::watch(std::intptr_t socket) noexcept {
    forget();
    own_ = fcntl(static_cast<int>(socket), F_DUPFD_CLOEXEC, 0);
}

void SocketWatch::shut() const noexcept {
    if (own_ >= 0) {
        ::shutdown(static_cast<int>(own_), SHUT_RDWR);
    }
}

void SocketWatch::forget() noexcept {
    if (own_ >= 0) {
        ::close(static_cast<int>(own_));
        own_ = -1;
    }
}

} // namespace sotto::proxy
