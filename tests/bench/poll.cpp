// What a frame pays for asking an engine: nanoseconds of each call, as one JSON object on stdout.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <sotto/sotto.h>

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point began) {
    return std::chrono::duration<double, std::nano>(Clock::now() - began).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The median over many runs of what one of `calls` calls takes.
template <typename Call>
double cost(int calls, Call&& call) {
    constexpr int kRuns = 201;
    std::vector<double> runs;
    for (int run = 0; run < kRuns; ++run) {
        const auto began = Clock::now();
        for (int i = 0; i < calls; ++i) {
            call();
        }
        runs.push_back(nanoseconds_since(began) / calls);
    }
    return median(runs);
}

double create_and_close() {
    constexpr int kRuns = 21;
    std::vector<double> runs;
    for (int run = 0; run < kRuns; ++run) {
        const auto began = Clock::now();
        sotto_engine* engine = nullptr;
        if (sotto_engine_create(nullptr, &engine) < 0) {
            return -1;
        }
        sotto_engine_destroy(engine);
        runs.push_back(nanoseconds_since(began));
    }
    return median(runs);
}

} // namespace

int main() {
    constexpr int kCalls = 1000;
    constexpr int kSubmits = 10;
    sotto_engine* engine = nullptr;
    if (sotto_engine_create(nullptr, &engine) < 0) {
        return 1;
    }
    auto event = SOTTO_INIT(sotto_event);
    auto frame = SOTTO_INIT(sotto_frame_begin_desc);
    frame.busy_cores = 1;
    const double poll = cost(kCalls, [&] { sotto_engine_next_event(engine, &event); });
    const double begin = cost(kCalls, [&] { sotto_engine_frame_begin(engine, &frame); });
    const double end = cost(kCalls, [&] { sotto_engine_frame_end(engine, nullptr); });

    auto ask = SOTTO_INIT(sotto_request_desc);
    ask.op = SOTTO_OP_CHAT;
    ask.body = {
        R"({"model": "none", "messages": [{"role": "user", "content": "Who guards the gate?"}]})", SOTTO_NUL
    };
    sotto_request request = 0;
    const double submit = cost(kSubmits, [&] { sotto_engine_submit(engine, &ask, &request); });
    sotto_engine_destroy(engine);

    std::printf(
        R"({"poll_ns": %.2f, "frame_ns": %.2f, "submit_ns": %.2f, "create_close_ns": %.0f})"
        "\n",
        poll,
        std::max(begin, end),
        submit,
        create_and_close()
    );
}
