// In which order requests go on that are read on preparing threads.
#include "core/control/incoming_requests.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "support/control_world.hpp"

using sotto::Incoming;
using sotto::Slot;

namespace {

class Intake {
public:
    std::unique_ptr<Incoming> add(Slot& slot, const std::string& body) {
        slot.submission.op = SOTTO_OP_CHAT;
        slot.submission.body = sotto::PageString(body.begin(), body.end());
        return requests.add(slot);
    }
    std::unique_ptr<Incoming> wait() {
        for (;;) {
            const auto seen = wake_.value();
            requests.start_reading();
            if (auto done = requests.take_done()) {
                return done;
            }
            wake_.wait(seen, -1);
        }
    }

private:
    test::ControlWorld all_;
    sotto::Signal wake_;
    sotto::PreparingThreads threads_{all_.hooks, wake_};
    sotto::GuardChecks checks_{all_.world, [](sotto::Slot&) {}, [](sotto::Slot&) {}};

public:
    sotto::IncomingRequests requests{threads_, all_.settings, checks_, wake_};
};

std::string chat(const std::string& session, std::size_t size = 1) {
    return R"({"session": ")" + session + R"(", "messages": [{"role": "user", "content": ")" +
           std::string(size, 'a') + R"("}]})";
}

constexpr std::size_t kLarge = 2 * sotto::kLargeBody;

} // namespace

TEST_CASE("a small request goes on at once, and what is malformed is refused") {
    Intake intake;
    Slot slot;
    const auto read = intake.add(slot, chat("a"));
    REQUIRE(read != nullptr);
    CHECK(read->parsed.session.id == "a");
    CHECK_THROWS_AS(intake.add(slot, "{"), sotto::Error);
    CHECK(intake.requests.is_empty());
}

TEST_CASE("a small request overtakes a large one of another session, not of its own") {
    Intake intake;
    Slot large;
    Slot same;
    Slot other;
    CHECK(intake.add(large, chat("a", kLarge)) == nullptr);
    CHECK(intake.add(same, chat("a")) == nullptr);
    CHECK(intake.requests.take_done() == nullptr); // what the large one names is not known yet
    CHECK(intake.wait()->slot == &large);
    CHECK(intake.wait()->slot == &same);
    CHECK(intake.add(large, chat("a", kLarge)) == nullptr);
    CHECK(intake.add(other, R"({"model": "m", "messages": [{"role": "user", "content": "hi"}]})") == nullptr);
    CHECK(intake.requests.take_done()->slot == &other); // it names no session
    CHECK(intake.wait()->slot == &large);
}

TEST_CASE("a dropped request holds no other, and is taken once it is not read any more") {
    Intake intake;
    Slot large;
    Slot same;
    CHECK(intake.add(large, chat("a", kLarge)) == nullptr);
    CHECK(intake.add(same, chat("a")) == nullptr);
    CHECK(intake.requests.drop(large));
    CHECK_FALSE(intake.requests.drop(large));
    CHECK(intake.wait()->slot == nullptr);
    CHECK(intake.wait()->slot == &same);
    CHECK(intake.requests.drop_oldest() == nullptr);
}
