// Memory of a model's tensors, as stable-diffusion.cpp allocates it through ggml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace sotto::diffusion {

// Counts weights and compute buffers of one model. Any thread.
class MemoryMeter {
public:
    // What the calling thread allocates while the scope lives belongs to a model.
    class Scope {
    public:
        explicit Scope(MemoryMeter& meter) noexcept;
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        MemoryMeter* before_;
    };
    // The calling thread's meter, or null.
    static MemoryMeter* current() noexcept;

    // Counts `bytes` for `owner`, in place of what it had.
    void count(const void* owner, std::size_t bytes);
    // As count(), within the limit. Returns false, and counts nothing, beyond it.
    bool set(const void* owner, std::size_t bytes);
    void remove(const void* owner) noexcept;

    std::uint64_t held() const;
    // The most bytes held at once since the last call.
    std::uint64_t take_peak();
    // Returns true if something went beyond the limit since the last call.
    bool take_refused();
    // 0: no limit.
    void limit_to(std::uint64_t bytes);

private:
    mutable std::mutex mutex_; // guards the members below
    std::map<const void*, std::size_t> owners_;
    std::uint64_t held_ = 0;
    std::uint64_t peak_ = 0;
    std::uint64_t limit_ = 0;
    bool refused_ = false;
};

// Throws std::bad_alloc if a compute buffer was refused to the calling thread, and stable-diffusion.cpp has
// undone what it had begun: not all of its callers notice that nothing was computed. Called where it logs an
// error.
void throw_if_refused();

} // namespace sotto::diffusion
