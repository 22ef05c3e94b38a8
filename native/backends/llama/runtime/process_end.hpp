// Handles process exit while engines still run. Exit destroys ggml's static variables, so an exit handler
// waits for calls that use these variables, and refuses new calls.
#pragma once

namespace sotto::llama {

// Lives for one call that uses ggml's static variables. Converts to false if the process is exiting: the call
// must not use the static variables then.
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

// Registers the exit handler. The handler runs before static variables that exist now are destroyed; it
// refuses new calls and waits up to 2 s for running ones.
void end_with_process();

// Resets the number of running calls to 0. Call it in a child process after fork(), where the threads of
// these calls do not exist.
void forget_who_is_inside() noexcept;

} // namespace sotto::llama
