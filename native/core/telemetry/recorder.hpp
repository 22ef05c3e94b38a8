// Writes down what decisions follow from, and the decisions, so that they can be taken again: see replay.hpp.
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

// One JSON object a line. What an object is stands in "is"; times are nanoseconds on the engine's clock.
//
//     engine   the first line: which library, and how the engine was set up
//     model    a model is as follows       stream   somebody is to be answered; gone: is not any more
//     request  what was asked for          facts    what is new of a model or stream since the last ones
//     step     what a step took            frame    a frame of the game's, and the duty cycle after it
//     threads  how many a job is given     rest     how long models rest after a step
//     next     what is done next           ahead    whether the step under way is followed by another like it
//
// The control thread's alone, but for is_on(). Never waits for the disk: where a line cannot be written, or
// the disk is too late, that is logged once and nothing more is written.
class Recorder final : public SchedulerObserver {
public:
    explicit Recorder(const Hooks& hooks) : log_(hooks.log), writer_(hooks) {}
    // Waits until all of it is in the file, for about a second at most; logs it if that is not enough.
    ~Recorder();

    // Creates the file, readable by its user alone. Throws Error(SOTTO_ERROR_ARGUMENT) if something has that
    // name already, so that the recording of a crash stays, or if the file cannot be written;
    // Error(SOTTO_ERROR_MEMORY) if no thread can be started.
    void open(const std::string& path, const Json& engine);
    // Whether it writes. Any thread.
    bool is_on() const noexcept { return is_on_.load(); }

    void model(const ScheduledModel& model, std::string_view id) noexcept;
    void request(const ScheduledStream& stream, sotto_op op, std::string_view body) noexcept;
    void step(const ScheduledModel& model, const ScheduledModel::Step& step) noexcept;
    void frame(
        const Frame& frame, Beside beside, const DutyController::Terms& terms, const DutyController& duty
    ) noexcept;
    void threads(const ScheduledModel& model, std::uint32_t max, std::int64_t now) noexcept;
    void rest(double share, std::int64_t took, std::int64_t rest) noexcept;

    // What the scheduler reports.
    void added(const ScheduledStream& stream) noexcept override;
    void removed(const ScheduledStream& stream) noexcept override;
    void changed(const ScheduledModel& model) noexcept override;
    void changed(const ScheduledStream& stream) noexcept override;
    void facts(const std::vector<ScheduledStream*>& streams) noexcept override;
    void next(std::int64_t now, const Limits& limits, const Slice& slice) noexcept override;
    void ahead(std::int64_t now, bool goes_on) noexcept override;

    // Hands over what was put, so that it survives a crash.
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
    std::string lines_;                          // that were not handed over yet
    std::map<std::uint64_t, ModelFacts> models_; // as they were told last
    std::map<std::uint64_t, StreamFacts> streams_;
};

// A decision, as it is written down and compared.
Json to_json(const Slice& slice);

} // namespace sotto
