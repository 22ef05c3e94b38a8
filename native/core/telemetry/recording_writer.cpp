#include "core/telemetry/recording_writer.hpp"

#include <atomic>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "platform/file.hpp"

namespace sotto {
namespace {

[[noreturn]] void not_written(const std::string& reason) {
    throw Error(SOTTO_ERROR_STATE, "the recording can no longer be written: " + reason);
}

} // namespace

// Shared with the writer thread, which may outlive the engine.
struct RecordingWriter::Target {
    File file;                          // owned by the writer thread once a task is queued
    std::atomic<std::size_t> queued{0}; // bytes of queued lines
    std::error_code error;              // set before `failed`
    std::atomic<bool> failed{false};
};

class RecordingWriter::Append : public FileTask {
public:
    Append(std::shared_ptr<Target> target, std::string lines, bool last)
        : target_(std::move(target)), lines_(std::move(lines)), last_(last) {}

protected:
    void run() noexcept override {
        auto& target = *target_;
        // after a failed write, no later line is written
        if (!target.failed.load(std::memory_order_relaxed)) {
            target.error = target.file.append(lines_);
            const auto closed = last_ ? target.file.close() : std::error_code();
            target.error = target.error ? target.error : closed;
            target.failed.store(static_cast<bool>(target.error), std::memory_order_release);
        }
        target.queued -= lines_.size();
    }

private:
    const std::shared_ptr<Target> target_;
    const std::string lines_;
    const bool last_;
};

void RecordingWriter::open(const std::string& path) {
    worker_.prepare(); // before the file is created: otherwise a failure would leave an empty file behind
    auto target = std::make_shared<Target>();
    try {
        target->file = create_file({"record", path});
    } catch (const Error& error) {
        throw Error(SOTTO_ERROR_ARGUMENT, error.what());
    }
    target_ = std::move(target);
}

std::shared_ptr<FileTask> RecordingWriter::queue(std::string lines, bool last) {
    constexpr std::size_t kMaxQueued = 8 << 20;
    if (target_->failed.load(std::memory_order_acquire)) {
        not_written(target_->error.message());
    }
    const auto bytes = lines.size();
    const auto queued = target_->queued.load();
    if (queued > 0 && queued + bytes > kMaxQueued) {
        not_written("the disk is too slow, " + std::to_string(queued) + " bytes are queued");
    }
    auto task = std::make_shared<Append>(target_, std::move(lines), last);
    target_->queued += bytes;
    worker_.start(task);
    return task;
}

void RecordingWriter::append(std::string lines) {
    if (!lines.empty()) {
        queue(std::move(lines), false);
    }
}

void RecordingWriter::finish(std::int64_t timeout_ns) {
    const auto last = queue({}, true);
    if (!last->wait(timeout_ns)) {
        not_written(
            "the disk is too slow; the engine ends while " + std::to_string(target_->queued.load()) +
            " bytes are queued"
        );
    }
    if (target_->failed.load(std::memory_order_acquire)) {
        not_written(target_->error.message());
    }
}

} // namespace sotto
