#include "backends/onnx/memory.hpp"

#include <algorithm>
#include <new>

namespace sotto::onnx {
namespace {

constexpr std::size_t kAlignment = 64; // ONNX Runtime's kernels expect it

thread_local SessionMemory* t_memory = nullptr;

} // namespace

// Stands in front of each block.
struct alignas(kAlignment) SessionMemory::Head {
    SessionMemory* memory;
    std::size_t bytes; // of the block, which may be more than was asked for

    static Head* make(SessionMemory* memory, std::size_t bytes) noexcept {
        static_assert(sizeof(Head) == kAlignment);
        if (bytes > SIZE_MAX - kAlignment) {
            return nullptr;
        }
        void* place = ::operator new(bytes + kAlignment, std::align_val_t(kAlignment), std::nothrow);
        return place == nullptr ? nullptr : new (place) Head{memory, bytes};
    }
    void release() noexcept { ::operator delete(this, std::align_val_t(kAlignment)); }
};

SessionMemory::Scope::Scope(SessionMemory& memory) noexcept : before_(t_memory) {
    t_memory = &memory;
}

SessionMemory::Scope::~Scope() {
    t_memory = before_;
}

SessionMemory::~SessionMemory() {
    for (auto* head : freed_) {
        head->release();
    }
}

std::uint64_t SessionMemory::held() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

std::uint64_t SessionMemory::limit() const {
    const std::lock_guard lock(mutex_);
    return limit_;
}

void SessionMemory::reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = held_;
}

void SessionMemory::keep_freed() {
    constexpr std::size_t kBlocks = 4'096;
    constexpr std::uint64_t kSlack = 8; // ONNX Runtime takes one block for all layers from the second run on
    const std::lock_guard lock(mutex_);
    freed_.reserve(kBlocks); // so that put_back() allocates nothing
    limit_ = peak_ + peak_ / kSlack;
}

// Returns the smallest kept block that is at most a quarter too large.
SessionMemory::Head* SessionMemory::take(std::size_t bytes) noexcept {
    auto best = freed_.end();
    for (auto at = freed_.begin(); at != freed_.end(); ++at) {
        const auto size = (*at)->bytes;
        if (size >= bytes && size - bytes <= bytes / 4 && (best == freed_.end() || size < (*best)->bytes)) {
            best = at;
        }
    }
    if (best == freed_.end()) {
        return nullptr;
    }
    auto* head = *best;
    *best = freed_.back();
    freed_.pop_back();
    kept_ -= head->bytes;
    return head;
}

void SessionMemory::make_room(std::size_t bytes) noexcept {
    while (!freed_.empty() && held_ + kept_ + bytes > limit_) {
        kept_ -= freed_.front()->bytes; // the oldest
        freed_.front()->release();
        freed_.erase(freed_.begin());
    }
}

void SessionMemory::count(const Head& head) noexcept {
    held_ += head.bytes;
    peak_ = std::max(peak_, held_);
}

void SessionMemory::put_back(Head* head) noexcept {
    {
        const std::lock_guard lock(mutex_);
        held_ -= head->bytes;
        if (held_ + kept_ + head->bytes <= limit_ && freed_.size() < freed_.capacity()) {
            freed_.push_back(head);
            kept_ += head->bytes;
            return;
        }
    }
    head->release();
}

void* SessionMemory::allocate(std::size_t bytes) noexcept {
    auto* memory = t_memory;
    if (memory == nullptr) {
        auto* head = Head::make(nullptr, bytes);
        return head == nullptr ? nullptr : head + 1;
    }
    const std::lock_guard lock(memory->mutex_);
    auto* head = memory->take(bytes);
    if (head == nullptr) {
        memory->make_room(bytes);
        head = Head::make(memory, bytes);
    }
    if (head == nullptr) {
        return nullptr;
    }
    memory->count(*head);
    return head + 1;
}

void SessionMemory::free(void* block) noexcept {
    if (block == nullptr) {
        return;
    }
    auto* head = static_cast<Head*>(block) - 1;
    if (head->memory != nullptr) {
        head->memory->put_back(head);
    } else {
        head->release();
    }
}

} // namespace sotto::onnx
