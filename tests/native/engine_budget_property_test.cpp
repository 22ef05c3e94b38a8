// Random workloads under a changing budget: the budget is never exceeded, each request ends, running answers
// succeed, and no memory stays charged.
#include <chrono>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/folder.hpp"

using namespace test;

namespace {

constexpr int kTokens = 12;
constexpr int kOperations = 300;
const char* const kModels[] = {"a", "b", "c"};

std::string all_tokens() {
    std::string all;
    for (int i = 0; i < kTokens; ++i) {
        all += std::to_string(i) + ",";
    }
    return all;
}

std::string model(std::mt19937& random) {
    const auto below = [&](unsigned count) { return static_cast<std::uint32_t>(random() % count); };
    const auto one_of = [&](std::vector<std::string> all) { return all[random() % all.size()]; };
    std::string tokens;
    for (int i = 0; i < kTokens; ++i) {
        tokens += (i == 0 ? "\"" : ", \"") + std::to_string(i) + ",\"";
    }
    const auto gives = one_of(
        {"[]",
         R"(["places"])",
         R"(["places", "kv"])",
         R"(["streams"])",
         R"(["places", "kv", "streams", "tokens"])"}
    );
    return script(
        {.weights = 5 + below(20),
         .place = 1 + below(8),
         .compute = below(3),
         .streams = 1 + below(5),
         .gives = gives,
         .more = R"(, "tokens": [)" + tokens + R"(], "prompt_tokens": )" + std::to_string(1 + below(100)) +
                 R"(, "token_ms": 0.)" + std::to_string(below(10)) + R"(, "unpark_tokens": )" +
                 std::to_string(below(20)) + R"(, "load_ms": )" + std::to_string(below(4)) +
                 (below(4) == 0 ? "" : R"(, "parkable": true)") +
                 (below(3) == 0 ? "" : R"(, "fingerprint": "{\"model\": \"of this test\"}")") +
                 R"(, "state": ")" + std::string(below(40'000), 's') + "\""}
    );
}

// One run: its requests, and their permitted outcomes.
class Run {
public:
    explicit Run(unsigned seed)
        : random_(seed), tight_(100, scripted(), {folder_.text(), 1 + random_() % 100'000}) {
        for (const char* id : kModels) {
            scripts_[id] = model(random_);
            load(id);
            tight_.game.finish(loads_.back());
        }
    }

    void operate() {
        switch (random_() % 20) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            return ask();
        case 5:
            return cancel();
        case 6:
        case 7:
            tight_.set(budget());
            return look(); // in one place, so that budget and usage are compared consistently
        case 8:
        case 9:
            return load(any_model());
        case 10:
            return unload(any_model());
        case 11:
            return look();
        default:
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            tight_.game.drain();
        }
    }

    // Lets all requests end by removing the budget. Returns the number of answered ones.
    int settle() {
        tight_.set(0);
        look();
        for (const auto& one : asked_) {
            CAPTURE(one.second.model);
            check(tight_.game.finish(one.first), one.second);
        }
        for (const auto request : loads_) {
            const auto& last = done(tight_.game.finish(request));
            CHECK_MESSAGE(
                (last.status == SOTTO_OK || last.status == SOTTO_ERROR_BUDGET ||
                 last.status == SOTTO_ERROR_CANCELLED),
                last.error
            );
            CHECK_MESSAGE((last.status != SOTTO_ERROR_BUDGET || says_why(last.error)), last.error);
        }
        for (const auto request : unloads_) {
            const auto status = done(tight_.game.finish(request)).status;
            CHECK((status == SOTTO_OK || status == SOTTO_ERROR_NOT_FOUND));
        }
        look();
        const auto told = tight_.memory();
        CHECK(told["parked"] == Json{{"count", 0}, {"memory", 0}, {"disk", 0}});
        for (const char* id : kModels) { // checks that all models answer
            tight_.game.have(id, scripts_[id]);
            CHECK(said(tight_.game.finish(tight_.game.ask(id, "hi"))) == all_tokens());
        }
        MESSAGE(asked_.size(), " asked, ", begun_, " of them began");
        CHECK(begun_ > 0); // at least some answers have started
        return begun_;
    }

private:
    struct Wish {
        std::string model;
        bool cancelled = false;
        std::size_t unloads = 0; // unloads of its model before the request
    };

    std::string any_model() { return kModels[random_() % 3]; }

    std::uint64_t budget() {
        switch (random_() % 10) {
        case 0:
            return 0;
        case 1:
            return 1;
        case 2:
            return 1 << 24; // MB, more than any machine has
        default:
            return 20 + random_() % 100;
        }
    }

    void ask() {
        const char* how[] = {
            "", R"(, "on_budget": "wait")", R"(, "on_budget": "fail")", R"(, "on_budget": "shrink")"
        };
        const auto id = any_model();
        const auto request = tight_.game.ask(
            id, "hi", {.more = how[random_() % 4], .priority = static_cast<sotto_priority>(random_() % 3) - 1}
        );
        asked_[request] = {id, false, unloaded_[id]};
    }

    void cancel() {
        if (!asked_.empty()) {
            auto& one = *std::next(asked_.begin(), static_cast<long>(random_() % asked_.size()));
            one.second.cancelled = true;
            tight_.game.cancel(one.first);
        }
    }

    void load(const std::string& id) { loads_.push_back(tight_.game.load(id, scripts_[id])); }

    void unload(const std::string& id) {
        ++unloaded_[id];
        unloads_.push_back(tight_.game.unload(id));
    }

    // Checks that memory in use is within the budget and equals the sum of the reported parts.
    void look() {
        const auto told = tight_.memory();
        const std::uint64_t budget = told["budget"];
        const std::uint64_t used = told["used"];
        const bool grew = budget == looked_.budget && used > looked_.used;
        CHECK((!grew || budget == 0 || used <= budget));
        CHECK(told["peak"] >= used);
        looked_ = {budget, used};
    }

    void check(const History& history, const Wish& wish) {
        const auto& last = done(history);
        const auto text = said(history);
        CHECK(count(history, SOTTO_EVENT_REQUEST_DONE) == 1);
        CHECK(all_tokens().substr(0, text.size()) == text);
        const bool unloaded = unloaded_[wish.model] > wish.unloads;
        begun_ += text.empty() ? 0 : 1;
        switch (last.status) {
        case SOTTO_OK:
            CHECK(text == all_tokens());
            break;
        case SOTTO_ERROR_CANCELLED:
            CHECK_MESSAGE((wish.cancelled || unloaded), last.error);
            break;
        case SOTTO_ERROR_NOT_FOUND: // never loaded, or unloaded
            CHECK(text.empty());
            break;
        case SOTTO_ERROR_BUDGET:
            CHECK_MESSAGE(text.empty(), "it had begun: " << last.error);
            CHECK_MESSAGE(says_why(last.error), last.error);
            break;
        default:
            FAIL_CHECK(last.error);
        }
    }

    struct Look {
        std::uint64_t budget = 0;
        std::uint64_t used = 0;
    };

    std::mt19937 random_;
    const Folder folder_;
    std::map<std::string, std::string> scripts_; // keyed by model
    std::map<std::string, std::size_t> unloaded_;
    std::map<sotto_request, Wish> asked_;
    std::vector<sotto_request> loads_, unloads_;
    Look looked_;
    int begun_ = 0;
    Tight tight_;
};

} // namespace

TEST_CASE("random requests never exceed the budget, and no running answer is cut off") {
    int begun = 0;
    for (unsigned seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        Run run(seed);
        for (int i = 0; i < kOperations; ++i) {
            run.operate();
        }
        begun += run.settle();
    }
    CHECK(begun > 100);
}
