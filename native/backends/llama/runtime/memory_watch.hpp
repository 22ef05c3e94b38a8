// Finds that memory ran out also where llama.cpp never heard of it: a stream of the C++ library keeps the
// exception to itself, and what is written to it from then on is lost.
#pragma once

namespace sotto::llama {

// Sets the new-handler that counts failures. Called once per process.
void note_failed_allocations() noexcept;

class MemoryWatch {
public:
    MemoryWatch() noexcept;
    // Throws std::bad_alloc if memory ran out on this thread since this was made.
    void check() const;

    // Runs `body`, and throws std::bad_alloc in place of its result or its exception if memory ran out.
    template <typename Body>
    static auto over(Body&& body) {
        const MemoryWatch watch;
        try {
            auto result = body();
            watch.check();
            return result;
        } catch (...) {
            watch.check(); // what was thrown may be a consequence
            throw;
        }
    }

private:
    unsigned before_;
};

} // namespace sotto::llama
