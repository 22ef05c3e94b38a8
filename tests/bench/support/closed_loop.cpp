#include "support/closed_loop.hpp"

#include <thread>

namespace bench {

ClosedLoop::ClosedLoop(Engine& engine, const Words& words, const Wanted& wanted)
    : engine_(engine), words_(words), wanted_(wanted), before_(engine.tokens_before_prompts(words, true)),
      streams_(wanted.streams) {}

void ClosedLoop::start() {
    for (std::uint32_t stream = 0; stream < wanted_.streams; ++stream) {
        ask(stream);
    }
}

void ClosedLoop::ask(std::uint32_t stream) {
    const auto answer = streams_[stream].asked++;
    engine_.submit(
        {.prompt = words_.sentence(wanted_.prompt - before_, kind_of(stream, answer)),
         .tokens = length_of(stream, wanted_.streams, answer, wanted_.tokens),
         .remember = false,
         .flags = 0,
         .user = stream}
    );
}

void ClosedLoop::drain() {
    auto event = SOTTO_INIT(sotto_event);
    while (sotto_engine_next_event(engine_.get(), &event) == SOTTO_OK) {
        auto& stream = streams_[event.user];
        if (event.tokens > stream.saying) {
            stream.saying = event.tokens;
        }
        if (event.kind != SOTTO_EVENT_REQUEST_DONE) {
            continue;
        }
        if (event.status < 0) {
            die(std::string(event.error.data, event.error.size));
        }
        stream.said += stream.saying;
        stream.saying = 0;
        ++answers_;
        ask(static_cast<std::uint32_t>(event.user));
    }
}

void ClosedLoop::drain_for(double seconds) {
    constexpr std::chrono::milliseconds kOften{5};
    const auto end = after(Clock::now(), seconds);
    while (Clock::now() < end) {
        drain();
        std::this_thread::sleep_for(kOften);
    }
    drain();
}

std::uint64_t ClosedLoop::tokens() const {
    std::uint64_t all = 0;
    for (const auto& stream : streams_) {
        all += stream.said + stream.saying;
    }
    return all;
}

std::vector<std::uint64_t> ClosedLoop::tokens_each() const {
    std::vector<std::uint64_t> each;
    for (const auto& stream : streams_) {
        each.push_back(stream.said + stream.saying);
    }
    return each;
}

} // namespace bench
