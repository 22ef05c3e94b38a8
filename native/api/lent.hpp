// Memory that calls lend to the calling thread: texts, JSON and the last event of a private request.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/model/card.hpp"
#include "core/request/event.hpp"

namespace sotto::api {

// One per thread that has called the library. Freed when the thread ends, after the destructors of its
// thread_local objects; never on the thread that ends the process. A call that comes even later gets a fresh
// one.
struct Lent {
    static constexpr std::size_t kMaxMessage = 1024;

    char message[kMaxMessage];
    std::size_t message_size = 0;
    std::string json;
    std::unique_ptr<Event> event;
    CardInfo card;
    VulkanNeeds needs;
    int rounds = 0; // of thread exit that it has outlived
};

// The calling thread's. Throws std::bad_alloc. Call it before doing what cannot be undone.
Lent& lent();

// Keeps `message` as the calling thread's last error. Without memory, the last error becomes "out of host
// memory".
void keep_message(const char* message) noexcept;
sotto_str kept_message() noexcept;

} // namespace sotto::api
