// What models remember of conversations that have no place at present: in memory, as long as there is room,
// else in a scratch file. What takes its time, to pack those that begin alike and to use the disk, is done
// aside.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
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
    // A state that is kept, until this is gone. Whoever has one may let go of it on any thread.
    class State {
    public:
        State(KvStateStore& parking, std::shared_ptr<KvStateEntry> entry) noexcept
            : parking_(parking), entry_(std::move(entry)) {}
        ~State() { parking_.let_go(*entry_); }
        State(const State&) = delete;
        State& operator=(const State&) = delete;

        // It is the last to leave memory; or no longer.
        void pin(bool pinned) noexcept { parking_.pin(*entry_, pinned); }

    private:
        friend class KvStateStore;
        KvStateStore& parking_;
        const std::shared_ptr<KvStateEntry> entry_;
    };
    using Kept = std::shared_ptr<State>;

    // Reading a state back, for which the disk may take its time. Holds the state and, once done, its bytes.
    class Fetch {
    public:
        bool is_done() const noexcept { return read_ == nullptr || read_->is_done(); }
        bool is_of(const Kept& state) const noexcept { return state_ == state; }

    private:
        friend class KvStateStore;
        Kept state_;
        SharedBytes bytes_; // null: not in memory
        SharedBytes like_;
        bool packed_ = false;
        std::uint64_t whole_ = 0;
        std::shared_ptr<SpillRead> read_; // of what is not in memory; null: all of it is
    };

    // `folder`: of the scratch file; empty: where the system has its temporary ones. `most`: bytes that may
    // be in memory.
    KvStateStore(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Hooks& hooks);
    KvStateStore(const KvStateStore&) = delete;
    KvStateStore& operator=(const KvStateStore&) = delete;

    // Keeps a state of the model `whose`. It may be packed later with another that is the same from `head` on
    // for a while; kApart: it is kept as it is. Null where there is no room, neither in memory nor in a file.
    // One thread at a time.
    // Waits for the disk for 250 ms, and as long as `bytes` take at 256 MB/s.
    static constexpr std::size_t kApart = KvStateEntry::kApart;
    Kept put(std::string_view whose, PageBuffer bytes, std::size_t head = kApart) noexcept;
    // Whether reading it back takes no time. Any thread.
    bool is_in_memory(const State& state) const noexcept;
    // Begins to read a state back. Whoever is named by tell() is notified when it is done. Any thread.
    std::shared_ptr<Fetch> fetch(const Kept& state);
    // The bytes that were put. Throws Error(SOTTO_ERROR_STATE) where the file can't be read, or was not yet.
    SharedBytes read(const Fetch& fetch) const;
    // Whom to notify when something was fetched; null: nobody.
    void tell(Signal* fetched) noexcept { file_.tell(fetched); }

    // Whether tidy() would find something to do: more of the memory is taken than is left, or states that are
    // gone still have room in the file. Any thread.
    bool is_untidy() const;
    // Packs, and then moves to files what was there longest, until less is taken than is left. What is pinned
    // stays. Takes its time, like the next two; one thread at a time for all three.
    void tidy();
    // Has tidy() end soon, for good. Any thread.
    void stop_tidying() noexcept { file_.stop(); }
    // Packs what is in memory: of those that begin alike one stays whole, and of others what is different.
    void pack();
    // Moves to files what makes `bytes` of room, or all there is: what is pinned last.
    void spill(std::uint64_t bytes = UINT64_MAX);

    struct Figures {
        std::uint64_t count = 0;  // of states that somebody may come back to
        std::uint64_t memory = 0; // bytes
        std::uint64_t disk = 0;
    };
    Figures figures() const;

private:
    using Entry = KvStateEntry;
    enum class Else : std::uint8_t { forget, stay }; // what becomes of what cannot be written

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
    std::atomic<std::uint64_t> numbers_{0}; // given to states
    SimilarStates similar_;                 // of the thread that packs
    mutable std::mutex mutex_;              // guards what follows, and entries; not held while the disk works
    SpillOrder order_;
    Figures figures_;
    SpillFile file_; // guards itself
};

} // namespace sotto
