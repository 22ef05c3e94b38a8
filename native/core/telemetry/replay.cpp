#include "core/telemetry/replay.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "core/schedule/duty_controller.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/telemetry/line_reader.hpp"
#include "core/telemetry/recorder.hpp"
#include "platform/file.hpp"

namespace sotto {
namespace {

constexpr std::uint32_t kMaxThreads = 4096;
constexpr std::uint32_t kMaxTokens = UINT32_MAX / 4;
// ns, 36 years: sums and differences do not overflow
constexpr std::int64_t kMaxTime = std::int64_t{1} << 60;
constexpr std::size_t kMaxStreams = 65'536; // maximum of live streams, as in an engine
constexpr std::size_t kMaxModels = 4'096;

// Typed access to the fields of a line. The typed getters throw if a field is absent.
class Line {
public:
    Line(const Json& object, std::size_t number) : fields_(object, "line " + std::to_string(number)) {}

    const Json* find(const char* key) const { return fields_.find(key); }
    std::int64_t
    number(const char* key, std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX) const {
        fields_.require(key, "a whole number");
        return *fields_.integer(key, least, most);
    }
    std::uint32_t count(const char* key, std::uint32_t most = kMaxTokens) const {
        return static_cast<std::uint32_t>(number(key, 0, most));
    }
    std::int64_t time(const char* key) const { return number(key, -kMaxTime, kMaxTime); }
    // Reads a time that may also be "never happened", which is earlier than all other times.
    std::int64_t time_or_never(const char* key) const {
        constexpr auto kMax = 4 * kMaxTime - 1;
        fields_.require(key, "a whole number");
        const auto value = number(key);
        return value == INT64_MIN ? value : number(key, -kMax, kMax);
    }
    std::uint64_t name(const char* key) const { return static_cast<std::uint64_t>(number(key, 0)); }
    double real(const char* key, double least, double most) const {
        fields_.require(key, "a number");
        return *fields_.number(key, least, most);
    }
    double rate(const char* key) const { return real(key, 0, 1e9); }
    double share(const char* key) const { return real(key, 1e-6, 1); }
    bool truth(const char* key) const {
        fields_.require(key, "true or false");
        return *fields_.boolean(key);
    }
    std::string text(const char* key) const {
        const Json& value = fields_.require(key, "a string");
        if (!value.is_string()) {
            fields_.refuse(key, value, "a string");
        }
        return value.get<std::string>();
    }
    // Reads the field with `read` if it is present; otherwise leaves `value` unchanged.
    template <typename Value, typename Read>
    void update(const char* key, Value& value, Read read) const {
        if (find(key) != nullptr) {
            value = static_cast<Value>((this->*read)(key));
        }
    }
    [[noreturn]] void refuse(const char* key, const std::string& what) const {
        fields_.refuse(key, *find(key), what);
    }

private:
    Fields fields_;
};

// Compares replayed decisions with the recorded ones.
class Comparison {
public:
    // Sets the number of the line whose decisions are compared from now on.
    void begin(std::size_t line) noexcept { line_ = line; }

    void compare(const char* what, const Json& recorded, const Json& replayed) {
        ++decisions_;
        if (recorded == replayed) {
            return;
        }
        if (++differences_ == 1) {
            first_ = {{"line", line_}, {"what", what}, {"recorded", recorded}, {"replayed", replayed}};
        }
    }

    std::uint64_t decisions() const noexcept { return decisions_; }
    std::uint64_t same() const noexcept { return decisions_ - differences_; }
    // The first decision that differs; null if none does.
    const Json& first_difference() const noexcept { return first_; }

private:
    std::size_t line_ = 0;
    std::uint64_t decisions_ = 0;
    std::uint64_t differences_ = 0;
    Json first_;
};

class Replay {
public:
    void take(const Json& object, std::size_t number) {
        const Line line(object, number);
        const auto is = line.text("is");
        comparison_.begin(number);
        if (number == 1 && is != "engine") {
            line.refuse("is", "\"engine\", as in the first line of every recording");
        }
        const auto found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
            return is == kind.name;
        });
        if (found != std::end(kKinds)) { // lines of types that a later version may add are skipped
            (this->*found->take)(line);
        }
    }

    Json report() const {
        return {
            {"version", version_},
            {"decisions", comparison_.decisions()},
            {"same", comparison_.same()},
            {"streams", streams_told_},
            {"models", models_.size()},
            {"frames", frames_},
            {"seconds", static_cast<double>(last_ - first_) / 1e9},
            {"first_difference", comparison_.first_difference()},
        };
    }

private:
    struct Kind {
        const char* name;
        void (Replay::*take)(const Line&);
    };
    static const Kind kKinds[11];

    void engine(const Line& line) { version_ = line.text("version"); }

    void model(const Line& line) {
        const auto number = line.name("model");
        auto& made = models_[number]; // an existing model gets new properties
        if (models_.size() > kMaxModels) {
            line.refuse("model", "one of at most " + std::to_string(kMaxModels) + " models");
        }
        made = made != nullptr ? std::move(made) : std::make_unique<ScheduledModel>();
        made->number = number;
        made->traits = {
            .streams = line.count("streams"),
            .step_tokens = line.count("step_tokens"),
            .min_step_tokens = line.count("min_step_tokens"),
            .batches = line.truth("batches"),
            .parks = line.truth("parks"),
        };
    }

    void stream(const Line& line) {
        const StreamTerms terms = {
            .number = line.name("stream"),
            .priority = static_cast<sotto_priority>(
                line.number("priority", SOTTO_PRIORITY_BACKGROUND, SOTTO_PRIORITY_FOREGROUND)
            ),
            .deadline = line.number("deadline", 0),
            .at_once = line.truth("at_once"),
            .pinned = line.truth("pinned"),
            .group = line.find("group") == nullptr ? 0 : line.name("group"),
            .saves = line.truth("saves"),
        };
        auto made = std::make_unique<ScheduledStream>(model_of(line), terms, nullptr, 0);
        const auto [place, fresh] = streams_.emplace(terms.number, std::move(made));
        if (!fresh) {
            line.refuse("stream", "an unused number");
        }
        if (streams_.size() > kMaxStreams) {
            line.refuse("stream", "one of at most " + std::to_string(kMaxStreams) + " live streams");
        }
        scheduler_.add(*place->second);
        ++streams_told_;
    }

    void gone(const Line& line) {
        scheduler_.remove(stream_of(line));
        streams_.erase(line.name("stream"));
    }

    void facts(const Line& line) {
        if (line.find("model") != nullptr) {
            auto& model = model_of(line);
            model.open_streams = line.count("open_streams");
            model.served_ns = line.number("served_ns", 0, kMaxTime);
            return;
        }
        auto& stream = stream_of(line);
        if (line.find("state") != nullptr) {
            stream.state =
                static_cast<StreamState>(line.number("state", 0, static_cast<int>(StreamState::over)));
        }
        line.update("busy", stream.busy, &Line::truth);
        line.update("awaits", stream.awaits, &Line::truth);
        line.update("expected", stream.expected, &Line::truth);
        line.update("unprepared", stream.unprepared, &Line::truth);
        const auto count = [&](const char* key, std::uint32_t& value) {
            value = line.find(key) != nullptr ? line.count(key) : value;
        };
        count("prompt", stream.prompt);
        count("remaining", stream.remaining);
        count("generated", stream.generated);
        count("told", stream.told);
        count("pace_told", stream.pace.told);
        line.update("first", stream.first, &Line::time);
        line.update("served_at", stream.served_at, &Line::time);
        line.update("pace_next", stream.pace.next, &Line::time_or_never);
        line.update("served", stream.served, &Line::name);
        line.update("pace_rate", stream.pace.rate, &Line::rate);
        if (stream.state == StreamState::prompting && stream.remaining == 0) {
            line.refuse(
                line.find("remaining") != nullptr ? "remaining" : "state",
                "at least 1 remaining token in state 2"
            );
        }
        scheduler_.changed(stream);
    }

    void step(const Line& line) {
        ScheduledModel::Step step;
        step.threads = line.count("threads", kMaxThreads);
        step.load = {line.count("prompt"), line.count("answers"), line.real("reach", 0, 1e18)};
        step.took = line.time("took");
        step.ended = line.time("ended");
        step.gave_up = line.truth("gave_up");
        auto& model = model_of(line);
        model.costs.prepare(step.threads);
        model.learn(step);
    }

    void frame(const Line& line) {
        Frame frame;
        frame.missed = line.truth("missed");
        const auto min = line.real("least", 0, 1);
        frame.end = line.time("end");
        const auto beside = static_cast<Beside>(line.number("beside", 0, static_cast<int>(Beside::rested)));
        const auto max = line.count("cores", kMaxThreads);
        const auto free = line.count("free", kMaxThreads);
        const Cores cores = {.usable = max, .busy = max - std::min(free, max)};
        duty_.frame(frame, beside, {min, line.truth("yields"), cores});
        ++frames_;
        const Json recorded = {line.real("share", 0, 1), line.truth("rests")};
        comparison_.compare("share", recorded, {duty_.duty(), duty_.rests()});
    }

    void threads(const Line& line) {
        auto& count = model_of(line).thread_count;
        count.set_max(line.count("most", kMaxThreads), line.time("at"));
        comparison_.compare("threads", line.count("threads", kMaxThreads), count.now());
    }

    void rest(const Line& line) {
        comparison_.compare("rest", line.time("rest"), rest_of(line.share("share"), line.time("took")));
    }

    void next(const Line& line) {
        const Limits limits = {.time = line.number("time", 0), .apart = line.truth("apart")};
        const auto now = line.time("at");
        note(now);
        const Json* recorded = line.find("slice");
        comparison_.compare(
            "slice", recorded == nullptr ? Json() : *recorded, to_json(scheduler_.next(now, limits))
        );
    }

    void ahead(const Line& line) {
        const auto now = line.time("at");
        note(now);
        comparison_.compare("goes_on", line.truth("goes_on"), scheduler_.goes_on(now));
    }

    ScheduledModel& model_of(const Line& line) {
        const auto found = models_.find(line.name("model"));
        if (found == models_.end()) {
            line.refuse("model", "a model of an earlier line");
        }
        return *found->second;
    }

    ScheduledStream& stream_of(const Line& line) {
        const auto found = streams_.find(line.name("stream"));
        if (found == streams_.end()) {
            line.refuse("stream", "a live stream of an earlier line");
        }
        return *found->second;
    }

    void note(std::int64_t now) {
        first_ = first_ == 0 ? now : first_;
        last_ = now;
    }

    Scheduler scheduler_;
    DutyController duty_;
    std::map<std::uint64_t, std::unique_ptr<ScheduledModel>> models_;
    std::map<std::uint64_t, std::unique_ptr<ScheduledStream>> streams_;
    std::string version_;
    Comparison comparison_;
    std::uint64_t streams_told_ = 0;
    std::uint64_t frames_ = 0;
    std::int64_t first_ = 0;
    std::int64_t last_ = 0;
};

const Replay::Kind Replay::kKinds[11] = {
    {"engine", &Replay::engine},
    {"model", &Replay::model},
    {"stream", &Replay::stream},
    {"gone", &Replay::gone},
    {"facts", &Replay::facts},
    {"step", &Replay::step},
    {"frame", &Replay::frame},
    {"threads", &Replay::threads},
    {"next", &Replay::next},
    {"ahead", &Replay::ahead},
    {"rest", &Replay::rest},
};

} // namespace

std::string replay(const std::string& path) {
    LineReader lines(open_file({"path", path}));
    Replay replay;
    std::string line;
    bool cut = false;
    while (!cut && lines.next(line)) {
        const auto number = lines.number();
        try {
            replay.take(parse_object(line, "line " + std::to_string(number)), number);
        } catch (const Error&) {
            // the recording process ended while it wrote the line
            cut = number > 1 && !lines.ended() && !is_json(line);
            if (!cut) {
                throw;
            }
        }
    }
    if (lines.number() == 0) {
        throw invalid_argument("path", path, "a recording that is not empty");
    }
    auto report = replay.report();
    report["file"] = path;
    report["cut"] = cut;
    return to_text(report);
}

} // namespace sotto
