// How things are in the double, and how tests steer it.
#include "state.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "double.hpp"

extern "C" void sotto_double_driver(long branch); // of the double of NVML: ../nvml/version.c

namespace sotto_double {

constexpr long kAsOnWindows = 2;

Double::Double() {
    reset(false);
    if (const char* text = std::getenv("SOTTO_DOUBLE_FAIL")) {
        char name[64] = {};
        long ordinal = 0;
        int result = 0;
        if (std::sscanf(text, "%63[^:]:%ld:%d", name, &ordinal, &result) == 3) {
            faults.push_back({name, ordinal, result});
        }
    }
}

void Double::reset(bool windows) {
    settings = {
        {"cards", 2},
        {"version", 13000},
        {"d3d12", 1},
        {"vulkan", 1},
        {"luids", windows ? 1 : 0},
        {"capability", 89},
        {"driver", 580},
        {"enabled", 1},
        {"per_queue", 1},
        {"limits", 1}
    };
    sotto_double_driver(settings["driver"]);
    faults.clear();
    calls.clear();
    misuses.clear();
    all_calls = failures = 0;
}

namespace {
// What a thread does with its own stack, and giving a context back, needs no device.
bool needs_a_device(const std::string& call) {
    return call != "cuCtxPopCurrent_v2" && call != "cuCtxSetCurrent" && call != "cuCtxDestroy_v2";
}
} // namespace

Result Double::begin(const char* call) {
    ++calls[call];
    ++all_calls;
    Result result = initialized || std::strcmp(call, "cuInit") == 0 ? kSuccess : kNotInitialized;
    if (settings["lost"] != 0 && needs_a_device(call)) {
        result = kLaunchFailed;
    }
    for (auto& fault : faults) {
        if ((fault.call == "*" || fault.call == call) && fault.left > 0 && --fault.left == 0) {
            ++failures;
            result = fault.result;
        }
    }
    return result;
}

Double& it() {
    static auto* one = new Double;
    return *one;
}

namespace {
thread_local std::vector<Context> stack;
}

Context top() {
    return stack.empty() ? nullptr : stack.back();
}

std::size_t depth() {
    return stack.size();
}

void enter(Context context) {
    stack.push_back(context);
    ++it().current[context];
}

void leave() {
    --it().current[stack.back()];
    stack.pop_back();
}

namespace {

// Told when the process ends.
struct AtExit {
    AtExit() { it(); }
    ~AtExit() {
        auto& d = it();
        const std::lock_guard lock(d.mutex);
        for (const auto& [context, what] : d.contexts) {
            if (!what.hosts) {
                d.misuse("a context was left behind");
            }
        }
        for (const auto& one : d.misuses) {
            std::fprintf(stderr, "the double of the CUDA driver: %s\n", one.c_str());
        }
        if (!d.misuses.empty()) {
            _exit(70);
        }
    }
} at_exit;

} // namespace
} // namespace sotto_double

using namespace sotto_double;

extern "C" {

void sotto_double_set(const char* what, long value) {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    if (std::strcmp(what, "reset") == 0) {
        d.reset(value == kAsOnWindows);
    } else if (std::strcmp(what, "forgive") == 0) {
        d.faults.clear();
    } else {
        d.settings[what] = value;
        sotto_double_driver(d.settings["driver"]);
    }
}

void sotto_double_fail(const char* call, long ordinal, int result) {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    d.faults.push_back({call, ordinal, result});
}

long sotto_double_get(const char* what) {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    const std::string asked = what;
    if (asked == "contexts") {
        return std::count_if(d.contexts.begin(), d.contexts.end(), [](const auto& one) {
            return !one.second.hosts;
        });
    }
    if (asked == "cig") {
        return std::count_if(d.contexts.begin(), d.contexts.end(), [](const auto& one) {
            return one.second.cig;
        });
    }
    if (asked == "streams") {
        return static_cast<long>(d.streams.size());
    }
    if (asked == "current") {
        return top() != nullptr ? 1 : 0;
    }
    if (asked == "depth") {
        return static_cast<long>(depth());
    }
    if (asked == "calls") {
        return d.all_calls;
    }
    if (asked == "failures") {
        return d.failures;
    }
    return static_cast<long>(d.misuses.size());
}

long sotto_double_calls(const char* call) {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    return d.calls[call];
}

const char* sotto_double_misuses() {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    d.misuses_told.clear();
    for (const auto& one : d.misuses) {
        d.misuses_told += one + "\n";
    }
    return d.misuses_told.c_str();
}

void* sotto_double_context(int card, int cig) {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    auto* context = d.fresh<Context>();
    d.contexts[context] = {card, cig != 0, nullptr, true, {}};
    return context;
}

void sotto_double_context_gone(void* context) {
    auto& d = it();
    const std::lock_guard lock(d.mutex);
    d.contexts.erase(static_cast<Context>(context));
}

} // extern "C"
