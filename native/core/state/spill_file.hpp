// The scratch file that states are spilled to. The disk may take its time, or never answer: no caller that
// streams depend on waits long.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "core/settings.hpp"
#include "core/state/file_worker.hpp"
#include "core/state/spill.hpp"

namespace sotto {

// Any thread.
class SpillFile {
public:
    enum class Written : std::uint8_t { yes, no, late };
    static constexpr std::int64_t kPatient = INT64_MAX; // waits until stop()

    // `folder`: of the file; empty: where the system has its temporary ones.
    SpillFile(std::filesystem::path folder, const Hooks& hooks);

    // Nanoseconds that a caller that streams depend on waits for so many bytes.
    static std::int64_t patience_for(std::uint64_t bytes) noexcept;

    // Writes to the file. Sets `extent`; it is empty unless `yes` is returned. Returns `late` if that takes
    // longer than `patience`: then `task` goes on by itself.
    Written write(
        const SharedBytes& bytes,
        std::int64_t patience,
        Scratch::Extent& extent,
        std::shared_ptr<SpillWrite>& task
    );
    // Starts to read. Throws as FileWorker::start() does.
    std::shared_ptr<SpillRead> start_read(std::vector<Scratch::Extent> extents);
    // Reads; waits for the disk until stop(). Throws Error(SOTTO_ERROR_STATE) if it cannot be read.
    SharedBytes read(const Scratch::Extent& extent);
    // Returns true if the last write failed, or was late.
    bool cannot_write() const noexcept { return cannot_write_; }

    // The extent is no longer used; sweep() frees it. Without memory to note that it stays taken.
    void leave(const Scratch::Extent& extent) noexcept;
    bool has_left() const noexcept;
    // Starts to free what is no longer used.
    void sweep() noexcept;

    // Who is notified when something was read; null: nobody.
    void tell(Signal* fetched) noexcept { worker_.tell(fetched); }
    // Ends all waiting soon, for good.
    void stop() noexcept { stops_ = true; }
    bool stops() const noexcept { return stops_; }

private:
    bool has_late() const noexcept;
    void wait(SpillWrite& task, std::int64_t patience) const noexcept;
    void warn() noexcept;

    const std::shared_ptr<Scratch> scratch_;
    const Log& log_;
    std::atomic<bool> cannot_write_{false};
    std::atomic<bool> stops_{false};
    std::atomic<bool> warned_{false};   // that the file cannot be written
    mutable std::mutex mutex_;          // guards left_ and late_; never held while the disk works
    std::vector<Scratch::Extent> left_; // of states that are gone
    std::shared_ptr<SpillWrite> late_;  // the last write that took too long; or null
    FileWorker worker_;
};

} // namespace sotto
