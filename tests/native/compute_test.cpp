// The compute thread, and the order of jobs on it.
#include "core/control/compute.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/reply.hpp"
#include "support/tapped_backend.hpp"

using sotto::Compute;
using sotto::Job;
using sotto::ModelEntry;
using sotto::Stream;

namespace {

constexpr std::int64_t kNow = 1'000'000'000;

std::int32_t SOTTO_CALL go_on(void* /*context*/, float /*progress*/) {
    return 0;
}

// A compute thread, one model, and one admitted stream.
class World {
public:
    explicit World(
        const std::string& script,
        std::uint32_t max_tokens = 100,
        const sotto_backend& backend = test::scripted()
    )
        : backend_(backend) {
        sotto_model_source source{};
        source.struct_size = sizeof source;
        source.path = test::str("a path");
        source.options = test::str(script);
        source.progress = go_on;
        entry_.model = std::make_unique<sotto::Model>(backend_, source);
        compute.prepare(sotto::ThreadClass::normal);
        sotto::ParsedRequest prompted;
        prompted.max_tokens = max_tokens;
        stream_ = std::make_unique<Stream>(
            test::reply_in(table_, {}, kNow, std::move(prompted)), 0, entry_, 1, kNow
        );
        const std::string body = test::chat("m", "hello");
        const auto info = entry_.model->open_stream(SOTTO_OP_CHAT, body, 0);
        stream_->handle = info.stream;
        stream_->opened(info, kNow);
    }
    ~World() { entry_.model->close_stream(stream_->handle); }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    std::unique_ptr<Job> step() {
        auto job = std::make_unique<Job>();
        sotto_step_item work{};
        work.struct_size = sizeof work;
        work.tokens = 8;
        work.stream = stream_->handle;
        job->entry = &entry_;
        job->streams.push_back(stream_.get());
        job->what =
            sotto::StepJob{{work}, std::vector<sotto::AnswerIncrement>(1), std::vector<sotto::Failure>(1)};
        return job;
    }

    void wait(const Job& job) {
        for (;;) {
            const auto seen = finished_.value();
            if (job.done.load()) {
                return;
            }
            finished_.wait(seen, -1);
        }
    }

    // Runs a step with a follow-up step. Returns true if the follow-up ran.
    bool follows(const std::unique_ptr<Job>& first, const std::unique_ptr<Job>& next) {
        compute.follow_with(*next);
        compute.start(*first);
        wait(*first);
        if (first->followed) {
            wait(*next);
        }
        return first->followed;
    }

private:
    sotto::Hooks hooks_;
    sotto::Signal finished_;
    sotto::Frames frames_;
    sotto::Ledger ledger_;
    sotto::KvStateStore parking_{ledger_, {}, 0, hooks_};
    sotto::Backend backend_;
    sotto::RequestTable table_;
    ModelEntry entry_{sotto::Submission{}};
    std::unique_ptr<Stream> stream_;

public:
    // last member: its thread ends first
    Compute compute{hooks_, sotto::system_clock(), frames_, parking_, ledger_, finished_};
};

const sotto::StepJob& step_of(const Job& job) {
    return std::get<sotto::StepJob>(job.what);
}

std::string text(const Job& job) {
    std::string all;
    for (const auto& delta : step_of(job).increment.front().deltas) {
        all += delta.text;
    }
    return all;
}

} // namespace

TEST_CASE("a decode step is followed by the next one without the control thread") {
    World world(R"({"tokens": ["a", "b", "c"], "prompt_tokens": 1})");
    const auto prompt = world.step();
    const auto second = world.step();
    REQUIRE(world.follows(prompt, second));
    CHECK(text(*prompt) == "a");
    CHECK(text(*second) == "b");
    CHECK_FALSE(second->followed);
    CHECK_FALSE(world.compute.hold_back(*second));
}

TEST_CASE("no step follows the end of an answer") {
    World world(R"({"tokens": ["a", "b", "c"], "prompt_tokens": 1})", 1);
    const auto last = world.step();
    const auto next = world.step();
    CHECK_FALSE(world.follows(last, next));
    CHECK(step_of(*last).increment.front().last);
    CHECK(world.compute.hold_back(*next));
    CHECK_FALSE(next->done.load());
}

TEST_CASE("no step follows a part of a prefill, or a job that was asked to stop") {
    World world(R"({"tokens": ["a", "b"], "prompt_tokens": 20})");
    const auto next = world.step();
    const auto part = world.step();
    CHECK_FALSE(world.follows(part, next));
    CHECK(world.compute.hold_back(*next));
    CHECK(step_of(*part).work.front().remaining == 12);

    const auto unwanted = world.step();
    unwanted->abort = true;
    CHECK_FALSE(world.follows(unwanted, next));
    CHECK(world.compute.hold_back(*next));
}

TEST_CASE("no step follows a failed item or a failed step") {
    for (const auto* how : {"fail_at", "fail_step"}) {
        World world(R"({"tokens": ["a", "b"], "prompt_tokens": 1, ")" + std::string(how) + R"(": 0})");
        const auto failed = world.step();
        const auto next = world.step();
        CHECK_FALSE(world.follows(failed, next));
        CHECK(world.compute.hold_back(*next));
        CHECK((failed->failure || step_of(*failed).failures.front()));
    }
}

TEST_CASE("a job that is held back does not start") {
    test::Held held;
    World world(R"({"tokens": ["a", "b", "c"], "prompt_tokens": 1})", 100, held.backend.table());
    held.gate.shut();
    const auto first = world.step();
    const auto next = world.step();
    world.compute.start(*first);
    world.compute.follow_with(*next);
    CHECK(world.compute.hold_back(*next));
    held.gate.open();
    world.wait(*first);
    CHECK_FALSE(first->followed);
    CHECK_FALSE(next->done.load());
}
