// Memory that calls lend to the calling thread: texts, JSON, and the last event of a private request.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/model/device_manager.hpp"
#include "core/request/event.hpp"

namespace sotto::api {

// The memory lent to one thread that has called the library. Freed when the thread ends, after the
// destructors of its thread_local objects; never on the thread that ends the process. A later call on the
// same thread allocates a new Lent.
struct Lent {
    static constexpr std::size_t kMaxMessage = 1024;

    char message[kMaxMessage];
    std::size_t message_size = 0;
    std::string json;
    std::unique_ptr<Event> event;
    CardInfo card;
    VulkanNeeds needs;
    int rounds = 0; // rounds of thread-exit destructors that have passed
};

// Returns the calling thread's Lent. Throws std::bad_alloc: call lent() before any step that cannot be
// undone.
Lent& lent();

// Stores `message` as the calling thread's last error. If memory is short, stores "out of host memory"
// instead.
void keep_message(const char* message) noexcept;
sotto_str kept_message() noexcept;

} // namespace sotto::api
