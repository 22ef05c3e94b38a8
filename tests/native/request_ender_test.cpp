// How requests end, and which models are idle then, without an engine.
#include "core/control/request_ender.hpp"

#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "core/control/idle_models.hpp"
#include "support/manual_clock.hpp"
#include "support/reply.hpp"

using sotto::ModelEntry;
using sotto::Stream;

namespace {

class Requests {
public:
    Requests() : entry(add_model()) {}

    // A request for `answers` streams of a model, which have slots.
    std::shared_ptr<sotto::Reply> ask(ModelEntry& model, std::uint32_t answers = 1) {
        sotto::ParsedRequest prompted;
        prompted.answers = answers;
        auto reply = test::reply_in(table_, {}, clock_.now(), std::move(prompted));
        reply->slot.has_several = answers > 1;
        streams.reserve(answers);
        model.slots.closing.reserve(8);
        for (std::uint32_t i = 0; i < answers; ++i) {
            auto stream = std::make_unique<Stream>(reply, i, model, streams.next_number(), clock_.now());
            stream->handle = this;
            stream->state = Stream::State::speaking;
            ++model.open_streams;
            ++model.requests.streams;
            auto& added = streams.add(std::move(stream));
            reply->slot.stream = answers == 1 ? &added : nullptr;
        }
        return reply;
    }
    ModelEntry& add_model() {
        auto model = std::make_unique<ModelEntry>(sotto::Submission{});
        model->state = ModelEntry::State::ready;
        model->traits.streams = 0; // or its backend is asked
        registry_.reserve();
        registry_.add(std::move(model));
        return *registry_.entries().back();
    }
    // Has the streams that ended closed and freed.
    void close() {
        for (const auto& model : registry_.entries()) {
            model->open_streams -= static_cast<std::uint32_t>(model->slots.closing.size());
            model->slots.closing.clear();
        }
        streams.sweep([](Stream& stream) { --stream.entry.requests.streams; });
    }

private:
    test::ManualClock clock_;
    sotto::Hooks hooks_;
    sotto::Settings settings_;
    sotto::Frames frames_;
    sotto::Signal wake_;
    sotto::Ledger ledger_;
    sotto::KvStateStore parking_{ledger_, {}, 0, hooks_};
    sotto::RequestTable table_;
    sotto::EventQueue queue_;
    sotto::Meter meter_;
    sotto::EventSender sender_{table_, queue_, meter_, clock_};
    sotto::Registry registry_;
    sotto::Scheduler scheduler_;
    sotto::DeviceMoves moves_{wake_};
    sotto::PreparingThreads threads_{hooks_, wake_};
    sotto::Compute compute_{hooks_, clock_, frames_, parking_, ledger_, wake_};
    sotto::ThreadClassPolicy classes_{hooks_, settings_, frames_, clock_, moves_, wake_};
    sotto::StepRunner runner_{compute_, classes_, settings_, clock_};
    sotto::StreamPreparer preparer_{threads_, scheduler_, settings_, clock_};

public:
    sotto::StreamTable streams;
    sotto::SlotPins pins{settings_, registry_, streams, scheduler_};
    sotto::RequestEnder ender{streams, scheduler_, preparer_, pins, runner_, sender_};
    sotto::IdleModels idle{registry_, runner_};
    ModelEntry& entry;
};

} // namespace

TEST_CASE("a request that fails ends all of its streams, and their slots are closed") {
    Requests all;
    const auto reply = all.ask(all.entry, 2);
    all.ender.fail(*all.streams.all()[0], SOTTO_ERROR_CANCELLED, "cancelled");
    CHECK(reply->over);
    CHECK(all.entry.slots.closing.size() == 2);
    CHECK(all.streams.has_ended());
    all.ender.fail(*all.streams.all()[1], SOTTO_ERROR_CANCELLED, "cancelled"); // it is over
    CHECK(all.entry.slots.closing.size() == 2);
    all.close();
    CHECK(all.streams.is_empty());
}

TEST_CASE("the requests of one model end without those of another") {
    Requests all;
    auto& other = all.add_model();
    all.ask(all.entry);
    const auto stays = all.ask(other);
    CHECK(all.ender.fail_all(all.entry, SOTTO_ERROR_DEVICE, "lost"));
    CHECK_FALSE(all.ender.fail_all(all.entry, SOTTO_ERROR_DEVICE, "lost"));
    CHECK_FALSE(stays->over);
    CHECK(other.slots.closing.empty());
}

TEST_CASE("a stream that a job has is closed once the job gives it back") {
    Requests all;
    all.ask(all.entry);
    auto& stream = *all.streams.all()[0];
    stream.busy = true;
    all.ender.fail(stream, SOTTO_ERROR_CANCELLED, "cancelled");
    CHECK(all.entry.slots.closing.empty());
    stream.busy = false;
    all.ender.release(stream);
    CHECK(all.entry.slots.closing.size() == 1);
}

TEST_CASE("a stream that ends while it is parked counts as open until it is closed") {
    Requests all;
    all.ask(all.entry);
    auto& stream = *all.streams.all()[0];
    --all.entry.open_streams; // as a job that parks it does
    all.ender.parked(stream);
    CHECK(stream.state == Stream::State::parked);
    all.ender.fail(stream, SOTTO_ERROR_CANCELLED, "cancelled");
    CHECK(all.entry.open_streams == 1);
    CHECK(all.entry.slots.closing.size() == 1);
}

TEST_CASE("a model is idle once its streams are closed, and the one used last is found last") {
    Requests all;
    auto& other = all.add_model();
    all.entry.requests.used_at = 1;
    other.requests.used_at = 2;
    CHECK(all.idle.least_recently_used(nullptr) == &all.entry);
    CHECK(all.idle.least_recently_used(&all.entry) == &other);
    all.ask(all.entry);
    CHECK(sotto::is_in_use(all.entry));
    CHECK(all.idle.least_recently_used(nullptr) == &other);
    all.ender.fail_all(all.entry, SOTTO_ERROR_CANCELLED, "cancelled");
    CHECK_FALSE(all.idle.is_idle(all.entry));
    all.close();
    CHECK(all.idle.is_idle(all.entry));
    CHECK(all.idle.bytes(nullptr) == 0);
}
