// Random workloads of requests, cancellations and settings: each request gets all events once and in order,
// the engine continues, and its decisions can be replayed.
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "support/game.hpp"
#include "text/json_reader.hpp"

using namespace test;

namespace {

constexpr int kTokens = 12;

std::string all_tokens() {
    std::string all;
    for (int i = 0; i < kTokens; ++i) {
        all += std::to_string(i) + ",";
    }
    return all;
}

std::string script(std::mt19937& random) {
    std::string tokens;
    for (int i = 0; i < kTokens; ++i) {
        tokens += (i == 0 ? "\"" : ", \"") + std::to_string(i) + ",\"";
    }
    const auto pick = [&](int count) { return std::to_string(random() % static_cast<unsigned>(count)); };
    return R"({"tokens": [)" + tokens + R"(], "streams": )" + std::to_string(1 + random() % 4) +
           R"(, "prompt_tokens": )" + std::to_string(1 + random() % 300) + R"(, "token_ms": 0.)" + pick(10) +
           R"(, "prompt_token_ms": 0.00)" + pick(10) + R"(, "unpark_tokens": )" + pick(50) +
           (random() % 2 == 0 ? R"(, "parkable": true)" : "") +
           (random() % 3 == 0 ? R"(, "batchable": false)" : "") +
           R"(, "adapters": true, "adapters_said": false})";
}

// One run: its requests, and their permitted outcomes.
class Run {
public:
    explicit Run(unsigned seed) : random_(seed), game_(desc(recording_)) {
        for (const std::string model : {"a", "b", "c"}) {
            game_.have(model, script(random_));
            for (const char* name : {"x", "y"}) {
                load_adapter(model, name);
            }
        }
        counted_ = game_.all().size();
    }

    void operate() {
        switch (random_() % 10) {
        case 0:
        case 1:
        case 2:
            return ask();
        case 3:
            return cancel();
        case 4:
            sotto_engine_set_target_tps(
                game_.engine(), random_() % 2 == 0 ? 0 : static_cast<float>(random_() % 2000)
            );
            return;
        case 5:
            sotto_engine_set_mode(game_.engine(), static_cast<sotto_mode>(random_() % 3));
            return;
        case 6:
            if (!asked_.empty()) {
                sotto_engine_set_request_tps(game_.engine(), any(), static_cast<float>(random_() % 3000));
            }
            return;
        default:
            frame();
            game_.drain();
        }
    }

    // Replays the recording and checks that all decisions are the same.
    void replay() {
        game_.end();
        sotto_str json{};
        REQUIRE_MESSAGE(sotto_replay(str(recording_.string()), &json) == SOTTO_OK, last_error());
        const auto report = sotto::Json::parse(text_of(json));
        CAPTURE(report.dump());
        CHECK(report["decisions"] > 100);
        CHECK(report["same"] == report["decisions"]);
        std::filesystem::remove(recording_);
    }

    void settle() {
        sotto_engine_set_target_tps(game_.engine(), 0);
        sotto_engine_set_mode(game_.engine(), SOTTO_MODE_PRIORITIZE_COMPUTE);
        for (const auto request : asked_) {
            sotto_engine_set_request_tps(game_.engine(), request, 1000);
        }
        for (const auto request : asked_) {
            check(game_.finish(request), cancelled_.count(request) != 0);
        }
        CHECK(game_.all().size() == counted_);
        sotto_stats stats = SOTTO_INIT(sotto_stats);
        CHECK(game_.until([&] {
            sotto_engine_stats(game_.engine(), &stats);
            return stats.live == 0 && stats.finished + stats.cancelled == asked_.size() + 9;
        }));
    }

private:
    static sotto_engine_desc desc(const std::filesystem::path& recording) {
        auto desc = plain_desc();
        desc.trace_capacity = 64;
        desc.record_path = str(recording.native());
        return desc;
    }

    void load_adapter(const std::string& model, const char* name) {
        auto desc = SOTTO_INIT(sotto_adapter_desc);
        desc.model = str(model);
        desc.name = desc.path = str(name);
        sotto_request request = 0;
        REQUIRE(sotto_engine_load_adapter(game_.engine(), &desc, &request) == SOTTO_OK);
        REQUIRE(done(game_.finish(request)).status == SOTTO_OK);
    }

    sotto_request any() { return asked_[random_() % asked_.size()]; }

    void ask() {
        const char* models[] = {"a", "b", "c"};
        const char* adapters[] = {
            "", R"(, "lora": [{"name": "x"}])", R"(, "lora": [{"name": "y", "scale": 2}])"
        };
        asked_.push_back(game_.ask(
            models[random_() % 3],
            "hi",
            {.more = adapters[random_() % 3],
             .tps = random_() % 3 == 0 ? static_cast<float>(1 + random_() % 500) : 0,
             .priority = static_cast<sotto_priority>(random_() % 3) - 1,
             .deadline_ns = random_() % 4 == 0 ? random_() : 0}
        ));
    }

    void cancel() {
        if (!asked_.empty()) {
            const auto request = any();
            cancelled_[request] = true;
            game_.cancel(request);
        }
    }

    void frame() {
        auto begin = SOTTO_INIT(sotto_frame_begin_desc);
        begin.period_ns = 4'000'000;
        begin.busy_cores = 1 + random_() % 4;
        sotto_engine_frame_begin(game_.engine(), &begin);
        auto end = SOTTO_INIT(sotto_frame_end_desc);
        end.busy_ms = static_cast<float>(random_() % 8);
        sotto_engine_frame_end(game_.engine(), random_() % 2 == 0 ? nullptr : &end);
    }

    void check(const History& history, bool cancelled) {
        counted_ += history.size();
        const auto text = said(history);
        CHECK(count(history, SOTTO_EVENT_REQUEST_DONE) == 1);
        CHECK(
            history.front().kind == (text.empty() && cancelled ? history.front().kind : SOTTO_EVENT_ACCEPTED)
        );
        CHECK(all_tokens().substr(0, text.size()) == text); // in order, each once
        const auto status = done(history).status;
        CHECK((status == SOTTO_OK || (cancelled && status == SOTTO_ERROR_CANCELLED)));
        if (status == SOTTO_OK) {
            CHECK(text == all_tokens());
            CHECK(done(history).tokens == kTokens);
            CHECK(count(history, SOTTO_EVENT_CHOICE_DONE) == 1);
        }
        std::uint32_t tokens = 0;
        for (const auto& event : history) {
            CHECK((event.kind != SOTTO_EVENT_TEXT || event.tokens > tokens));
            tokens = event.kind == SOTTO_EVENT_TEXT ? event.tokens : tokens;
        }
    }

    std::mt19937 random_;
    const std::filesystem::path recording_ =
        std::filesystem::temp_directory_path() / ("sotto_property_test_" + std::to_string(getpid()));
    Game game_;
    std::vector<sotto_request> asked_;
    std::map<sotto_request, bool> cancelled_;
    std::size_t counted_ = 0; // number of events
};

} // namespace

TEST_CASE("random requests lose, duplicate or reorder no event") {
    for (unsigned seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        Run run(seed);
        for (int i = 0; i < 300; ++i) {
            run.operate();
        }
        run.settle();
        run.replay();
    }
}
