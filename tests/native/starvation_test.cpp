// A model that is stuck in a step delays no API call, no cancellation and no wait.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/game.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

using std::chrono::steady_clock;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr double kSlower = 5;
#else
constexpr double kSlower = 1;
#endif
constexpr double kUsualMs = 1 * kSlower;  // for 999 calls of 1,000
constexpr double kWorstMs = 20 * kSlower; // for every call
// for calls that query the operating system, whose files may be slow: those of a sanitizer's memory are
constexpr double kAsksMs = 10 * kSlower * kSlower;
constexpr double kToldMs = 100 * kSlower;
// the machine may be busy for a moment; an engine that blocks would do so every time
constexpr int kAttempts = 5;

double milliseconds_since(steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

// Number of involuntary context switches of this thread.
long preemptions() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

// Durations of one kind of call, without those during which the thread was preempted.
class Times {
public:
    template <typename Call>
    void time(Call&& call) {
        const auto before = preemptions();
        const auto begin = steady_clock::now();
        call();
        const auto took = milliseconds_since(begin);
        if (preemptions() == before) {
            all_.push_back(took);
        }
    }

    double usual() {
        std::sort(all_.begin(), all_.end());
        return all_.empty() ? 0 : all_[all_.size() * 999 / 1000];
    }
    double worst() const { return all_.empty() ? 0 : *std::max_element(all_.begin(), all_.end()); }

private:
    std::vector<double> all_;
};

// Returns true if `holds` returns true in one of several attempts.
bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < kAttempts; ++i) {
        if (holds()) {
            return true;
        }
    }
    return false;
}

// An engine whose compute thread is stuck in a step that checks no gate.
struct Stuck : Held {
    Stuck() {
        game = std::make_unique<Game>(backend.table());
        game->have("npc", R"({"tokens": ["a"], "loop": true, "abortable": false})");
        gate.shut();
        speaker = game->ask("npc", "hi");
        CHECK(gate.reached());
    }
    ~Stuck() { gate.open(); }

    std::unique_ptr<Game> game;
    sotto_request speaker = 0;
};

} // namespace

TEST_CASE("no API call waits for a stalled model") {
    Stuck stuck;
    Game& game = *stuck.game;
    auto* engine = game.engine();
    const auto body = chat("npc", "hi");
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    auto event = SOTTO_INIT(sotto_event);
    auto secret = desc;
    secret.flags = SOTTO_REQUEST_PRIVATE;
    const bool fast = soon([&] {
        std::vector<std::pair<const char*, Times>> all = {
            {"submit", {}},
            {"next_event", {}},
            {"frame_begin", {}},
            {"frame_end", {}},
            {"cancel", {}},
            {"wait_event", {}},
            {"drop", {}},
            {"set_target_tps", {}},
            {"wait", {}},
            {"list_models", {}},
            {"memory", {}},
            {"set_vram_budget", {}},
        };
        for (int i = 0; i < 2000; ++i) {
            auto next = all.begin();
            sotto_request request = 0;
            sotto_request hidden = 0;
            (next++)->second.time([&] { sotto_engine_submit(engine, &desc, &request); });
            sotto_engine_submit(engine, &secret, &hidden);
            (next++)->second.time([&] { sotto_engine_next_event(engine, &event); });
            (next++)->second.time([&] { sotto_engine_frame_begin(engine, nullptr); });
            (next++)->second.time([&] { sotto_engine_frame_end(engine, nullptr); });
            (next++)->second.time([&] { sotto_engine_cancel(engine, request); });
            (next++)->second.time([&] { sotto_engine_wait_request_event(engine, hidden, 0, &event); });
            (next++)->second.time([&] { sotto_engine_discard_request(engine, hidden); });
            (next++)->second.time([&] { sotto_engine_set_target_tps(engine, static_cast<float>(i)); });
            (next++)->second.time([&] { sotto_engine_wait_for_events(engine, 0); });
            sotto_str json{};
            (next++)->second.time([&] { sotto_engine_list_models(engine, &json); });
            (next++)->second.time([&] { sotto_engine_memory(engine, &json); });
            const auto budget = static_cast<std::uint64_t>(i) << 20;
            (next++)->second.time([&] { sotto_engine_set_vram_budget(engine, budget); });
            while (sotto_engine_next_event(engine, &event) == SOTTO_OK) {
            }
        }
        bool held = true;
        for (auto& [name, times] : all) {
            MESSAGE(
                std::string(name), ": 99.9 % within ", times.usual(), " ms, the worst ", times.worst(), " ms"
            );
            const auto usual = std::string_view(name) == "memory" ? kAsksMs : kUsualMs;
            held = held && times.usual() < usual && times.worst() < std::max(kWorstMs, 2 * usual);
        }
        return held;
    });
    CHECK(fast);
}

TEST_CASE("cancelling a queued request delivers its last event at once") {
    Stuck stuck;
    Game& game = *stuck.game;
    const bool fast = soon([&] {
        double worst = 0;
        for (int i = 0; i < 20; ++i) {
            const auto request = game.ask("npc", "hi");
            game.until_told(request, SOTTO_EVENT_ACCEPTED);
            const auto begin = steady_clock::now();
            game.cancel(request);
            CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
            worst = std::max(worst, milliseconds_since(begin));
        }
        MESSAGE("told within ", worst, " ms");
        return worst < kToldMs;
    });
    CHECK(fast);
}

TEST_CASE("cancelling a stream of a stalled step delivers its last event at once") {
    Stuck stuck;
    const auto begin = steady_clock::now();
    stuck.game->cancel(stuck.speaker);
    CHECK(done(stuck.game->finish(stuck.speaker)).status == SOTTO_ERROR_CANCELLED);
    MESSAGE("told within ", milliseconds_since(begin), " ms");
}

TEST_CASE("requests are parsed and refused, and models loaded, during a stalled step") {
    Stuck stuck;
    Game& game = *stuck.game;
    CHECK(done(game.finish(game.submit("{}"))).status == SOTTO_ERROR_ARGUMENT);
    CHECK(done(game.finish(game.ask("nobody", "hi"))).status == SOTTO_ERROR_NOT_FOUND);
    game.have("other");
    CHECK(done(game.finish(game.unload("other"))).status == SOTTO_OK);
    game.until_told(game.ask("npc", "hi"), SOTTO_EVENT_ACCEPTED);
}

TEST_CASE("threads that wait for a private request wake on time") {
    Stuck stuck;
    const auto request = stuck.game->ask("npc", "hi", {.flags = SOTTO_REQUEST_PRIVATE});
    sotto_status status = SOTTO_OK;
    CHECK(stuck.game->wait_event(request, kPatience, status).kind == SOTTO_EVENT_ACCEPTED);
    const auto begin = steady_clock::now();
    stuck.game->wait_event(request, 10, status);
    CHECK(status == SOTTO_EMPTY);
    CHECK(milliseconds_since(begin) >= 10);
    stuck.game->cancel(request);
    CHECK(stuck.game->wait_event(request, kPatience, status).status == SOTTO_ERROR_CANCELLED);
}

TEST_CASE("API calls return while the game uses every core") {
    // In this mode models run in the idle class, so spinning threads leave no CPU time to the compute thread.
    auto desc = plain_desc();
    desc.mode = SOTTO_MODE_BALANCE;
    Game game(desc);
    game.have("npc", R"({"tokens": ["a"], "loop": true, "batchable": false})");
    const auto speaker = game.ask("npc", "hi");
    game.until_told(speaker, SOTTO_EVENT_TEXT);
    std::atomic<bool> over{false};
    std::vector<std::thread> spinners;
    for (unsigned i = 0; i < 2 * std::max(1U, std::thread::hardware_concurrency()); ++i) {
        spinners.emplace_back([&] {
            while (!over.load(std::memory_order_relaxed)) {
            }
        });
    }
    for (int i = 0; i < 5; ++i) {
        const auto request = game.ask("npc", "hi");
        game.until_told(request, SOTTO_EVENT_ACCEPTED);
        game.cancel(request);
        CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    }
    game.cancel(speaker);
    CHECK(done(game.finish(speaker)).status == SOTTO_ERROR_CANCELLED);
    over = true;
    for (auto& spinner : spinners) {
        spinner.join();
    }
}
