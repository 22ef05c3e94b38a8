#include "core/request/request_table.hpp"

#include <utility>

namespace sotto {
namespace {

constexpr unsigned kIndexBits = 16;

// Request ids are unique in the process, so that an id passed to the wrong engine is unknown there.
std::atomic<std::uint64_t> g_named{0};

sotto_request new_name(std::uint32_t index) noexcept {
    return (g_named.fetch_add(1, std::memory_order_relaxed) + 1) << kIndexBits | index;
}

void reset(Slot& slot) noexcept {
    slot.release.clear();
    while (Event* event = slot.events.pop()) {
        delete event;
    }
    slot.done.reset();
    slot.submission = {};
    slot.listener = nullptr;
}

} // namespace

RequestTable::~RequestTable() {
    for (auto& entry : chunks_) {
        Chunk* chunk = entry.load();
        if (chunk != nullptr) {
            for (auto& slot : chunk->slots) {
                reset(slot);
            }
            delete chunk;
        }
    }
}

Slot* RequestTable::add(Submission submission, std::int64_t now, RequestListener* listener) {
    auto done = std::make_unique<Event>();
    struct Count { // reverts the count on early return
        std::atomic<std::uint32_t>& live;
        const std::uint32_t before = live.fetch_add(1, std::memory_order_relaxed);
        bool kept = false;
        ~Count() {
            if (!kept) {
                live.fetch_sub(1, std::memory_order_relaxed);
            }
        }
    } count{live_};
    // A maximum of kMaxRequests needs no check: the table has kMaxRequests slots.
    const bool may = most_ == kMaxRequests || count.before < most_ || listener != nullptr;
    Slot* slot = may ? take_free() : nullptr;
    if (slot == nullptr && may) {
        slot = make_fresh();
    }
    if (slot == nullptr) {
        return nullptr;
    }
    count.kept = true;
    slot->submission = std::move(submission);
    slot->listener = listener;
    slot->done = std::move(done);
    slot->submitted_ns = now;
    slot->target_tps.store(slot->submission.target_tps, std::memory_order_relaxed);
    slot->submit.kind = Note::Kind::submit;
    slot->cancel.kind = Note::Kind::cancel;
    slot->submit.slot = slot->cancel.slot = slot;
    slot->cancel_noted = slot->cancelled = slot->ended = slot->over = slot->dropped = false;
    slot->id.store(new_name(slot->index), std::memory_order_relaxed);
    slot->refs.store(is_private(*slot) ? 2 : 1, std::memory_order_release);
    return slot;
}

Slot* RequestTable::acquire(sotto_request id) noexcept {
    Slot* slot = at(static_cast<std::uint32_t>(id & (kMaxRequests - 1)));
    if (slot == nullptr) {
        return nullptr;
    }
    auto refs = slot->refs.load(std::memory_order_acquire);
    do {
        if (refs == 0) {
            return nullptr;
        }
    } while (!slot->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel));
    if (slot->id.load(std::memory_order_relaxed) == id) {
        return slot;
    }
    release(*slot);
    return nullptr;
}

void RequestTable::release(Slot& slot) noexcept {
    if (slot.refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        reset(slot);
        put_free(slot);
    }
}

void RequestTable::wake_all() noexcept {
    for (auto& entry : chunks_) {
        if (Chunk* chunk = entry.load(std::memory_order_acquire)) {
            for (auto& slot : chunk->slots) {
                slot.arrived.notify();
            }
        }
    }
}

Slot* RequestTable::at(std::uint32_t index) noexcept {
    Chunk* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &chunk->slots[index % kChunk];
}

Slot* RequestTable::take_free() noexcept {
    auto top = free_.load(std::memory_order_acquire);
    for (;;) {
        const auto index = static_cast<std::uint32_t>(top);
        if (index == 0) {
            return nullptr;
        }
        Slot* slot =
            &chunks_[(index - 1) / kChunk].load(std::memory_order_acquire)->slots[(index - 1) % kChunk];
        const auto tag = (top >> 32) + 1;
        const auto below = tag << 32 | slot->next_free.load(std::memory_order_relaxed);
        if (free_.compare_exchange_weak(top, below, std::memory_order_acq_rel)) {
            return slot;
        }
    }
}

Slot* RequestTable::make_fresh() {
    auto index = fresh_.load(std::memory_order_relaxed);
    do {
        if (index >= kMaxRequests) {
            return nullptr;
        }
    } while (!fresh_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    auto& entry = chunks_[index / kChunk];
    if (entry.load(std::memory_order_acquire) == nullptr) {
        auto made = std::make_unique<Chunk>();
        for (std::uint32_t i = 0; i < kChunk; ++i) {
            made->slots[i].index = index / kChunk * kChunk + i;
        }
        Chunk* none = nullptr;
        if (entry.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) {
            made.release();
        }
    }
    return at(index);
}

void RequestTable::put_free(Slot& slot) noexcept {
    auto top = free_.load(std::memory_order_acquire);
    std::uint64_t mine = 0;
    do {
        slot.next_free.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
        mine = ((top >> 32) + 1) << 32 | (slot.index + 1);
    } while (!free_.compare_exchange_weak(top, mine, std::memory_order_acq_rel));
}

} // namespace sotto
