// The table of live requests, in which any thread can look up a request by id without waiting.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <sotto/model.h>

#include "base/mpsc_queue.hpp"
#include "core/request/paced_queue.hpp"
#include "platform/pages.hpp"

namespace sotto {

struct Slot;
class Stream;

// A submission of the host, converted to internal types.
struct Submission {
    enum class Kind : std::uint8_t {
        answer,
        load,
        unload,
        plan,
        load_adapter,
        unload_adapter,
        scale_adapter
    };

    Kind kind = Kind::answer;
    sotto_op op = 0;
    PageString body; // JSON body of an answer
    std::string id;  // of the model
    std::string path;
    std::string backend;
    std::string options;
    std::string adapter;      // name of the adapter
    float scale = 1;          // scale of the adapter
    std::uint64_t budget = 0; // bytes that a load plan may use; 0: the free budget
    std::uint64_t user = 0;
    sotto_request_flags flags = 0;
    float target_tps = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline_ns = 0;            // 0: no deadline
    std::shared_ptr<const PageBuffer> state; // state to restore, after it was read from its file
};

// A message to the control thread about one slot.
struct Note : MpscNode {
    enum class Kind : std::uint8_t { submit, cancel };

    Kind kind = Kind::submit;
    Slot* slot = nullptr;
};

// Hears the events of a request that the engine sends to itself. Control thread only.
class RequestListener {
public:
    virtual ~RequestListener() = default;
    // The slot is invalid after its last event.
    virtual void heard(Slot& slot, std::unique_ptr<Event> event) noexcept = 0;
};

// The table entry of a request. Never freed before the table; `refs` is not 0 while the slot belongs to a
// live request.
struct Slot {
    // References: the control thread holds one until the request has ended; the host holds one for a private
    // request until the host has taken the last event or dropped the request; each running API call holds one
    // for the slot that it uses.
    std::atomic<std::uint32_t> refs{0};
    std::atomic<sotto_request> id{0};
    std::atomic<std::uint32_t> next_free{0};
    std::uint32_t index = 0;

    // Owned by the control thread after submission:
    Stream* stream = nullptr;            // the stream that answers the request, or null
    bool has_several = false;            // several streams answer the request
    RequestListener* listener = nullptr; // takes the events; null: the host does

    Submission submission;       // only the control thread reads it after submission
    std::unique_ptr<Event> done; // allocated in advance, so that a request can end when memory is short
    std::int64_t submitted_ns = 0;
    std::atomic<float> target_tps{0}; // this request's pace; 0: the engine's
    Note submit;
    Note cancel;
    std::atomic<bool> cancel_noted{false}; // `cancel` has been pushed to the control thread
    std::atomic<bool> cancelled{false};
    std::atomic<bool> ended{false}; // the last event was pushed

    // Only for private requests:
    MpscQueue<Event> events;
    PacedQueue release; // guarded by `taking`
    Signal arrived;
    std::atomic_flag taking;
    std::atomic<bool> over{false};    // the host has taken the last event
    std::atomic<bool> dropped{false}; // the host has dropped the request
};

inline bool is_private(const Slot& slot) noexcept {
    return (slot.submission.flags & SOTTO_REQUEST_PRIVATE) != 0;
}

class RequestTable {
public:
    static constexpr std::uint32_t kMaxRequests = 65536;

    ~RequestTable();

    // Adds a request under a new id. Returns null if the maximum number of requests is live, which holds for
    // requests of the host alone, or the table is full.
    Slot* add(Submission submission, std::int64_t now, RequestListener* listener = nullptr);

    // Call before a request's last event is delivered: the request no longer counts as live.
    void ended() noexcept { live_.fetch_sub(1, std::memory_order_seq_cst); }
    // Number of live requests.
    std::uint32_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
    void set_most(std::uint32_t most) noexcept { most_ = most; }
    std::uint32_t most() const noexcept { return most_; }

    // Returns the live slot with that id, with a reference that the caller must release. Null: no such
    // request is live.
    Slot* acquire(sotto_request id) noexcept;

    void release(Slot& slot) noexcept;

    // Wakes all threads that wait for events of a private request.
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

    std::uint32_t most_ = kMaxRequests;
    std::atomic<std::uint32_t> live_{0};
    std::array<std::atomic<Chunk*>, kMaxRequests / kChunk> chunks_{};
    std::atomic<std::uint32_t> fresh_{0}; // index of the first slot that was never used
    // Head of the lock-free stack of free slots: index + 1 in the low 32 bits, an ABA tag in the high 32
    // bits.
    std::atomic<std::uint64_t> free_{0};
};

} // namespace sotto
