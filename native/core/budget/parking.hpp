// What models remember of conversations that have no place at present: in memory, as long as there is room,
// else in files. Of those that begin alike one is kept whole, and of the others only what is different.
#pragma once

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
public:
    // A state that is kept, until this is gone. Whoever has one may let go of it on any thread.
    class State {
    public:
        explicit State(Parking& parking) : parking_(parking) {}
        ~State() { parking_.drop(*this); }
        State(const State&) = delete;
        State& operator=(const State&) = delete;

        // It is the last to leave memory; or no longer.
        void pin(bool pinned) noexcept { parking_.pin(*this, pinned); }

    private:
        friend class Parking;
        Parking& parking_;
        std::shared_ptr<const std::string>
            bytes_; // guarded by the parking's mutex, like the rest; null: in the file
        Ledger::Claim claim_;
        std::filesystem::path file_;
        std::uint64_t size_ = 0;  // as it is kept
        std::uint64_t whole_ = 0; // as it was put
        std::uint64_t number_ = 0;
        bool pinned_ = false;
        std::shared_ptr<State> like_; // that it is packed with; null: it is whole
    };
    using Kept = std::shared_ptr<State>;

    // `folder`: for files; empty: where the system has its temporary ones. `most`: bytes that may be in
    // memory.
    Parking(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Log& log);
    ~Parking();
    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    // Keeps a state of the model `whose`. It is packed with another that is the same from `head` on for a
    // while, which takes time; kApart: it is kept as it is. Null where there is no room, neither in memory
    // nor in a file. One thread at a time.
    static constexpr std::size_t kApart = SIZE_MAX;
    Kept put(std::string_view whose, std::string bytes, std::size_t head = kApart) noexcept;
    // Moves all to files. Likewise.
    void spill();
    // Throws Error(SOTTO_ERROR_STATE) where its file cannot be read any more. The same thread as put().
    std::string read(const State& state);

    struct Figures {
        std::uint64_t count = 0;
        std::uint64_t memory = 0; // bytes
        std::uint64_t disk = 0;
    };
    Figures figures() const;

private:
    // One that others may be packed with.
    struct Whole {
        std::string whose;
        std::string head;
        std::weak_ptr<State> state;
    };

    void pack(State& state, std::string_view whose, std::string& bytes, std::string_view head);
    std::string raw(const State& state);
    bool into_memory(State& state, std::string_view whose, std::string& bytes);
    bool make_room(std::uint64_t bytes);
    bool spill_oldest();
    bool into_file(State& state, std::string_view bytes);
    void pin(State& state, bool pinned) noexcept;
    void drop(State& state) noexcept;
    void sweep() noexcept;

    Ledger& ledger_;
    const std::filesystem::path folder_;
    const std::uint64_t most_;
    const Log& log_;
    const std::string stem_;    // of our files' names
    std::uint64_t numbers_ = 0; // given
    bool warned_ = false;       // that no file can be written
    std::vector<Whole> whole_;  // the latest of them
    mutable std::mutex mutex_;  // guards the states, and what follows; never held while files are written
    // By what leaves it first: who is pinned is last, before that the oldest.
    using Rank = std::pair<bool, std::uint64_t>;
    std::map<Rank, State*> in_memory_;
    std::vector<std::filesystem::path> left_; // files of states that are gone
    Figures figures_;
};

} // namespace sotto
