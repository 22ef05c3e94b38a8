// The scratch file that states are spilled to. The disk may be slow or never respond: calls that
// streams depend on have a short timeout.
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
    static constexpr std::int64_t kPatient = INT64_MAX; // no timeout; waits until stop()

    // `folder`: folder of the file; empty: the system's temporary folder.
    SpillFile(std::filesystem::path folder, const Hooks& hooks);

    // Timeout in nanoseconds for a write of `bytes` that streams depend on.
    static std::int64_t patience_for(std::uint64_t bytes) noexcept;

    // Writes to the file. `extent` is empty unless `yes` is returned. Returns `late` if the
    // write takes longer than `patience` nanoseconds, or after stop(): then `task`
    // continues in the background.
    Written write(
        const SharedBytes& bytes,
        std::int64_t patience,
        Scratch::Extent& extent,
        std::shared_ptr<SpillWrite>& task
    );
    // Starts reading extents. Throws Error(SOTTO_ERROR_MEMORY) if the file thread cannot be started, and
    // std::bad_alloc.
    std::shared_ptr<SpillRead> start_read(std::vector<Scratch::Extent> extents);
    // Reads an extent; waits for the disk until stop(). Throws Error(SOTTO_ERROR_STATE) if the extent cannot
    // be read.
    SharedBytes read(const Scratch::Extent& extent);
    // Returns true if the last write failed or timed out.
    bool cannot_write() const noexcept { return cannot_write_; }

    // Marks an extent as unused; sweep() frees unused extents. If memory runs out, the extent stays
    // allocated.
    void leave(const Scratch::Extent& extent) noexcept;
    bool has_left() const noexcept;
    // Starts freeing the unused extents on the file thread. May throw; the extents then stay allocated.
    void sweep();

    // Sets the signal to notify after each read or write; null: none.
    void tell(Signal* fetched) noexcept { worker_.tell(fetched); }
    // Makes all calls that wait for the disk return soon, now and later.
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
    std::atomic<bool> warned_{false};   // the write failure was logged
    mutable std::mutex mutex_;          // guards left_ and late_; not held during disk access
    std::vector<Scratch::Extent> left_; // unused extents
    std::shared_ptr<SpillWrite> late_;  // last write that timed out; or null
    FileWorker worker_;
};

} // namespace sotto
