// Memory that ONNX Runtime takes, counted and kept by session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sotto::onnx {

// Blocks of one session. Outlives the session. Any thread.
//
// ONNX Runtime's own arena would do the same, but grows in steps that nothing counts, and never shrinks to
// what a run needs. Without either, the pages of each layer's output are new ones, which takes a third of a
// run's time.
class SessionMemory {
public:
    // The blocks that the calling thread allocates while the scope lives belong to a session.
    class Scope {
    public:
        explicit Scope(SessionMemory& memory) noexcept;
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        SessionMemory* before_;
    };

    SessionMemory() = default;
    ~SessionMemory();
    SessionMemory(const SessionMemory&) = delete;
    SessionMemory& operator=(const SessionMemory&) = delete;

    // Bytes in use.
    std::uint64_t held() const;
    // Forgets the most bytes in use so far.
    void reset_peak();
    // From now on, keeps freed blocks for reuse, as long as all blocks together take at most limit().
    void keep_freed();
    // The most bytes in use before keep_freed(), and an eighth; 0: not set yet.
    std::uint64_t limit() const;

    // Allocates for the calling thread's session, or for none. Aligned to a cache line. Null: no memory.
    static void* allocate(std::size_t bytes) noexcept;
    static void free(void* block) noexcept;

private:
    struct Head;

    Head* take(std::size_t bytes) noexcept;
    void make_room(std::size_t bytes) noexcept;
    void count(const Head& head) noexcept;
    void put_back(Head* head) noexcept;

    mutable std::mutex mutex_; // guards the members below
    std::vector<Head*> freed_; // kept
    std::uint64_t kept_ = 0;   // bytes of `freed_`
    std::uint64_t held_ = 0;
    std::uint64_t peak_ = 0;
    std::uint64_t limit_ = 0; // of held_ + kept_; 0: keeps none
};

} // namespace sotto::onnx
