// Implements sotto/guard.h.
#include "api/guard.hpp"

#include <mutex>

#include "api/boundary.hpp"
#include "api/handle_table.hpp"
#include "guard/config.hpp"
#include "guard/guard_stream.hpp"

using namespace sotto::api;
using sotto::Error;
using sotto::guard::Guard;
using sotto::guard::GuardStream;
using sotto::guard::Stage;

namespace {

// A stream, and where it stands. A stream whose call failed half-way releases nothing more.
struct OpenStream {
    OpenStream(std::shared_ptr<const Guard> guard, Stage stage) : text(std::move(guard), stage) {}

    std::mutex mutex; // guards the rest
    GuardStream text;
    bool ended = false;
};

// A guard, which streams and engines share.
struct OpenGuard {
    std::shared_ptr<const Guard> guard;
};

struct GuardKind {
    static constexpr const char* kName = "guard";
    static constexpr const char* kPlural = "guards";
    static constexpr unsigned kNumber = 3;
    static constexpr std::size_t kMax = 1024;
};
struct StreamKind {
    static constexpr const char* kName = "stream";
    static constexpr const char* kPlural = "streams of guards";
    static constexpr unsigned kNumber = 4;
    static constexpr std::size_t kMax = 16'384;
};
using GuardTable = HandleTable<OpenGuard, GuardKind>;
using StreamTable = HandleTable<OpenStream, StreamKind>;

GuardTable g_guards;
StreamTable g_streams;

class StreamPin : public StreamTable::Pin {
public:
    explicit StreamPin(sotto_guard_stream* handle)
        : StreamTable::Pin(g_streams, reinterpret_cast<std::uintptr_t>(handle)) {}
};

Stage checked_stage(sotto_guard_stage stage) {
    if (stage < SOTTO_GUARD_INPUT || stage > SOTTO_GUARD_IMAGE_PROMPT) {
        throw sotto::invalid_argument("stage", std::to_string(stage), "one of the SOTTO_GUARD_ values");
    }
    return static_cast<Stage>(stage);
}

std::string_view checked_text(std::string_view text) {
    constexpr std::size_t kMaxText = std::size_t{16} << 20;
    if (text.size() > kMaxText) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid text '" + std::to_string(text.size()) + " bytes': expected at most " +
                std::to_string(kMaxText) + " bytes; check it in parts"
        );
    }
    return text;
}

// Returns a guard whose checkers of `stage` need no models.
std::shared_ptr<const Guard> guard_without_models(sotto_guard* handle, Stage stage) {
    auto guard = sotto::api::guard_of(handle);
    if (const auto& rules = guard->model_rules(stage); !rules.empty()) {
        const auto& rule = rules.front();
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            rule.path + ": a checker of the type \"" + (rule.is_judge() ? "judge" : "topics") +
                "\" needs a model; check the text with SOTTO_OP_CHECK, or create an engine with the guard"
        );
    }
    return guard;
}

// Feeds or finishes a stream, and lends what it releases.
template <typename Work>
sotto_status
release(sotto_guard_stream* stream, sotto_str* released, int32_t* blocked, bool last, Work&& work) {
    auto& out = deref(released, "released");
    out = {};
    if (blocked != nullptr) {
        *blocked = 0;
    }
    const StreamPin open(stream);
    const std::scoped_lock lock(open->mutex);
    if (open->ended) {
        throw Error(SOTTO_ERROR_STATE, "the stream has finished: open another one for another text");
    }
    open->ended = true; // stays so if a step fails
    std::string text;
    work(open->text, text);
    out = lend(std::move(text));
    open->ended = last;
    if (blocked != nullptr) {
        *blocked = open->text.blocked() ? 1 : 0;
    }
    return SOTTO_OK;
}

} // namespace

namespace sotto::api {

std::shared_ptr<const Guard> guard_of(sotto_guard* guard) {
    return GuardTable::Pin(g_guards, reinterpret_cast<std::uintptr_t>(guard))->guard;
}

} // namespace sotto::api

sotto_status sotto_guard_create(sotto_str config, sotto_guard** guard) {
    return guarded([&] {
        auto& out = deref(guard, "guard");
        out = nullptr;
        auto made = std::make_unique<OpenGuard>(std::make_shared<const Guard>(view(config, "config")));
        out = reinterpret_cast<sotto_guard*>(g_guards.open(std::move(made)));
        return SOTTO_OK;
    });
}

void sotto_guard_destroy(sotto_guard* guard) {
    g_guards.close(reinterpret_cast<std::uintptr_t>(guard), [](OpenGuard&) noexcept {});
}

sotto_status
sotto_guard_check(sotto_guard* guard, sotto_guard_stage stage, sotto_str text, sotto_str* verdict) {
    return guarded([&] {
        auto& out = deref(verdict, "verdict");
        out = {};
        const auto checked = checked_stage(stage);
        const auto found = guard_without_models(guard, checked);
        const auto given = utf8(text, "text");
        out = lend(to_json(found->check(checked, checked_text(given))));
        return SOTTO_OK;
    });
}

sotto_status
sotto_guard_open_stream(sotto_guard* guard, sotto_guard_stage stage, sotto_guard_stream** stream) {
    return guarded([&] {
        auto& out = deref(stream, "stream");
        out = nullptr;
        auto made = std::make_unique<OpenStream>(
            guard_without_models(guard, checked_stage(stage)), checked_stage(stage)
        );
        out = reinterpret_cast<sotto_guard_stream*>(g_streams.open(std::move(made)));
        return SOTTO_OK;
    });
}

sotto_status
sotto_guard_stream_feed(sotto_guard_stream* stream, sotto_str text, sotto_str* released, int32_t* blocked) {
    return guarded([&] {
        return release(stream, released, blocked, false, [&](GuardStream& open, std::string& out) {
            open.feed(checked_text(view(text, "text")), out);
        });
    });
}

sotto_status sotto_guard_stream_finish(sotto_guard_stream* stream, sotto_str* released, int32_t* blocked) {
    return guarded([&] {
        return release(stream, released, blocked, true, [](GuardStream& open, std::string& out) {
            open.finish(out);
        });
    });
}

sotto_status sotto_guard_stream_verdict(sotto_guard_stream* stream, sotto_str* verdict) {
    return guarded([&] {
        auto& out = deref(verdict, "verdict");
        out = {};
        const StreamPin open(stream);
        const std::scoped_lock lock(open->mutex);
        out = lend(to_json(open->text.verdict()));
        return SOTTO_OK;
    });
}

void sotto_guard_stream_close(sotto_guard_stream* stream) {
    g_streams.close(reinterpret_cast<std::uintptr_t>(stream), [](OpenStream&) noexcept {});
}
