#include "core/budget/parking.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "core/budget/packing.hpp"

namespace sotto {
namespace {

constexpr std::size_t kHead = 8192;   // bytes of a state's beginning, that it is compared by
constexpr std::size_t kAlike = 256;   // of those that must be the same; they are tokens, of 4 bytes each
constexpr std::size_t kMostWhole = 8; // states that others may be packed with

// No other process, and no other engine of this one, has the same.
std::string fresh_stem() {
    std::random_device chance;
    constexpr const char* kDigits = "0123456789abcdef";
    std::string stem = "sotto-parked-";
    for (int i = 0; i < 16; ++i) {
        stem += kDigits[chance() % 16];
    }
    return stem + "-";
}

std::filesystem::path folder_or_temporary(std::filesystem::path folder) {
    std::error_code failed;
    return folder.empty() ? std::filesystem::temp_directory_path(failed) : std::move(folder);
}

void remove_file(const std::filesystem::path& path) noexcept {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
}

bool write_file(const std::filesystem::path& path, std::string_view bytes) {
    struct Partial { // none stays that is not whole
        const std::filesystem::path& path;
        bool whole = false;
        ~Partial() {
            if (!whole) {
                remove_file(path);
            }
        }
    } partial{path};
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    partial.whole = static_cast<bool>(file);
    return partial.whole;
}

} // namespace

Parking::Parking(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Log& log)
    : ledger_(ledger), folder_(folder_or_temporary(std::move(folder))), most_(most), log_(log),
      stem_(fresh_stem()) {}

Parking::~Parking() {
    sweep();
}

Parking::Kept Parking::put(std::string_view whose, std::string bytes, std::size_t head) noexcept {
    Kept kept;
    const auto body = [&] {
        sweep();
        auto state = std::make_shared<State>(*this);
        state->number_ = ++numbers_;
        state->whole_ = bytes.size();
        const auto begins = head < bytes.size() ? bytes.substr(head, kHead) : std::string();
        if (!begins.empty()) {
            pack(*state, whose, bytes, begins);
        }
        state->size_ = bytes.size();
        const bool whole = !begins.empty() && state->like_ == nullptr;
        if (into_memory(*state, whose, bytes) || into_file(*state, bytes)) {
            kept = std::move(state);
        }
        if (kept != nullptr && whole) {
            std::erase_if(whole_, [](const Whole& one) { return one.state.expired(); });
            whole_.push_back({std::string(whose), begins, kept});
            whole_.erase(whole_.begin(), whole_.end() - std::min(whole_.size(), kMostWhole));
        }
    };
    attempt(body, [](sotto_status, const char*) {}); // without it the conversation is worked through again
    return kept;
}

// Keeps of `bytes` what the most similar one does not have.
void Parking::pack(State& state, std::string_view whose, std::string& bytes, std::string_view head) {
    Kept like;
    std::size_t most = kAlike - 1;
    for (const auto& one : whole_) {
        const auto common =
            static_cast<std::size_t>(std::ranges::mismatch(one.head, head).in1 - one.head.begin());
        if (one.whose == whose && common > most) {
            like = one.state.lock();
            most = like != nullptr ? common : most;
        }
    }
    if (like == nullptr) {
        return;
    }
    auto smaller = packed(bytes, raw(*like));
    if (smaller.size() < bytes.size() / 4 * 3) {
        bytes = std::move(smaller);
        state.like_ = std::move(like);
    }
}

// Where it has to be, older ones make room.
bool Parking::into_memory(State& state, std::string_view whose, std::string& bytes) {
    if (!make_room(bytes.size())) {
        return false;
    }
    for (;;) {
        try {
            auto claim = ledger_.take(Use::staging, whose, bytes.size());
            auto shared = std::make_shared<const std::string>(std::move(bytes));
            const std::lock_guard lock(mutex_);
            in_memory_.emplace(Rank(state.pinned_, state.number_), &state);
            state.claim_ = std::move(claim);
            state.bytes_ = std::move(shared);
            ++figures_.count;
            figures_.memory += state.size_;
            return true;
        } catch (const Error&) { // the ledger has no room
            if (!spill_oldest()) {
                return false;
            }
        }
    }
}

bool Parking::make_room(std::uint64_t bytes) {
    if (bytes > most_) {
        return false;
    }
    while (figures().memory > most_ - bytes) {
        if (!spill_oldest()) {
            return false;
        }
    }
    return true;
}

// Moves what is in memory longest to a file, or forgets it where that cannot be. False: there is none.
bool Parking::spill_oldest() {
    std::shared_ptr<const std::string> bytes;
    Rank rank;
    {
        const std::lock_guard lock(mutex_);
        if (in_memory_.empty()) {
            return false;
        }
        rank = in_memory_.begin()->first;
        bytes = in_memory_.begin()->second->bytes_;
    }
    auto path = folder_ / (stem_ + std::to_string(rank.second));
    const bool written = write_file(path, *bytes);
    const std::lock_guard lock(mutex_);
    const auto found = in_memory_.find(rank);
    if (found == in_memory_.end()) { // whoever had it let go of it meanwhile
        if (written) {
            left_.push_back(std::move(path));
        }
        return true;
    }
    auto& state = *found->second;
    in_memory_.erase(found);
    figures_.memory -= state.size_;
    figures_.disk += written ? state.size_ : 0;
    figures_.count -= written ? 0 : 1;
    state.file_ = written ? std::move(path) : std::filesystem::path();
    state.bytes_.reset();
    state.claim_.release();
    return true;
}

void Parking::spill() {
    while (spill_oldest()) {
    }
}

bool Parking::into_file(State& state, std::string_view bytes) {
    auto path = folder_ / (stem_ + std::to_string(state.number_));
    if (!write_file(path, bytes)) {
        if (!std::exchange(warned_, true)) {
            log_.warn(
                "a parked character finds room neither in memory nor in the folder park_dir; it will be "
                "worked through again from its text"
            );
        }
        return false;
    }
    const std::lock_guard lock(mutex_);
    state.file_ = std::move(path);
    ++figures_.count;
    figures_.disk += state.size_;
    return true;
}

std::string Parking::read(const State& state) {
    auto bytes = raw(state);
    return state.like_ == nullptr ? bytes : unpacked(bytes, raw(*state.like_), state.whole_);
}

// As it is kept.
std::string Parking::raw(const State& state) {
    std::filesystem::path path;
    {
        const std::lock_guard lock(mutex_);
        if (state.bytes_ != nullptr) {
            return *state.bytes_;
        }
        path = state.file_;
    }
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (path.empty() || !file.good() || bytes.empty()) {
        throw Error(SOTTO_ERROR_STATE, "what was parked is gone");
    }
    return bytes;
}

void Parking::pin(State& state, bool pinned) noexcept {
    const std::lock_guard lock(mutex_);
    if (auto found = in_memory_.extract(Rank(state.pinned_, state.number_)); !found.empty()) {
        found.key().first = pinned;
        in_memory_.insert(std::move(found));
    }
    state.pinned_ = pinned;
}

void Parking::drop(State& state) noexcept {
    const std::lock_guard lock(mutex_);
    const bool in_memory = state.bytes_ != nullptr;
    const bool in_file = !state.file_.empty();
    if (!in_memory && !in_file) {
        return;
    }
    --figures_.count;
    (in_memory ? figures_.memory : figures_.disk) -= state.size_;
    in_memory_.erase(Rank(state.pinned_, state.number_));
    if (in_file) {
        attempt(
            [&] { left_.push_back(std::move(state.file_)); },
            [&](sotto_status, const char*) { remove_file(state.file_); }
        );
    }
}

// Removes the files of states that are gone: here, where nobody waits for it.
void Parking::sweep() noexcept {
    std::vector<std::filesystem::path> left;
    {
        const std::lock_guard lock(mutex_);
        left.swap(left_);
    }
    for (const auto& path : left) {
        remove_file(path);
    }
}

Parking::Figures Parking::figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
}

} // namespace sotto
