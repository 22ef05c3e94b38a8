// Threads that compute graphs: what happens when they start, or cannot be started.
#pragma once

#include <system_error>

namespace sotto::llama {

// Lives while the calling thread starts threads for graphs: each of them then calls `began` with `context`
// first.
class ThreadStarts {
public:
    using Began = void (*)(void* context) noexcept;

    ThreadStarts(Began began, void* context) noexcept;
    ~ThreadStarts();
    ThreadStarts(const ThreadStarts&) = delete;
    ThreadStarts& operator=(const ThreadStarts&) = delete;
};

// Throws Error(SOTTO_ERROR_MEMORY) with the system's message and a hint.
[[noreturn]] void refuse_thread(const std::error_code& failed);

} // namespace sotto::llama
