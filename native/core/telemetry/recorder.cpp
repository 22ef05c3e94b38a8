#include "core/telemetry/recorder.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {
namespace {

const char* name_of(Slice::Kind kind) noexcept {
    constexpr const char* kNames[] = {"nothing", "open", "unpark", "step"};
    return kNames[static_cast<std::size_t>(kind)];
}

// Returns the members of `now` that differ from `before`.
Json changes(const StreamFacts& before, const StreamFacts& now) {
    Json all = Json::object();
    const auto add = [&](const char* name, const auto& old_one, const auto& new_one) {
        if (old_one != new_one) {
            all[name] = new_one;
        }
    };
    add("state", static_cast<int>(before.state), static_cast<int>(now.state));
    add("busy", before.busy, now.busy);
    add("awaits", before.awaits, now.awaits);
    add("expected", before.expected, now.expected);
    add("unprepared", before.unprepared, now.unprepared);
    add("prompt", before.prompt, now.prompt);
    add("remaining", before.remaining, now.remaining);
    add("generated", before.generated, now.generated);
    add("told", before.told, now.told);
    add("first", before.first, now.first);
    add("served", before.served, now.served);
    add("served_at", before.served_at, now.served_at);
    add("pace_rate", before.pace.rate, now.pace.rate);
    add("pace_told", before.pace.told, now.pace.told);
    add("pace_next", before.pace.next, now.pace.next);
    return all;
}

} // namespace

Json to_json(const Slice& slice) {
    Json shares = Json::array();
    for (const auto& share : slice.shares) {
        shares.push_back({share.stream->terms.number, share.tokens});
    }
    Json all = {{"does", name_of(slice.kind)}, {"shares", std::move(shares)}};
    if (slice.kind == Slice::Kind::step) {
        all["limit"] = slice.limit;
        all["predicted"] = slice.predicted;
    }
    if (slice.parks != nullptr) {
        all["parks"] = slice.parks->terms.number;
    }
    return all;
}

Recorder::~Recorder() {
    constexpr std::int64_t kPatience = 700'000'000;
    write([&] {
        write_out();
        writer_.finish(kPatience);
    });
}

void Recorder::open(const std::string& path, const Json& engine) {
    writer_.open(path);
    is_on_ = true;
    write([&] { put(engine); });
    flush();
}

void Recorder::put(const Json& line) {
    constexpr std::size_t kMaxKept = 64 << 10;
    lines_ += to_text(line);
    lines_ += '\n';
    if (lines_.size() > kMaxKept) {
        write_out();
    }
}

void Recorder::write_out() {
    writer_.append(std::exchange(lines_, {}));
}

// Runs `body`, which appends lines. Stops the recording if `body` throws: a missing line would invalidate all
// later lines.
template <typename Body>
void Recorder::write(const Body& body) noexcept {
    if (is_on()) {
        attempt(body, [&](sotto_status, const char* reason) {
            is_on_ = false;
            writer_.stop();
            lines_ = {};
            std::array<char, 512> line{}; // no allocation: memory may be short
            std::snprintf(
                line.data(), line.size(), "the recording of what the engine decides stops: %s", reason
            );
            log_.error(line.data());
        });
    }
}

void Recorder::flush() noexcept {
    write([&] { write_out(); });
}

void Recorder::model(const ScheduledModel& model, std::string_view id) noexcept {
    write([&] {
        const auto& traits = model.traits;
        put({
            {"is", "model"},
            {"model", model.number},
            {"id", id},
            {"streams", traits.streams},
            {"step_tokens", traits.step_tokens},
            {"min_step_tokens", traits.min_step_tokens},
            {"batches", traits.batches},
            {"parks", traits.parks},
        });
    });
}

void Recorder::request(const ScheduledStream& stream, sotto_op op, std::string_view body) noexcept {
    write([&] { put({{"is", "request"}, {"stream", stream.terms.number}, {"op", op}, {"body", body}}); });
}

void Recorder::step(const ScheduledModel& model, const ScheduledModel::Step& step) noexcept {
    write([&] {
        put({
            {"is", "step"},
            {"model", model.number},
            {"threads", step.threads},
            {"prompt", step.load.prompt},
            {"answers", step.load.answers},
            {"reach", step.load.reach},
            {"took", step.took},
            {"ended", step.ended},
            {"gave_up", step.gave_up},
        });
    });
}

void Recorder::frame(
    const Frame& frame, Beside beside, const DutyController::Terms& terms, const DutyController& duty
) noexcept {
    write([&] {
        put({
            {"is", "frame"},
            {"begin", frame.begin},
            {"end", frame.end},
            {"period", frame.period},
            {"missed", frame.missed},
            {"beside", static_cast<int>(beside)},
            {"least", terms.min},
            {"yields", terms.yields},
            {"cores", terms.cores.max()},
            {"free", terms.cores.free()},
            {"share", duty.duty()},
            {"rests", duty.rests()},
        });
    });
}

void Recorder::threads(const ScheduledModel& model, std::uint32_t max, std::int64_t now) noexcept {
    write([&] {
        put({
            {"is", "threads"},
            {"model", model.number},
            {"most", max},
            {"at", now},
            {"threads", model.thread_count.now()},
        });
    });
}

void Recorder::rest(double share, std::int64_t took, std::int64_t rest) noexcept {
    write([&] { put({{"is", "rest"}, {"share", share}, {"took", took}, {"rest", rest}}); });
}

void Recorder::added(const ScheduledStream& stream) noexcept {
    write([&] {
        facts(stream.model);
        const auto& terms = stream.terms;
        put({
            {"is", "stream"},
            {"stream", terms.number},
            {"model", stream.model.number},
            {"priority", terms.priority},
            {"deadline", terms.deadline},
            {"at_once", terms.at_once},
            {"pinned", terms.pinned},
            {"saves", terms.saves},
            {"group", terms.group},
        });
    });
}

void Recorder::removed(const ScheduledStream& stream) noexcept {
    write([&] {
        streams_.erase(stream.terms.number);
        put({{"is", "gone"}, {"stream", stream.terms.number}});
    });
}

void Recorder::changed(const ScheduledModel& model) noexcept {
    write([&] { facts(model); });
}

void Recorder::changed(const ScheduledStream& stream) noexcept {
    write([&] {
        facts(stream.model);
        facts(stream);
    });
}

void Recorder::facts(const std::vector<ScheduledStream*>& streams) noexcept {
    write([&] {
        for (const ScheduledStream* stream : streams) {
            facts(stream->model);
            facts(*stream);
        }
    });
}

void Recorder::facts(const ScheduledModel& model) {
    const ModelFacts now = {model.open_streams, model.served_ns};
    if (auto& before = models_[model.number]; before != now) {
        before = now;
        put({
            {"is", "facts"},
            {"model", model.number},
            {"open_streams", now.open_streams},
            {"served_ns", now.served_ns},
        });
    }
}

void Recorder::facts(const ScheduledStream& stream) {
    auto& before = streams_[stream.terms.number];
    if (before == stream) {
        return;
    }
    auto all = changes(before, stream);
    before = stream;
    all["is"] = "facts";
    all["stream"] = stream.terms.number;
    put(all);
}

void Recorder::next(std::int64_t now, const Limits& limits, const Slice& slice) noexcept {
    write([&] {
        put(
            {{"is", "next"},
             {"at", now},
             {"time", limits.time},
             {"apart", limits.apart},
             {"slice", to_json(slice)}}
        );
    });
}

void Recorder::ahead(std::int64_t now, bool goes_on) noexcept {
    write([&] { put({{"is", "ahead"}, {"at", now}, {"goes_on", goes_on}}); });
}

} // namespace sotto
