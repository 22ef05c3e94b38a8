#include <winsock2.h>

#include "backends/proxy/cancellation.hpp"

namespace sotto::proxy {

// A second socket that shares the first one's connection.
void SocketWatch::watch(std::intptr_t socket) noexcept {
    forget();
    WSAPROTOCOL_INFOW info{};
    if (WSADuplicateSocketW(static_cast<SOCKET>(socket), GetCurrentProcessId(), &info) == 0) {
        const auto own = WSASocketW(
            FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0, WSA_FLAG_OVERLAPPED
        );
        own_ = own == INVALID_SOCKET ? -1 : static_cast<std::intptr_t>(own);
    }
}

void SocketWatch::shut() const noexcept {
    if (own_ != -1) {
        ::shutdown(static_cast<SOCKET>(own_), SD_BOTH);
    }
}

void SocketWatch::forget() noexcept {
    if (own_ != -1) {
        ::closesocket(static_cast<SOCKET>(own_));
        own_ = -1;
    }
}

} // namespace sotto::proxy
