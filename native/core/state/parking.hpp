// What models remember of conversations that have no place at present: in memory, as long as there is room,
// else in a scratch file. What takes its time, to pack those that begin alike and to use the disk, is done
// aside.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/memory/ledger.hpp"
#include "core/settings.hpp"
#include "core/state/file_worker.hpp"
#include "core/state/spill.hpp"
#include "platform/pages.hpp"

namespace sotto {

class Parking {
private:
    // What is kept, until nobody needs it any more: those who come back to it, and those packed with it. Its
    // members are guarded by the parking's mutex.
    struct Piece : std::enable_shared_from_this<Piece> {
        explicit Piece(Parking& where) : parking(where) {}
        ~Piece() { parking.drop(*this); }
        Piece(const Piece&) = delete;
        Piece& operator=(const Piece&) = delete;

        Parking& parking;
        std::uint64_t number = 0;
        std::string whose;    // the model
        std::size_t head = 0; // where others may be the same; kApart: not to be packed
        SharedBytes bytes;    // null: in the file
        Ledger::Claim claim;
        Scratch::Extent extent;           // in the file
        std::shared_ptr<SpillWrite> late; // that nobody waits for any more, but it has the bytes
        std::uint64_t size = 0;           // as it is kept
        std::uint64_t whole = 0;          // as it was put
        std::shared_ptr<Piece> like;      // that it is packed with; null: it is whole
        bool wanted = true;               // somebody may come back to it
        bool pinned = false;
        bool moving = false; // it is being written to the file
    };

public:
    // A state that is kept, until this is gone. Whoever has one may let go of it on any thread.
    class State {
    public:
        explicit State(std::shared_ptr<Piece> piece) noexcept : piece_(std::move(piece)) {}
        ~State() { piece_->parking.let_go(*piece_); }
        State(const State&) = delete;
        State& operator=(const State&) = delete;

        // It is the last to leave memory; or no longer.
        void pin(bool pinned) noexcept { piece_->parking.pin(*piece_, pinned); }

    private:
        friend class Parking;
        const std::shared_ptr<Piece> piece_;
    };
    using Kept = std::shared_ptr<State>;

    // Reading a state back, for which the disk may take its time. Holds the state and, once done, its bytes.
    class Fetch {
    public:
        bool is_done() const noexcept { return read_ == nullptr || read_->is_done(); }
        bool is_of(const Kept& state) const noexcept { return state_ == state; }

    private:
        friend class Parking;
        Kept state_;
        SharedBytes bytes_; // null: not in memory
        SharedBytes like_;
        bool packed_ = false;
        std::uint64_t whole_ = 0;
        std::shared_ptr<SpillRead> read_; // of what is not in memory; null: all of it is
    };

    // `folder`: of the scratch file; empty: where the system has its temporary ones. `most`: bytes that may
    // be in memory.
    Parking(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Hooks& hooks);
    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    // Keeps a state of the model `whose`. It may be packed later with another that is the same from `head` on
    // for a while; kApart: it is kept as it is. Null where there is no room, neither in memory nor in a file.
    // One thread at a time.
    // Waits for the disk for 250 ms, and as long as `bytes` take at 256 MB/s.
    static constexpr std::size_t kApart = SIZE_MAX;
    Kept put(std::string_view whose, PageBuffer bytes, std::size_t head = kApart) noexcept;
    // Whether reading it back takes no time. Any thread.
    bool is_in_memory(const State& state) const noexcept;
    // Begins to read a state back. Whoever is named by tell() is notified when it is done. Any thread.
    std::shared_ptr<Fetch> fetch(const Kept& state);
    // The bytes that were put. Throws Error(SOTTO_ERROR_STATE) where the file can't be read, or was not yet.
    SharedBytes read(const Fetch& fetch) const;
    // Whom to notify when something was fetched; null: nobody.
    void tell(Signal* fetched) noexcept { worker_.tell(fetched); }

    // Whether tidy() would find something to do: more of the memory is taken than is left, or states that are
    // gone still have room in the file. Any thread.
    bool is_untidy() const;
    // Packs, and then moves to files what was there longest, until less is taken than is left. What is pinned
    // stays. Takes its time, like the next two; one thread at a time for all three.
    void tidy();
    // Has tidy() end soon, for good. Any thread.
    void stop_tidying() noexcept { stops_ = true; }
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
    // By what leaves memory first: who is pinned is last, before that the oldest.
    using Rank = std::pair<bool, std::uint64_t>;
    static Rank rank_of(const Piece& piece) noexcept { return {piece.pinned, piece.number}; }

    // One that others may be packed with.
    struct Whole {
        std::string whose;
        std::string head;
        std::weak_ptr<Piece> piece;
    };
    enum class Else : std::uint8_t { forget, stay }; // what becomes of what cannot be written
    enum class Written : std::uint8_t { yes, no, late };
    static constexpr std::int64_t kPatient = INT64_MAX; // waits until tidying stops

    static std::int64_t patience_for(std::uint64_t bytes) noexcept;
    std::shared_ptr<Piece> next_to_pack();
    std::shared_ptr<Piece> next_to_spill(bool pinned);
    std::shared_ptr<Piece> like(std::string_view whose, std::string_view head) const;
    void pack(const std::shared_ptr<Piece>& piece);
    void
    keep_packed(Piece& piece, const SharedBytes& before, PageBuffer smaller, std::shared_ptr<Piece> like);
    SharedBytes bytes_of(const std::shared_ptr<Piece>& piece);
    std::shared_ptr<SpillRead> start_read(std::vector<Scratch::Extent> extents);
    bool into_memory(Piece& piece, const SharedBytes& bytes);
    bool make_room(std::uint64_t bytes);
    bool spill_next(bool pinned, Else otherwise, std::int64_t patience);
    bool into_file(Piece& piece, const SharedBytes& bytes);
    bool has_late() const;
    Written write(
        const SharedBytes& bytes,
        std::int64_t patience,
        Scratch::Extent& extent,
        std::shared_ptr<SpillWrite>& task
    );
    void leave(const Scratch::Extent& extent) noexcept;
    bool is_crowded() const;
    void pin(Piece& piece, bool pinned) noexcept;
    void let_go(Piece& piece) noexcept;
    void drop(Piece& piece) noexcept;
    void sweep() noexcept;

    Ledger& ledger_;
    const std::shared_ptr<Scratch> scratch_;
    const std::uint64_t most_;
    const Log& log_;
    std::atomic<std::uint64_t> numbers_{0}; // given to states
    std::atomic<bool> cannot_write_{false}; // the last time it did not work
    std::atomic<bool> stops_{false};        // no more tidying
    std::atomic<bool> warned_{false};       // of that
    std::vector<Whole> whole_;              // the latest of them; of who packs
    mutable std::mutex mutex_;              // guards what follows; never held while the disk works
    std::map<Rank, Piece*> in_memory_;
    std::map<std::uint64_t, Piece*> unpacked_; // of those, the oldest first
    std::vector<Scratch::Extent> left_;        // of states that are gone
    std::shared_ptr<SpillWrite> late_;         // the last write that took too long; or null
    Figures figures_;
    FileWorker worker_;
};

} // namespace sotto
