// A process that ends while engines of its still run. What ggml keeps in static variables is destroyed then,
// so whoever is inside of it is waited for, and nobody comes in any more.
#pragma once

namespace sotto::llama {

// Lasts as long as a call that uses what ggml keeps. False: the process ends, and nothing of that may be
// used.
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

// Whether it does, so that what is under way is to be broken off.
bool process_ends() noexcept;

// Called when the process ends, before what was made until now is destroyed: closes for good.
void end_with_process();

// In a child process, which lacks the threads that were inside.
void forget_who_is_inside() noexcept;

} // namespace sotto::llama
