// What models remember of conversations that have no place at present: in memory, as long as there is room,
// else in files. What takes its time, to pack those that begin alike and to write files, is done aside.
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

#include "base/log.hpp"
#include "core/budget/ledger.hpp"

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
        std::string whose;                        // the model
        std::size_t head = 0;                     // where others may be the same; kApart: not to be packed
        std::shared_ptr<const std::string> bytes; // null: in the file
        Ledger::Claim claim;
        std::filesystem::path file;
        std::uint64_t size = 0;      // as it is kept
        std::uint64_t whole = 0;     // as it was put
        std::shared_ptr<Piece> like; // that it is packed with; null: it is whole
        bool wanted = true;          // somebody may come back to it
        bool pinned = false;
        bool moving = false; // it is being written to a file
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

    // `folder`: for files; empty: where the system has its temporary ones. `most`: bytes that may be in
    // memory.
    Parking(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Log& log);
    ~Parking();
    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    // Keeps a state of the model `whose`. It may be packed later with another that is the same from `head` on
    // for a while; kApart: it is kept as it is. Null where there is no room, neither in memory nor in a file.
    // One thread at a time.
    static constexpr std::size_t kApart = SIZE_MAX;
    Kept put(std::string_view whose, std::string bytes, std::size_t head = kApart) noexcept;
    // Throws Error(SOTTO_ERROR_STATE) where its file cannot be read any more. Any thread.
    std::shared_ptr<const std::string> read(const State& state);

    // Whether tidy() would find something to do: more of the memory is taken than is left, or files are left
    // of states that are gone. Any thread.
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
    // As it is kept.
    struct Raw {
        std::shared_ptr<const std::string> bytes;
        std::shared_ptr<Piece> like;
        std::uint64_t whole = 0;
    };
    enum class Else : std::uint8_t { forget, stay }; // what becomes of what cannot be written

    std::shared_ptr<Piece> next_to_pack();
    std::shared_ptr<Piece> next_to_spill(bool pinned);
    std::shared_ptr<Piece> like(std::string_view whose, std::string_view head) const;
    void pack(const std::shared_ptr<Piece>& piece);
    void
    keep_packed(Piece& piece, const std::string& before, std::string smaller, std::shared_ptr<Piece> like);
    Raw raw(const Piece& piece);
    bool into_memory(Piece& piece, std::string& bytes);
    bool make_room(std::uint64_t bytes);
    bool spill_next(bool pinned, Else otherwise);
    bool into_file(Piece& piece, std::string_view bytes);
    bool write(const std::filesystem::path& path, std::string_view bytes) noexcept;
    std::filesystem::path new_path();
    void leave(std::filesystem::path path) noexcept;
    bool is_crowded() const;
    void pin(Piece& piece, bool pinned) noexcept;
    void let_go(Piece& piece) noexcept;
    void drop(Piece& piece) noexcept;
    void sweep() noexcept;

    Ledger& ledger_;
    const std::filesystem::path folder_; // empty: there is none
    const std::uint64_t most_;
    const Log& log_;
    const std::string stem_;                // of our files' names
    std::atomic<std::uint64_t> numbers_{0}; // given, to states and to files
    std::atomic<bool> cannot_write_{false}; // the last time it did not work
    std::atomic<bool> stops_{false};        // no more tidying
    std::atomic<bool> warned_{false};       // of that
    std::vector<Whole> whole_;              // the latest of them; of who packs
    mutable std::mutex mutex_;              // guards what follows; never held while files are written
    std::map<Rank, Piece*> in_memory_;
    std::map<std::uint64_t, Piece*> unpacked_; // of those, the oldest first
    std::vector<std::filesystem::path> left_;  // files of states that are gone
    Figures figures_;
};

} // namespace sotto
