// The requests that are live, and how any thread finds one by name without waiting.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <sotto/model.h>

#include "base/mpsc_queue.hpp"
#include "core/request/release.hpp"
#include "platform/pages.hpp"

namespace sotto {

struct Slot;
class Stream;

// What a host asked for, in our own types.
struct Asked {
    enum class What : std::uint8_t {
        answer,
        load,
        unload,
        plan,
        load_adapter,
        unload_adapter,
        scale_adapter
    };

    What what = What::answer;
    sotto_op op = 0;
    PageString body; // of an answer: JSON
    std::string id;  // of a model
    std::string path;
    std::string backend;
    std::string options;
    std::string adapter;      // its name
    float scale = 1;          // of that
    std::uint64_t budget = 0; // of a plan: bytes; 0: what is left
    std::uint64_t user = 0;
    sotto_request_flags flags = 0;
    float target_tps = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline_ns = 0;            // 0: none
    std::shared_ptr<const PageBuffer> state; // to restore, once it was read from its file
};

// A note for the control thread about one slot.
struct Note : MpscNode {
    enum class Kind : std::uint8_t { submit, cancel };

    Kind kind = Kind::submit;
    Slot* slot = nullptr;
};

// One live request. The memory stays for as long as the table; `refs` says whether it means anything.
struct Slot {
    // One reference is the control thread's until the request is over; one the host's, of a private
    // request, until it took the last event or dropped it; others are of calls under way.
    std::atomic<std::uint32_t> refs{0};
    std::atomic<sotto_request> id{0};
    std::atomic<std::uint32_t> next_free{0};
    std::uint32_t index = 0;

    // The control thread's, once submitted:
    Stream* stream = nullptr; // that answers it, or null
    bool has_several = false; // streams answer it

    Asked asked;                 // read by the control thread alone once submitted
    std::unique_ptr<Event> done; // made beforehand, so that a request can end without memory
    std::int64_t submitted_ns = 0;
    std::atomic<float> target_tps{0}; // of its own; 0: the engine's
    Note submit;
    Note cancel;
    std::atomic<bool> cancel_noted{false}; // whether `cancel` is on its way
    std::atomic<bool> cancelled{false};
    std::atomic<bool> ended{false}; // its last event is on its way, or was taken

    // Of a private request:
    MpscQueue<Event> events;
    Release release; // guarded by `taking`
    Signal arrived;
    std::atomic_flag taking;
    std::atomic<bool> over{false};    // the host took the last event
    std::atomic<bool> dropped{false}; // the host wants no more

    bool is_private() const noexcept { return (asked.flags & SOTTO_REQUEST_PRIVATE) != 0; }
};

class RequestTable {
public:
    static constexpr std::uint32_t kMost = 65536;

    ~RequestTable();

    // A slot with a new name, filled. Null when as many as may be are live.
    Slot* add(Asked asked, std::int64_t now);

    // A request is over, and about to be told so: another may take its place.
    void ended() noexcept { live_.fetch_sub(1, std::memory_order_seq_cst); }
    // How many are not.
    std::uint32_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
    void set_most(std::uint32_t most) noexcept { most_ = most; }
    std::uint32_t most() const noexcept { return most_; }

    // The live slot of that name, with a reference that the caller must release. Null if there is none.
    Slot* acquire(sotto_request id) noexcept;

    void release(Slot& slot) noexcept;

    // Wakes every thread that waits for a private request's events.
    void wake_all() noexcept;

private:
    static constexpr std::uint32_t kChunk = 256;
    struct Chunk {
        std::array<Slot, kChunk> slots;
    };

    Slot* at(std::uint32_t index) noexcept;
    Slot* take_free() noexcept;
    Slot* make_fresh();
    void put_free(Slot& slot) noexcept;

    std::uint32_t most_ = kMost;
    std::atomic<std::uint32_t> live_{0};
    std::array<std::atomic<Chunk*>, kMost / kChunk> chunks_{};
    std::atomic<std::uint32_t> fresh_{0}; // slots from here on were never used
    // A stack of free slots: index + 1 in the low half, a tag against reuse in the high half.
    std::atomic<std::uint64_t> free_{0};
};

} // namespace sotto
