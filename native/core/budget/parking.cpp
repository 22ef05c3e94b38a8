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

// Empty where the system has none.
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
        auto piece = std::make_shared<Piece>(*this);
        auto state = std::make_shared<State>(piece);
        piece->number = ++numbers_;
        piece->whose = whose;
        piece->head = head < bytes.size() ? head : kApart;
        piece->size = piece->whole = bytes.size();
        if (into_memory(*piece, bytes) || into_file(*piece, bytes)) {
            kept = std::move(state);
        }
    };
    attempt(body, [](sotto_status, const char*) {}); // without it the conversation is worked through again
    return kept;
}

// Where it has to be, older ones make room.
bool Parking::into_memory(Piece& piece, std::string& bytes) {
    if (!make_room(bytes.size())) {
        return false;
    }
    for (;;) {
        try {
            auto claim = ledger_.take(Use::staging, piece.whose, bytes.size());
            auto shared = std::make_shared<const std::string>(std::move(bytes));
            const std::lock_guard lock(mutex_);
            if (piece.head != kApart) {
                unpacked_.emplace(piece.number, &piece);
            }
            in_memory_.emplace(rank_of(piece), &piece);
            piece.claim = std::move(claim);
            piece.bytes = std::move(shared);
            ++figures_.count;
            figures_.memory += piece.size;
            return true;
        } catch (const Error&) { // the ledger has no room
            if (!spill_next(false, Else::forget)) {
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
        if (!spill_next(false, Else::forget)) {
            return false;
        }
    }
    return true;
}

std::shared_ptr<Parking::Piece> Parking::next_to_spill(bool pinned) {
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, one] : in_memory_) {
        if (rank.first && !pinned) {
            break;
        }
        if (auto piece = one->moving ? nullptr : one->weak_from_this().lock()) { // null: it is about to go
            piece->moving = true;
            return piece;
        }
    }
    return nullptr;
}

// Moves what is to leave memory next to a file. False: there is none, or it cannot be written, and stays.
// `pinned`: also what is pinned.
bool Parking::spill_next(bool pinned, Else otherwise) {
    auto path = new_path();
    const auto piece = next_to_spill(pinned); // who alone moves it, and lets go of it without the mutex
    if (piece == nullptr) {
        return false;
    }
    const auto bytes = raw(*piece).bytes;
    const bool written = write(path, *bytes);
    const std::lock_guard lock(mutex_);
    piece->moving = false;
    if (piece->bytes != bytes) { // it was packed meanwhile
        if (written) {
            leave(std::move(path));
        }
        return true;
    }
    if (!written && otherwise == Else::stay) {
        return false;
    }
    in_memory_.erase(rank_of(*piece));
    unpacked_.erase(piece->number);
    figures_.memory -= piece->size;
    figures_.disk += written ? piece->size : 0;
    figures_.count -= written || !piece->wanted ? 0 : 1;
    piece->file = written ? std::move(path) : std::filesystem::path();
    piece->bytes.reset();
    piece->claim.release();
    return true;
}

void Parking::spill(std::uint64_t bytes) {
    const auto before = figures().memory;
    const auto after = before - std::min(before, bytes);
    while (figures().memory > after && spill_next(true, Else::forget)) {
    }
}

// Whether more is taken than is left, of what may be.
bool Parking::is_crowded() const {
    const auto memory = figures().memory;
    return memory > 0 && memory > std::min(most_ - std::min(most_, memory), ledger_.free());
}

bool Parking::is_untidy() const {
    {
        const std::lock_guard lock(mutex_);
        const bool stays =
            unpacked_.empty() && (cannot_write_ || in_memory_.empty() || in_memory_.begin()->first.first);
        if (!left_.empty() || stays) {
            return !left_.empty();
        }
    }
    return is_crowded();
}

void Parking::tidy() {
    sweep();
    if (is_crowded()) {
        pack();
    }
    while (!stops_ && is_crowded() && spill_next(false, Else::stay)) {
    }
}

std::shared_ptr<Parking::Piece> Parking::next_to_pack() {
    const std::lock_guard lock(mutex_);
    while (!unpacked_.empty()) {
        auto piece = unpacked_.begin()->second->weak_from_this().lock();
        unpacked_.erase(unpacked_.begin());
        if (piece != nullptr) {
            return piece;
        }
    }
    return nullptr;
}

void Parking::pack() {
    while (const auto piece = stops_ ? nullptr : next_to_pack()) {
        pack(piece);
    }
}

// The whole one that is most similar; or null.
std::shared_ptr<Parking::Piece> Parking::like(std::string_view whose, std::string_view head) const {
    std::shared_ptr<Piece> found;
    std::size_t most = kAlike - 1;
    for (const auto& one : whole_) {
        const auto common =
            static_cast<std::size_t>(std::ranges::mismatch(one.head, head).in1 - one.head.begin());
        if (one.whose == whose && common > most) {
            if (auto there = one.piece.lock()) {
                found = std::move(there);
                most = common;
            }
        }
    }
    return found;
}

// Keeps of a state what the most similar one does not have; or it is one that others may be packed with.
void Parking::pack(const std::shared_ptr<Piece>& piece) {
    const auto bytes = raw(*piece).bytes;
    auto head = bytes->substr(std::min(piece->head, bytes->size()), kHead);
    if (auto whole = like(piece->whose, head)) {
        auto smaller = packed(*bytes, *raw(*whole).bytes);
        if (smaller.size() < bytes->size() / 4 * 3) {
            return keep_packed(*piece, *bytes, std::move(smaller), std::move(whole));
        }
    }
    std::erase_if(whole_, [](const Whole& one) { return one.piece.expired(); });
    whole_.push_back({piece->whose, std::move(head), piece});
    whole_.erase(whole_.begin(), whole_.end() - std::min(whole_.size(), kMostWhole));
}

void Parking::keep_packed(
    Piece& piece, const std::string& before, std::string smaller, std::shared_ptr<Piece> like
) {
    auto bytes = std::make_shared<const std::string>(std::move(smaller));
    const std::lock_guard lock(mutex_);
    if (piece.bytes.get() != &before) {
        return; // it went to a file meanwhile
    }
    figures_.memory -= piece.size - bytes->size();
    piece.size = bytes->size();
    piece.claim.correct(bytes->size());
    piece.bytes = std::move(bytes);
    piece.like = std::move(like);
}

bool Parking::write(const std::filesystem::path& path, std::string_view bytes) noexcept {
    bool written = false;
    attempt([&] { written = !folder_.empty() && write_file(path, bytes); }, [](sotto_status, const char*) {});
    cannot_write_ = !written;
    if (!written && !warned_.exchange(true)) {
        log_.warn(
            folder_.empty()
                ? "park_dir is empty, and the system has no folder for temporary files: characters that find "
                  "no room in memory are forgotten, and worked through again from their text"
                : "a parked character finds no room in memory, and no file can be written in the folder "
                  "park_dir; it will be worked through again from its text"
        );
    }
    return written;
}

std::filesystem::path Parking::new_path() {
    return folder_ / (stem_ + std::to_string(++numbers_));
}

bool Parking::into_file(Piece& piece, std::string_view bytes) {
    auto path = new_path();
    if (!write(path, bytes)) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    piece.file = std::move(path);
    ++figures_.count;
    figures_.disk += piece.size;
    return true;
}

std::shared_ptr<const std::string> Parking::read(const State& state) {
    const auto kept = raw(*state.piece_);
    if (kept.like == nullptr) {
        return kept.bytes;
    }
    return std::make_shared<const std::string>(unpacked(*kept.bytes, *raw(*kept.like).bytes, kept.whole));
}

Parking::Raw Parking::raw(const Piece& piece) {
    Raw found;
    std::filesystem::path path;
    {
        const std::lock_guard lock(mutex_);
        found = {piece.bytes, piece.like, piece.whole};
        path = piece.file;
    }
    if (found.bytes == nullptr) {
        std::ifstream file(path, std::ios::binary);
        std::string bytes{std::istreambuf_iterator<char>(file), {}};
        if (path.empty() || !file.good() || bytes.empty()) {
            throw Error(SOTTO_ERROR_STATE, "what was parked is gone");
        }
        found.bytes = std::make_shared<const std::string>(std::move(bytes));
    }
    return found;
}

void Parking::pin(Piece& piece, bool pinned) noexcept {
    const std::lock_guard lock(mutex_);
    auto found = in_memory_.extract(rank_of(piece));
    piece.pinned = pinned;
    if (!found.empty()) {
        found.key() = rank_of(piece);
        in_memory_.insert(std::move(found));
    }
}

// Nobody may come back to it any more.
void Parking::let_go(Piece& piece) noexcept {
    const std::lock_guard lock(mutex_);
    piece.wanted = false;
    figures_.count -= piece.bytes != nullptr || !piece.file.empty() ? 1 : 0;
}

// Nor is anything packed with it.
void Parking::drop(Piece& piece) noexcept {
    const std::lock_guard lock(mutex_);
    figures_.memory -= piece.bytes != nullptr ? piece.size : 0;
    figures_.disk -= piece.file.empty() ? 0 : piece.size;
    if (const auto found = in_memory_.find(rank_of(piece)); found != in_memory_.end()) {
        in_memory_.erase(found);
    }
    unpacked_.erase(piece.number);
    if (!piece.file.empty()) {
        leave(std::move(piece.file));
    }
}

// Has a file removed where nobody waits for it. With the mutex.
void Parking::leave(std::filesystem::path path) noexcept {
    attempt([&] { left_.push_back(std::move(path)); }, [&](sotto_status, const char*) { remove_file(path); });
}

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
