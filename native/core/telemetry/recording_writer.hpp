// Writes a recording on a thread of its own, so that a slow disk keeps nobody waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/state/file_worker.hpp"

namespace sotto {

// The control thread's; once that has ended, whoever destroys the engine.
class RecordingWriter {
public:
    explicit RecordingWriter(const Hooks& hooks) : worker_(hooks) {}

    // Creates the file. Throws Error(SOTTO_ERROR_ARGUMENT) if it can't be created, Error(SOTTO_ERROR_MEMORY)
    // if no thread can be started.
    void open(const std::string& path);
    bool is_open() const noexcept { return target_ != nullptr; }
    // Queues `lines`; never waits for the disk. Throws Error(SOTTO_ERROR_STATE) if an earlier write failed,
    // or if the disk is so late that the queue is full.
    void append(std::string lines);
    // Writes what is queued, and closes the file. Throws Error(SOTTO_ERROR_STATE) if that fails, or takes
    // longer than `timeout_ns`: the end of the recording is lost then.
    void finish(std::int64_t timeout_ns);
    // Appends nothing more. What is queued is still written while this object exists.
    void stop() noexcept { target_.reset(); }

private:
    struct Target;
    class Append;

    std::shared_ptr<FileTask> queue(std::string lines, bool last);

    std::shared_ptr<Target> target_; // null: not open
    FileWorker worker_;
};

} // namespace sotto
