// Tasks of the file worker that write, read and free spilled KV cache states in the scratch file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/state/file_worker.hpp"
#include "core/state/scratch.hpp"
#include "platform/pages.hpp"

namespace sotto {

using SharedBytes = std::shared_ptr<const PageBuffer>;

// Writes a state to the scratch file.
class SpillWrite : public FileTask {
public:
    SpillWrite(std::shared_ptr<Scratch> scratch, SharedBytes bytes)
        : scratch_(std::move(scratch)), bytes_(std::move(bytes)) {}

    // Returns the extent written, which the caller must then free. Returns nullopt if the write failed or is
    // still running; a running write frees its extent itself when it ends. Call once.
    std::optional<Scratch::Extent> take() noexcept;

private:
    enum class Outcome : std::uint8_t { pending, written, taken };

    void run() override;

    const std::shared_ptr<Scratch> scratch_;
    SharedBytes bytes_;
    Scratch::Extent extent_;
    std::atomic<Outcome> outcome_{Outcome::pending};
};

// Reads states from the scratch file.
class SpillRead : public FileTask {
public:
    SpillRead(std::shared_ptr<Scratch> scratch, std::vector<Scratch::Extent> extents)
        : scratch_(std::move(scratch)), extents_(std::move(extents)), bytes_(extents_.size()) {}

    // Once done: the bytes of each extent, in order; null if an extent cannot be read.
    const std::vector<SharedBytes>& bytes() const noexcept { return bytes_; }

private:
    void run() override;

    const std::shared_ptr<Scratch> scratch_;
    const std::vector<Scratch::Extent> extents_;
    std::vector<SharedBytes> bytes_;
};

// Frees the extents of states that were destroyed.
class SpillFree : public FileTask {
public:
    SpillFree(std::shared_ptr<Scratch> scratch, std::vector<Scratch::Extent> extents)
        : scratch_(std::move(scratch)), extents_(std::move(extents)) {}

private:
    void run() override;

    const std::shared_ptr<Scratch> scratch_;
    const std::vector<Scratch::Extent> extents_;
};

} // namespace sotto
