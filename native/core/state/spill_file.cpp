#include "core/state/spill_file.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"

namespace sotto {
namespace {

// Returns `folder` unless it is empty, otherwise the system's temporary folder, or an empty path if the
// system has none.
std::filesystem::path folder_or_temporary(std::filesystem::path folder) {
    std::error_code failed;
    return folder.empty() ? std::filesystem::temp_directory_path(failed) : std::move(folder);
}

} // namespace

SpillFile::SpillFile(std::filesystem::path folder, const Hooks& hooks)
    : scratch_(std::make_shared<Scratch>(folder_or_temporary(std::move(folder)))), log_(hooks.log),
      worker_(hooks) {}

std::int64_t SpillFile::patience_for(std::uint64_t bytes) noexcept {
    constexpr std::int64_t kAtLeast = 250'000'000;
    constexpr std::uint64_t kBytesEachMillisecond = 256 * 1024;
    return kAtLeast + static_cast<std::int64_t>(bytes / kBytesEachMillisecond) * 1'000'000;
}

// Returns true while a write that timed out is still running.
bool SpillFile::has_late() const noexcept {
    const std::lock_guard lock(mutex_);
    return late_ != nullptr && !late_->is_done();
}

void SpillFile::wait(SpillWrite& task, std::int64_t patience) const noexcept {
    constexpr std::int64_t kLook = 20'000'000; // interval for checking stops_
    int starved = 50; // intervals that do not count while the task waits for the file thread to get a core
    bool done = task.wait(std::min(patience, kLook));
    while (!done && patience > kLook && !stops_) {
        const bool waits_for_core = !task.has_begun() && !worker_.is_busy() && starved-- > 0;
        patience -= patience == kPatient || waits_for_core ? 0 : kLook;
        done = task.wait(std::min(patience, kLook));
    }
}

void SpillFile::warn() noexcept {
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
}

SpillFile::Written SpillFile::write(
    const SharedBytes& bytes,
    std::int64_t patience,
    Scratch::Extent& extent,
    std::shared_ptr<SpillWrite>& task
) {
    if (has_late()) {
        cannot_write_ = true;
        return Written::no;
    }
    const auto start = [&] {
        task = std::make_shared<SpillWrite>(scratch_, bytes);
        worker_.start(task);
    };
    // The caller marks the state as moving, and would never spill it again if write() threw.
    attempt(start, [&](sotto_status, const char*) { task.reset(); });
    if (task != nullptr) {
        wait(*task, patience);
    }
    const auto written = task != nullptr ? task->take() : std::nullopt;
    extent = written.value_or(Scratch::Extent());
    cannot_write_ = !written;
    if (written || stops_) {
        return written ? Written::yes : Written::late;
    }
    warn();
    if (task != nullptr && !task->is_done()) {
        task->give_up();
        const std::lock_guard lock(mutex_);
        late_ = task;
        return Written::late;
    }
    return Written::no;
}

std::shared_ptr<SpillRead> SpillFile::start_read(std::vector<Scratch::Extent> extents) {
    auto read = std::make_shared<SpillRead>(scratch_, std::move(extents));
    worker_.start(read);
    return read;
}

SharedBytes SpillFile::read(const Scratch::Extent& extent) {
    constexpr std::int64_t kLook = 20'000'000; // interval for checking stops_
    const auto read = extent.size > 0 ? start_read({extent}) : nullptr;
    while (read != nullptr && !read->wait(kLook) && !stops_) {
    }
    if (read == nullptr || !read->is_done() || read->bytes().front() == nullptr) {
        throw Error(SOTTO_ERROR_STATE, "the spilled KV cache is no longer available");
    }
    return read->bytes().front();
}

void SpillFile::leave(const Scratch::Extent& extent) noexcept {
    if (extent.size > 0) {
        const std::lock_guard lock(mutex_);
        attempt([&] { left_.push_back(extent); }, [](sotto_status, const char*) {});
    }
}

bool SpillFile::has_left() const noexcept {
    const std::lock_guard lock(mutex_);
    return !left_.empty();
}

void SpillFile::sweep() {
    std::vector<Scratch::Extent> left;
    {
        const std::lock_guard lock(mutex_);
        left.swap(left_);
    }
    if (!left.empty()) {
        worker_.start(std::make_shared<SpillFree>(scratch_, std::move(left)));
    }
}

} // namespace sotto
