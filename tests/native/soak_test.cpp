// Thousands of requests from several threads that cancel, discard and unload at random; each gets correct
// events. SOTTO_SOAK sets the number of requests; default 10,000.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"

using namespace test;

namespace {

constexpr std::size_t kThreads = 16;
constexpr std::size_t kMostUnderWay = 512;

using Random = std::mt19937_64;

bool one_in(Random& random, unsigned n) {
    return random() % n == 0;
}

std::size_t requests_wanted() {
    const char* wanted = std::getenv("SOTTO_SOAK");
    return wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : 10'000;
}

// One request: its expected and its actual events.
struct Plan {
    std::string wanted; // the answer, if nothing interferes
    bool guest = false; // for the model that is loaded and unloaded
    bool is_private = false;
    std::atomic<bool> cancelled{false};
    std::atomic<bool> over{false};

    // Owned by the thread that takes its events:
    bool accepted = false;
    bool done = false;
    std::string text;
    std::string wrong; // the first error

    void hear(const sotto_event& event) {
        complain(done, "an event came after DONE");
        switch (event.kind) {
        case SOTTO_EVENT_ACCEPTED:
            complain(accepted, "it was accepted twice");
            accepted = true;
            break;
        case SOTTO_EVENT_TEXT:
            text += text_of(event.text);
            break;
        case SOTTO_EVENT_REQUEST_DONE:
            done = true;
            judge(event.status, text_of(event.error));
            over = true;
            break;
        default:
            break;
        }
        complain(!accepted && event.kind != SOTTO_EVENT_REQUEST_DONE, "something came before ACCEPTED");
    }

private:
    void complain(bool is_wrong, const std::string& what) {
        wrong = is_wrong && wrong.empty() ? what : wrong;
    }

    void judge(sotto_status status, const std::string& why) {
        if (status == SOTTO_OK) {
            complain(text != wanted, "it said \"" + text + "\", not \"" + wanted + "\"");
        } else if (status == SOTTO_ERROR_CANCELLED) {
            complain(!cancelled && !guest, "nobody cancelled it");
            complain(wanted.compare(0, text.size(), text) != 0, "what it said is no beginning of its answer");
        } else {
            complain(status != SOTTO_ERROR_NOT_FOUND || !guest, why);
        }
    }
};

class Soak {
public:
    explicit Soak(std::size_t count) : plans_(std::make_unique<Plan[]>(count)), count_(count) {
        game_.have("npc", R"({"streams": 8})");
        game_.have("solo", R"({"streams": 2, "batchable": false, "abortable": false})");
        game_.drain();
    }

    void run() {
        std::thread guest([this] { come_and_go(); });
        std::thread drainer([this] { drain(); });
        std::vector<std::thread> askers;
        for (std::size_t i = 0; i < kThreads; ++i) {
            askers.emplace_back([this, i] {
                Random random(i);
                for (auto next = i; next < count_; next += kThreads) {
                    ask(random, next);
                }
            });
        }
        for (auto& asker : askers) {
            asker.join();
        }
        asked_all_ = true;
        drainer.join();
        guest.join();
        game_.end();
    }

    // Returns the first error and its request; empty: no error.
    std::string verdict() const {
        for (std::size_t i = 0; i < count_; ++i) {
            const auto& plan = plans_[i];
            if (!plan.wrong.empty()) {
                return "request " + std::to_string(i) + ": " + plan.wrong;
            }
            if (!plan.is_private && !plan.done) {
                return "request " + std::to_string(i) + " never ended";
            }
        }
        return "";
    }

private:
    // Fills a plan with random values and returns the matching body.
    static std::string invent(Random& random, Plan& plan) {
        static const char* const kModels[] = {"npc", "npc", "solo", "guest"};
        const std::string model = kModels[random() % 4];
        std::string words;
        std::string wanted;
        const auto length = 1 + random() % 8;
        const auto most = one_in(random, 3) ? 1 + random() % 8 : length;
        for (std::size_t i = 0; i < length; ++i) {
            const auto word = (i == 0 ? "w" : " w") + std::to_string(random() % 30);
            words += word;
            wanted += i < most ? word : "";
        }
        std::string more = ", \"max_tokens\": " + std::to_string(most);
        if (one_in(random, 4)) {
            const auto stop = "w" + std::to_string(random() % 30);
            more += ", \"stop\": \"" + stop + "\"";
            wanted = wanted.substr(0, wanted.find(stop));
        }
        plan.wanted = wanted;
        plan.guest = model == "guest";
        return chat(model, words, more);
    }

    void ask(Random& random, std::size_t number) {
        auto& plan = plans_[number];
        plan.is_private = one_in(random, 3);
        const auto body = invent(random, plan);
        while (under_way_.load() >= kMostUnderWay) {
            std::this_thread::yield();
        }
        auto desc = SOTTO_INIT(sotto_request_desc);
        desc.op = SOTTO_OP_CHAT;
        desc.body = str(body);
        desc.user = number;
        desc.flags =
            (plan.is_private ? SOTTO_REQUEST_PRIVATE : 0) | (one_in(random, 2) ? SOTTO_REQUEST_CHUNKS : 0);
        desc.target_tps = one_in(random, 8) ? 5000.0F : 0.0F;
        const bool cancels = one_in(random, 4);
        plan.cancelled = cancels && !plan.is_private; // before its events can arrive
        sotto_request request = 0;
        if (sotto_engine_submit(game_.engine(), &desc, &request) != SOTTO_OK) {
            plan.wrong = last_error();
            return;
        }
        if (plan.is_private) {
            listen(random, request, plan);
            return;
        }
        ++under_way_;
        if (cancels) {
            for (auto pause = random() % 3; pause > 0; --pause) {
                std::this_thread::yield();
            }
            sotto_engine_cancel(game_.engine(), request);
        }
        meddle(random, request);
    }

    // Takes all or some events of a private request.
    void listen(Random& random, sotto_request request, Plan& plan) {
        const bool drops = one_in(random, 4);
        const bool cancels = one_in(random, 4);
        auto patience = random() % 6; // events to take before discarding
        auto event = SOTTO_INIT(sotto_event);
        while (!plan.done) {
            if (patience-- == 0 && (drops || cancels)) {
                plan.cancelled = true;
                drops ? sotto_engine_discard_request(game_.engine(), request)
                      : sotto_engine_cancel(game_.engine(), request);
            }
            const int timeout = static_cast<int>(random() % 3) - 1;
            const auto status = sotto_engine_wait_request_event(game_.engine(), request, timeout, &event);
            if (status == SOTTO_OK) {
                plan.hear(event);
            } else if (status != SOTTO_EMPTY) {
                plan.wrong = drops && status == SOTTO_ERROR_NOT_FOUND ? plan.wrong : last_error();
                return;
            }
        }
    }

    // Random other calls of a game.
    void meddle(Random& random, sotto_request request) {
        auto* engine = game_.engine();
        known_[random() % kThreads] = request;
        sotto_str json{};
        switch (random() % 64) {
        case 0:
            sotto_engine_set_mode(engine, SOTTO_MODE_PRIORITIZE_GRAPHICS);
            std::this_thread::yield();
            // with other modes, a busy machine could take forever
            sotto_engine_set_mode(engine, SOTTO_MODE_PRIORITIZE_COMPUTE);
            break;
        case 1:
            sotto_engine_set_target_tps(engine, one_in(random, 2) ? 0.0F : 20'000.0F);
            break;
        case 2:
            sotto_engine_list_models(engine, &json);
            break;
        case 3:
            sotto_engine_describe(engine, &json);
            break;
        case 4:
            // fails if the request is not private or has ended
            sotto_engine_discard_request(engine, known_[random() % kThreads].load());
            break;
        default:
            sotto_engine_frame_begin(engine, nullptr);
            sotto_engine_frame_end(engine, nullptr);
            break;
        }
    }

    void drain() {
        auto event = SOTTO_INIT(sotto_event);
        while (!asked_all_.load() || under_way_.load() > 0) {
            if (sotto_engine_next_event(game_.engine(), &event) != SOTTO_OK) {
                sotto_engine_wait_for_events(game_.engine(), 1);
            } else {
                plans_[event.user].hear(event);
                under_way_ -= event.kind == SOTTO_EVENT_REQUEST_DONE ? 1 : 0;
            }
        }
    }

    // Loads and unloads a model by private requests, and cancels some of them.
    void come_and_go() {
        Random random(kThreads);
        while (!asked_all_.load()) {
            const auto loading = game_.load("guest", R"({"streams": 3})", SOTTO_REQUEST_PRIVATE);
            if (one_in(random, 4)) {
                game_.cancel(loading);
            }
            const auto came = finish(loading);
            CHECK((came == SOTTO_OK || came == SOTTO_ERROR_CANCELLED));
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            sotto_request leaving = 0;
            CHECK(
                sotto_engine_unload_model(game_.engine(), str("guest"), SOTTO_REQUEST_PRIVATE, &leaving) ==
                SOTTO_OK
            );
            const auto left = finish(leaving);
            CHECK((left == SOTTO_OK || left == SOTTO_ERROR_NOT_FOUND));
        }
    }

    sotto_status finish(sotto_request request) { return done(game_.finish_private(request)).status; }

    Game game_;
    std::unique_ptr<Plan[]> plans_;
    const std::size_t count_;
    std::atomic<std::size_t> under_way_{0}; // live requests whose events go to the queue
    std::atomic<bool> asked_all_{false};
    std::atomic<sotto_request> known_[kThreads]{};
};

} // namespace

TEST_CASE("with many concurrent threads, each request gets correct events, in order, to its end") {
    Soak soak(requests_wanted());
    soak.run();
    CHECK(soak.verdict() == "");
}
