// Detects failed allocations that llama.cpp did not notice: a C++ stream swallows the exception and drops all
// further output.
#pragma once

namespace sotto::llama {

// Installs a new-handler that counts failed allocations. Called once per process.
void note_failed_allocations() noexcept;

class MemoryWatch {
public:
    MemoryWatch() noexcept;
    // Throws std::bad_alloc if an allocation has failed on this thread since this object was created.
    void check() const;

    // Runs `body`. If an allocation failed meanwhile, throws std::bad_alloc instead of returning or
    // rethrowing.
    template <typename Body>
    static auto over(Body&& body) {
        const MemoryWatch watch;
        try {
            auto result = body();
            watch.check();
            return result;
        } catch (...) {
            watch.check(); // the exception may be a consequence of a failed allocation
            throw;
        }
    }

private:
    unsigned before_; // failed allocations of this thread until the object was created
};

} // namespace sotto::llama
