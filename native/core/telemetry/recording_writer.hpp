// Writes a recording on a thread of its own, so that a slow disk blocks no other thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/state/file_worker.hpp"

namespace sotto {

// Control thread only; after the end of that thread, only the thread that destroys the engine.
class RecordingWriter {
public:
    explicit RecordingWriter(const Hooks& hooks) : worker_(hooks) {}

    // Creates the file. Throws Error(SOTTO_ERROR_ARGUMENT) if that fails, Error(SOTTO_ERROR_MEMORY) if no
    // thread can be started.
    void open(const std::string& path);
    bool is_open() const noexcept { return target_ != nullptr; }
    // Queues `lines`; never waits for the disk. Throws Error(SOTTO_ERROR_STATE) if an earlier write failed,
    // or if the queue is full because the disk is too slow.
    void append(std::string lines);
    // Writes the queued lines and closes the file. Throws Error(SOTTO_ERROR_STATE) if that fails or takes
    // longer than `timeout_ns`; the end of the recording is then lost.
    void finish(std::int64_t timeout_ns);
    // Ends the recording without a wait. Queued lines are still written while this object exists.
    void stop() noexcept { target_.reset(); }

private:
    struct Target;
    class Append;

    std::shared_ptr<FileTask> queue(std::string lines, bool last);

    std::shared_ptr<Target> target_; // null: not open
    FileWorker worker_;
};

} // namespace sotto
