// A small game: an engine with the scripted backend, its requests and their events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sotto/module.h>
#include <sotto/sotto.h>

#include "core/settings.hpp"
#include "platform/clock.hpp"

extern "C" sotto_status SOTTO_CALL
sotto_module_v1(const sotto_backend_host* host, sotto_backend* backend, sotto_str* why);

namespace test {

// Timeout in ms for expected events. Used up only by failing tests.
constexpr int kPatience = 20'000;

// A copy of an event that owns its text.
struct Told {
    sotto_event_kind kind = 0;
    sotto_request request = 0;
    std::uint64_t user = 0;
    std::string text;
    std::string json;
    sotto_status status = SOTTO_OK;
    std::uint32_t tokens = 0;
    float progress = 0;
    std::uint32_t index = 0;
    sotto_finish finish = SOTTO_FINISH_NONE;
    std::string error;
    std::string data;

    Told() = default;
    explicit Told(const sotto_event& event);
};

using History = std::vector<Told>;

inline sotto_str str(std::string_view text) noexcept {
    return {text.data(), text.size()};
}
inline std::string text_of(sotto_str text) {
    return text.size == 0 ? std::string() : std::string(text.data, text.size);
}
std::string last_error();

// Concatenated text of the TEXT events.
std::string said(const History& history);
std::size_t count(const History& history, sotto_event_kind kind);
// The last event, which must be REQUEST_DONE.
const Told& done(const History& history);

// `text` as a JSON string.
std::string quoted(std::string_view text);
// Body of a chat with one message; `more`: further fields, each after a comma.
std::string chat(std::string_view model, std::string_view text, std::string_view more = "");

sotto_backend scripted();

// Defaults, except that models run in the normal thread class, so that a busy machine does not delay tests.
sotto_engine_desc plain_desc();

struct Ask {
    std::string_view more = {}; // further fields of the body
    float tps = 0;
    sotto_request_flags flags = 0;
    std::uint64_t user = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::uint64_t deadline_ns = 0;
};

class Game {
public:
    explicit Game(const sotto_engine_desc& desc = plain_desc(), const sotto_backend& backend = scripted());
    explicit Game(const sotto_backend& backend) : Game(plain_desc(), backend) {}
    explicit Game(sotto::Clock& clock, float target_tps = 0);
    explicit Game(sotto::EngineOptions options, const sotto_backend& backend = scripted());
    ~Game() { end(); }
    Game(const Game&) = delete;
    Game& operator=(const Game&) = delete;

    sotto_engine* engine() const noexcept { return engine_; }
    // Destroys the engine; the history stays.
    void end();

    // The name of its backend.
    sotto_str backend() const { return str(backend_); }
    // Submits the load of a scripted model.
    sotto_request load(std::string_view id, std::string_view script, sotto_request_flags flags = 0);
    // Loads a model and waits for it.
    void have(std::string_view id, std::string_view script = "{}");
    sotto_request unload(std::string_view id);
    sotto_request ask(std::string_view model, std::string_view text, const Ask& how = {});
    sotto_request submit(std::string_view body, const Ask& how = {}, sotto_op op = SOTTO_OP_CHAT);
    void cancel(sotto_request request) { sotto_engine_cancel(engine_, request); }

    // Takes all available events. Returns their number.
    std::size_t drain();
    // Takes events until `holds` returns true. Returns false on timeout.
    bool until(const std::function<bool()>& holds);
    // Takes events until the request has ended, and returns its history. Fails the test on timeout.
    const History& finish(sotto_request request);
    // Takes events until `times` of that kind have arrived. Fails the test on timeout.
    void until_told(sotto_request request, sotto_event_kind kind, std::size_t times = 1);
    const History& of(sotto_request request) { return told_[request]; }
    // All events, in order of arrival.
    const History& all() const noexcept { return all_; }

    // Waits for the next event of a private request; `status` gets the call's result.
    Told wait_event(sotto_request request, int timeout_ms, sotto_status& status);
    // All remaining events of a private request.
    History finish_private(sotto_request request);

private:
    sotto_engine* engine_ = nullptr;
    std::string backend_;
    std::map<sotto_request, History> told_;
    History all_;
};

} // namespace test
