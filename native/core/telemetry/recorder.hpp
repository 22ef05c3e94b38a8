// Records scheduling decisions and the inputs of these decisions, for replay: see replay.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/duty_controller.hpp"
#include "core/schedule/frame.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/telemetry/recording_writer.hpp"
#include "text/json_reader.hpp"

namespace sotto {

// A recording has one JSON object per line. "is" names the type of the line; times are nanoseconds on the
// engine's clock.
//
//     engine   the first line: version of the library, and the engine's settings
//     model    a model was added or changed
//     stream   a stream was added
//     gone     a stream was removed
//     request  the fields of a request that matter to the scheduler
//     facts    changed values of a model or stream
//     step     duration of a step
//     frame    a frame of the game, and the duty cycle after the frame
//     threads  thread count of a job
//     rest     how long models pause after a step
//     next     decision: what runs next
//     ahead    decision: whether another step like the running one follows it
//
// Control thread only, except is_on(). Never waits for the disk: if a line cannot be written, or the disk is
// too slow, logs that once and stops recording.
class Recorder final : public SchedulerObserver {
public:
    explicit Recorder(const Hooks& hooks) : log_(hooks.log), writer_(hooks) {}
    // Waits until everything is in the file, for at most about a second; logs a failure.
    ~Recorder();

    // Creates the file, readable by its user only. Throws Error(SOTTO_ERROR_ARGUMENT) if the name exists, so
    // that the recording of a crash is kept, or if the file cannot be created; Error(SOTTO_ERROR_MEMORY) if
    // no thread can be started.
    void open(const std::string& path, const Json& engine);
    // Returns true while recording. Any thread.
    bool is_on() const noexcept { return is_on_.load(); }

    void model(const ScheduledModel& model, std::string_view id) noexcept;
    void request(const ScheduledStream& stream, sotto_op op, std::string_view body) noexcept;
    void step(const ScheduledModel& model, const ScheduledModel::Step& step) noexcept;
    void frame(
        const Frame& frame, Beside beside, const DutyController::Terms& terms, const DutyController& duty
    ) noexcept;
    void threads(const ScheduledModel& model, std::uint32_t max, std::int64_t now) noexcept;
    void rest(double share, std::int64_t took, std::int64_t rest) noexcept;

    // Called by the scheduler:
    void added(const ScheduledStream& stream) noexcept override;
    void removed(const ScheduledStream& stream) noexcept override;
    void changed(const ScheduledModel& model) noexcept override;
    void changed(const ScheduledStream& stream) noexcept override;
    void facts(const std::vector<ScheduledStream*>& streams) noexcept override;
    void next(std::int64_t now, const Limits& limits, const Slice& slice) noexcept override;
    void ahead(std::int64_t now, bool goes_on) noexcept override;

    // Passes buffered lines to the writer thread, so that they survive a crash.
    void flush() noexcept;

private:
    struct ModelFacts {
        std::uint32_t open_streams = 0;
        std::int64_t served_ns = 0;

        bool operator==(const ModelFacts&) const = default;
    };

    template <typename Body>
    void write(const Body& body) noexcept;
    void put(const Json& line);
    void facts(const ScheduledModel& model);
    void facts(const ScheduledStream& stream);

    void write_out();

    const Log& log_;
    RecordingWriter writer_;
    std::atomic<bool> is_on_{false};
    std::string lines_;                          // not passed to the writer yet
    std::map<std::uint64_t, ModelFacts> models_; // values recorded last
    std::map<std::uint64_t, StreamFacts> streams_;
};

// Returns a decision of the scheduler as JSON: the recorder writes it, and a replay compares it.
Json to_json(const Slice& slice);

} // namespace sotto
