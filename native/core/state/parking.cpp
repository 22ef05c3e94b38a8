#include "core/state/parking.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "core/state/packing.hpp"

namespace sotto {
namespace {

constexpr std::size_t kHead = 8192;   // bytes of a state's beginning, that it is compared by
constexpr std::size_t kAlike = 256;   // of those that must be the same; they are tokens, of 4 bytes each
constexpr std::size_t kMostWhole = 8; // states that others may be packed with

// Empty where the system has none.
std::filesystem::path folder_or_temporary(std::filesystem::path folder) {
    std::error_code failed;
    return folder.empty() ? std::filesystem::temp_directory_path(failed) : std::move(folder);
}

} // namespace

Parking::Parking(Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Hooks& hooks)
    : ledger_(ledger), scratch_(std::make_shared<Scratch>(folder_or_temporary(std::move(folder)))),
      most_(most), log_(hooks.log), worker_(hooks) {}

Parking::Kept Parking::put(std::string_view whose, PageBuffer bytes, std::size_t head) noexcept {
    Kept kept;
    const auto body = [&] {
        auto piece = std::make_shared<Piece>(*this);
        auto state = std::make_shared<State>(piece);
        piece->number = ++numbers_;
        piece->whose = whose;
        piece->head = head < bytes.size() ? head : kApart;
        piece->size = piece->whole = bytes.size();
        bytes.fit();
        const auto shared = std::make_shared<const PageBuffer>(std::move(bytes));
        if (into_memory(*piece, shared) || into_file(*piece, shared)) {
            kept = std::move(state);
        }
    };
    attempt(body, [](sotto_status, const char*) {}); // without it the conversation is worked through again
    return kept;
}

// Where it has to be, older ones make room.
bool Parking::into_memory(Piece& piece, const SharedBytes& bytes) {
    if (!make_room(bytes->size())) {
        return false;
    }
    for (;;) {
        try {
            auto claim = ledger_.take(Use::spilled_kv, piece.whose, bytes->size());
            const std::lock_guard lock(mutex_);
            if (piece.head != kApart) {
                unpacked_.emplace(piece.number, &piece);
            }
            in_memory_.emplace(rank_of(piece), &piece);
            piece.claim = std::move(claim);
            piece.bytes = bytes;
            ++figures_.count;
            figures_.memory += piece.size;
            return true;
        } catch (const Error&) { // the ledger has no room
            if (!spill_next(false, Else::forget, patience_for(bytes->size()))) {
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
        if (!spill_next(false, Else::forget, patience_for(bytes))) {
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
        const bool stays = one->moving || (one->late != nullptr && !one->late->is_done());
        if (auto piece = stays ? nullptr : one->weak_from_this().lock()) { // null: it is about to go
            piece->moving = true;
            return piece;
        }
    }
    return nullptr;
}

// Moves what is to leave memory next to the file. False: there is none, or it cannot be written, and stays.
// `pinned`: also what is pinned.
bool Parking::spill_next(bool pinned, Else otherwise, std::int64_t patience) {
    const auto piece = next_to_spill(pinned); // who alone moves it, and lets go of it without the mutex
    if (piece == nullptr) {
        return false;
    }
    const auto bytes = bytes_of(piece);
    Scratch::Extent extent;
    std::shared_ptr<SpillWrite> task;
    const auto written = write(bytes, patience, extent, task);
    const std::lock_guard lock(mutex_);
    piece->moving = false;
    if (piece->bytes != bytes) { // it was packed meanwhile
        leave(extent);
        return true;
    }
    if (written == Written::late) { // its bytes are with the disk: to forget it would free nothing
        piece->late = std::move(task);
        return otherwise == Else::forget;
    }
    if (written == Written::no && otherwise == Else::stay) {
        return false;
    }
    in_memory_.erase(rank_of(*piece));
    unpacked_.erase(piece->number);
    figures_.memory -= piece->size;
    figures_.disk += extent.size;
    figures_.count -= extent.size > 0 || !piece->wanted ? 0 : 1;
    piece->extent = extent;
    piece->bytes.reset();
    piece->claim.release();
    return true;
}

void Parking::spill(std::uint64_t bytes) {
    const auto before = figures().memory;
    const auto after = before - std::min(before, bytes);
    while (!stops_ && figures().memory > after && spill_next(true, Else::forget, patience_for(before))) {
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
    while (!stops_ && is_crowded() && spill_next(false, Else::stay, kPatient)) {
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
    const auto bytes = bytes_of(piece);
    std::string head(bytes->view().substr(std::min(piece->head, bytes->size()), kHead));
    if (auto whole = like(piece->whose, head)) {
        auto smaller = packed(bytes->view(), bytes_of(whole)->view());
        if (smaller.size() < bytes->size() / 4 * 3) {
            return keep_packed(*piece, bytes, std::move(smaller), std::move(whole));
        }
    }
    std::erase_if(whole_, [](const Whole& one) { return one.piece.expired(); });
    whole_.push_back({piece->whose, std::move(head), piece});
    whole_.erase(whole_.begin(), whole_.end() - std::min(whole_.size(), kMostWhole));
}

void Parking::keep_packed(
    Piece& piece, const SharedBytes& before, PageBuffer smaller, std::shared_ptr<Piece> like
) {
    auto bytes = std::make_shared<const PageBuffer>(std::move(smaller));
    const std::lock_guard lock(mutex_);
    if (piece.bytes != before) {
        return; // it went to the file meanwhile
    }
    figures_.memory -= piece.size - bytes->size();
    piece.size = bytes->size();
    piece.claim.correct(bytes->size());
    piece.bytes = std::move(bytes);
    piece.like = std::move(like);
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
    figures_.count -= piece.bytes != nullptr || piece.extent.size > 0 ? 1 : 0;
}

// Nor is anything packed with it.
void Parking::drop(Piece& piece) noexcept {
    const std::lock_guard lock(mutex_);
    figures_.memory -= piece.bytes != nullptr ? piece.size : 0;
    figures_.disk -= piece.extent.size;
    if (const auto found = in_memory_.find(rank_of(piece)); found != in_memory_.end()) {
        in_memory_.erase(found);
    }
    unpacked_.erase(piece.number);
    leave(piece.extent);
}

Parking::Figures Parking::figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
}

} // namespace sotto
