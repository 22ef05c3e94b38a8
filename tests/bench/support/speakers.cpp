#include "support/speakers.hpp"

#include <thread>

namespace bench {

Speakers::Speakers(
    Engine& engine, const Words& words, std::uint32_t streams, std::uint32_t prompt, std::uint32_t context
)
    : engine_(engine), words_(words), prompt_(prompt), tokens_(context - prompt - 1), streams_(streams) {}

void Speakers::start() {
    for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
        engine_.submit(
            {.prompt = words_.sentence(prompt_, kind_of(stream, 0)),
             .tokens = tokens_,
             .remember = false,
             .flags = 0,
             .user = stream}
        );
    }
    next_ = Clock::now();
}

void Speakers::listen(double seconds) {
    const auto end = after(Clock::now(), seconds);
    while (Clock::now() < end) {
        hear();
    }
}

void Speakers::listen_until(sotto_request request) {
    auto event = SOTTO_INIT(sotto_event);
    for (;;) {
        hear();
        while (sotto_engine_wait_request_event(engine_.get(), request, 0, &event) == SOTTO_OK) {
            if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
                check(event.status);
                return;
            }
        }
    }
}

void Speakers::hear() {
    constexpr std::chrono::milliseconds kOften{1};
    next_ = std::max(next_ + kOften, Clock::now());
    std::this_thread::sleep_until(next_);
    auto event = SOTTO_INIT(sotto_event);
    while (sotto_engine_next_event(engine_.get(), &event) == SOTTO_OK) {
        auto& stream = streams_[event.user];
        if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
            die(event.status < 0 ? std::string(event.error.data, event.error.size)
                                 : format("stream %u had nothing left to say", unsigned(event.user)));
        }
        if (event.tokens > (stream.tokens.empty() ? 0 : stream.tokens.back())) {
            stream.at_ns.push_back(nanoseconds(Clock::now()));
            stream.tokens.push_back(event.tokens);
        }
    }
}

std::string Speakers::told() const {
    std::string all;
    for (const auto& stream : streams_) {
        all += format(
            R"(%s{"at_ns": %s, "tokens": %s})",
            all.empty() ? "" : ", ",
            array(stream.at_ns).c_str(),
            array(stream.tokens).c_str()
        );
    }
    return all;
}

} // namespace bench
