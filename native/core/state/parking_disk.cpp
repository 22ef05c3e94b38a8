// What parking does with its file. The disk may take its time, or never answer: nobody who speaks waits long.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "core/state/packing.hpp"
#include "core/state/parking.hpp"

namespace sotto {

// Nanoseconds that whoever speaks waits for so many bytes.
std::int64_t Parking::patience_for(std::uint64_t bytes) noexcept {
    constexpr std::int64_t kAtLeast = 250'000'000;
    constexpr std::uint64_t kBytesEachMillisecond = 256 * 1024;
    return kAtLeast + static_cast<std::int64_t>(bytes / kBytesEachMillisecond) * 1'000'000;
}

// Whether the disk still has a write that somebody waited for in vain.
bool Parking::has_late() const {
    const std::lock_guard lock(mutex_);
    return late_ != nullptr && !late_->is_done();
}

// Writes to the file, unless that takes longer than `patience`: then `task` goes on by itself.
Parking::Written Parking::write(
    const SharedBytes& bytes,
    std::int64_t patience,
    Scratch::Extent& extent,
    std::shared_ptr<SpillWrite>& task
) {
    constexpr std::int64_t kLook = 20'000'000; // for stops_
    int starved = 50;                          // such times more, while the thread has no core to begin on
    if (has_late()) {
        cannot_write_ = true;
        return Written::no;
    }
    const auto start = [&] {
        task = std::make_shared<SpillWrite>(scratch_, bytes);
        worker_.start(task);
    };
    attempt(start, [&](sotto_status, const char*) { task.reset(); });
    bool done = task != nullptr && task->wait(std::min(patience, kLook));
    while (task != nullptr && !done && patience > kLook && !stops_) {
        const bool waits_for_core = !task->has_begun() && !worker_.is_busy() && starved-- > 0;
        patience -= patience == kPatient || waits_for_core ? 0 : kLook;
        done = task->wait(std::min(patience, kLook));
    }
    const auto written = task != nullptr ? task->take() : std::nullopt;
    extent = written.value_or(Scratch::Extent());
    cannot_write_ = !written;
    if (written || stops_) {
        return written ? Written::yes : Written::late;
    }
    if (!warned_.exchange(true)) {
        log_.warn(
            scratch_->has_folder()
                ? "a parked character finds no room in memory, and no file can be written in the folder "
                  "kv_spill_dir, or not in time; it will be worked through again from its text"
                : "kv_spill_dir is empty, and the system has no folder for temporary files: characters that "
                  "find "
                  "no room in memory are forgotten, and worked through again from their text"
        );
    }
    if (task != nullptr && !task->is_done()) {
        task->give_up();
        const std::lock_guard lock(mutex_);
        late_ = task;
        return Written::late;
    }
    return Written::no;
}

bool Parking::into_file(Piece& piece, const SharedBytes& bytes) {
    Scratch::Extent extent;
    std::shared_ptr<SpillWrite> task;
    if (write(bytes, patience_for(bytes->size()), extent, task) != Written::yes) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    piece.extent = extent;
    ++figures_.count;
    figures_.disk += piece.size;
    return true;
}

std::shared_ptr<SpillRead> Parking::start_read(std::vector<Scratch::Extent> extents) {
    auto read = std::make_shared<SpillRead>(scratch_, std::move(extents));
    worker_.start(read);
    return read;
}

bool Parking::is_in_memory(const State& state) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto& piece = *state.piece_;
    return piece.bytes != nullptr && (piece.like == nullptr || piece.like->bytes != nullptr);
}

std::shared_ptr<Parking::Fetch> Parking::fetch(const Kept& state) {
    auto fetch = std::make_shared<Fetch>();
    fetch->state_ = state;
    std::vector<Scratch::Extent> missing;
    {
        const std::lock_guard lock(mutex_);
        const auto& piece = *state->piece_;
        fetch->bytes_ = piece.bytes;
        fetch->packed_ = piece.like != nullptr;
        fetch->like_ = fetch->packed_ ? piece.like->bytes : nullptr;
        fetch->whole_ = piece.whole;
        if (piece.bytes == nullptr) {
            missing.push_back(piece.extent);
        }
        if (fetch->packed_ && fetch->like_ == nullptr) {
            missing.push_back(piece.like->extent);
        }
    }
    const bool gone = std::ranges::any_of(missing, [](const auto& extent) { return extent.size == 0; });
    if (!missing.empty() && !gone) {
        attempt([&] { fetch->read_ = start_read(std::move(missing)); }, [](sotto_status, const char*) {});
    }
    return fetch;
}

SharedBytes Parking::read(const Fetch& fetch) const {
    auto bytes = fetch.bytes_;
    auto like = fetch.like_;
    if (fetch.read_ != nullptr && fetch.read_->is_done()) {
        const auto& read = fetch.read_->bytes();
        bytes = bytes == nullptr ? read.front() : bytes;
        like = like == nullptr ? read.back() : like;
    }
    if (bytes == nullptr || (fetch.packed_ && like == nullptr)) {
        throw Error(SOTTO_ERROR_STATE, "the spilled KV cache is no longer available");
    }
    if (!fetch.packed_) {
        return bytes;
    }
    return std::make_shared<const PageBuffer>(unpacked(bytes->view(), like->view(), fetch.whole_));
}

// To pack it. On the thread that tidies up, which may wait.
SharedBytes Parking::bytes_of(const std::shared_ptr<Piece>& piece) {
    Scratch::Extent extent;
    {
        const std::lock_guard lock(mutex_);
        if (piece->bytes != nullptr) {
            return piece->bytes;
        }
        extent = piece->extent;
    }
    const auto read = extent.size > 0 ? start_read({extent}) : nullptr;
    while (read != nullptr && !read->wait(20'000'000) && !stops_) {
    }
    if (read == nullptr || !read->is_done() || read->bytes().front() == nullptr) {
        throw Error(SOTTO_ERROR_STATE, "the spilled KV cache is no longer available");
    }
    return read->bytes().front();
}

// Has room in the file freed where nobody waits for it; without memory for that it stays taken. With the
// mutex.
void Parking::leave(const Scratch::Extent& extent) noexcept {
    if (extent.size > 0) {
        attempt([&] { left_.push_back(extent); }, [](sotto_status, const char*) {});
    }
}

void Parking::sweep() noexcept {
    std::vector<Scratch::Extent> left;
    {
        const std::lock_guard lock(mutex_);
        left.swap(left_);
    }
    if (!left.empty()) {
        attempt(
            [&] { worker_.start(std::make_shared<SpillFree>(scratch_, std::move(left))); },
            [](sotto_status, const char*) {}
        );
    }
}

} // namespace sotto
