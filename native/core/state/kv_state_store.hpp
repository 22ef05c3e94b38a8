// KV cache states of streams without a slot: kept in memory within a limit, else in a scratch file.
// Packing (delta compression of a state against a similar one) and disk access are slow and run on other
// threads than inference.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "core/memory/ledger.hpp"
#include "core/settings.hpp"
#include "core/state/kv_state_entry.hpp"
#include "core/state/similar_states.hpp"
#include "core/state/spill.hpp"
#include "core/state/spill_file.hpp"
#include "core/state/spill_order.hpp"
#include "platform/pages.hpp"

namespace sotto {

class KvStateStore {
public:
    // Owner of a saved state. Destroying the owner frees the state as soon as no other state is compressed
    // with that state as the prefix. May be destroyed on any thread.
    class State {
    public:
        State(KvStateStore& kv_states, std::shared_ptr<KvStateEntry> entry) noexcept
            : kv_states_(kv_states), entry_(std::move(entry)) {}
        ~State() { kv_states_.let_go(*entry_); }
        State(const State&) = delete;
        State& operator=(const State&) = delete;

        // Returns true if the state is one of model `whose`.
        bool is_of(std::string_view whose) const noexcept { return entry_->whose == whose; }
        const std::string& model() const noexcept { return entry_->whose; }
        // Pinned states are spilled last.
        void pin(bool pinned) noexcept { kv_states_.pin(*entry_, pinned); }

    private:
        friend class KvStateStore;
        KvStateStore& kv_states_;
        const std::shared_ptr<KvStateEntry> entry_;
    };
    using Kept = std::shared_ptr<State>;

    // An asynchronous read of a saved state, from memory or from the disk. Holds the state and, once done,
    // its bytes.
    class Fetch {
    public:
        bool is_done() const noexcept { return read_ == nullptr || read_->is_done(); }
        bool is_of(const Kept& state) const noexcept { return state_ == state; }

    private:
        friend class KvStateStore;
        Kept state_;
        SharedBytes bytes_; // null if not in memory
        SharedBytes like_;
        bool packed_ = false;
        std::uint64_t whole_ = 0;
        std::shared_ptr<SpillRead> read_; // disk read; null if all bytes are in memory
    };

    // The bytes of a state in memory, which may outlive the store.
    struct StoredBytes {
        SharedBytes bytes;
        SharedBytes like; // prefix for unpacking; null: not packed
        std::uint64_t whole = 0;

        // Returns the bytes passed to put(). Slow if they are packed.
        SharedBytes unpack() const;
    };

    // `folder`: folder of the scratch file; empty: the system's temporary folder. `most`: maximum bytes in
    // memory.
    KvStateStore(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Hooks& hooks);
    KvStateStore(const KvStateStore&) = delete;
    KvStateStore& operator=(const KvStateStore&) = delete;

    // Saves a state of model `whose`. The state may be packed later against a state with similar bytes from
    // offset `head` on; kApart: never packed. Returns null if neither memory nor the file has space. Throws
    // std::bad_alloc without any effect. One thread at a time. Waits for the disk at most 250 ms plus 1 ms
    // per 256 KiB of `bytes`.
    static constexpr std::size_t kApart = KvStateEntry::kApart;
    Kept put(std::string_view whose, PageBuffer bytes, std::size_t head = kApart);
    // Returns true if the state can be read without disk access. Any thread.
    bool is_in_memory(const State& state) const noexcept;
    // Returns nothing if the state is not in memory. Any thread.
    std::optional<StoredBytes> stored_bytes(const Kept& state) const;
    // Starts reading a state. Notifies the signal set by tell() when done. Any thread.
    std::shared_ptr<Fetch> fetch(const Kept& state);
    // Returns the bytes passed to put(). Throws Error(SOTTO_ERROR_STATE) if the file cannot be
    // read, or if the fetch is not done.
    SharedBytes read(const Fetch& fetch) const;
    // Sets the signal to notify after each fetch; null: none.
    void tell(Signal* fetched) noexcept { file_.tell(fetched); }

    // Returns true if tidy() has work: the states in memory use more than remains under the store's limit or
    // in the engine's budget, or the scratch file has extents to free. Any thread.
    bool is_untidy() const;
    // Packs states, then spills the oldest states to the file, until the states in memory use less memory
    // than is still free. Pinned states stay in memory. tidy(), pack() and spill() are slow; one thread at a
    // time for all three.
    void tidy();
    // Stops tidy() soon and permanently. Any thread.
    void stop_tidying() noexcept { file_.stop(); }
    // Packs states in memory: keeps one of several similar states uncompressed, and of the other states only
    // the differences from that state.
    void pack();
    // Spills states to the file until `bytes` of memory are freed or no state is left in memory; pinned
    // states last.
    void spill(std::uint64_t bytes = UINT64_MAX);

    struct Figures {
        std::uint64_t count = 0;  // states that an owner can restore
        std::uint64_t memory = 0; // bytes
        std::uint64_t disk = 0;
    };
    Figures figures() const;

private:
    using Entry = KvStateEntry;
    enum class Else : std::uint8_t { forget, stay }; // action if the write fails

    std::shared_ptr<Entry> make_entry();
    void pack(const std::shared_ptr<Entry>& entry);
    void
    keep_packed(Entry& entry, const SharedBytes& before, PageBuffer smaller, std::shared_ptr<Entry> like);
    SharedBytes bytes_of(const std::shared_ptr<Entry>& entry);
    bool into_memory(Entry& entry, const SharedBytes& bytes);
    bool make_room(std::uint64_t bytes);
    bool spill_next(bool pinned, Else otherwise, std::int64_t patience);
    bool into_file(Entry& entry, const SharedBytes& bytes);
    bool is_crowded() const;
    void pin(Entry& entry, bool pinned) noexcept;
    void let_go(Entry& entry) noexcept;
    void drop(Entry& entry) noexcept;

    Ledger& ledger_;
    const std::uint64_t most_;
    std::atomic<std::uint64_t> numbers_{0}; // number of the newest entry
    SimilarStates similar_;                 // used by pack() only
    mutable std::mutex mutex_; // guards order_, figures_ and entries; not held during disk access
    SpillOrder order_;
    Figures figures_;
    SpillFile file_; // thread-safe
};

} // namespace sotto
