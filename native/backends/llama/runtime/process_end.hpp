// Process exit while engines still run: ggml's static variables are destroyed then, so exit waits for threads
// that use them, and no thread may start using them.
#pragma once

namespace sotto::llama {

// Held for a call that uses ggml's static variables. Converts to false if the process is exiting; they must
// not be used then.
class Inside {
public:
    Inside() noexcept;
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    explicit operator bool() const noexcept { return entered_; }

private:
    bool entered_;
};

// Returns true if the process is exiting, so that running work should be aborted.
bool process_ends() noexcept;

// Registers an exit handler that runs before the destruction of static variables created until now, and
// refuses new calls.
void end_with_process();

// Called in a child after fork(), which lacks the threads that were counted.
void forget_who_is_inside() noexcept;

} // namespace sotto::llama
