// What the double of the CUDA driver knows: cards, contexts, who has which, and what went wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gpu/cuda_api.hpp"

namespace sotto_double {

using namespace sotto::gpu::cuda;

constexpr Result kOutOfMemory = 2;
constexpr Result kNotInitialized = 3;
constexpr Result kInvalidDevice = 101;
constexpr Result kInvalidContext = 201;
constexpr Result kInvalidHandle = 400;
constexpr Result kLaunchFailed = 719;
constexpr Result kNotSupported = 801;
constexpr Result kUnsupportedLimit = 215;

// Attributes of a card that the CUDA module asks for.
constexpr int kIntegrated = 18;
constexpr int kReservedMemory = 111; // of each block's, in bytes

struct ContextMade {
    Device card = 0;
    bool cig = false;
    void* queue = nullptr;
    bool hosts = false;
    std::set<Stream> streams;
};

struct Fault {
    std::string call;
    long left = 0;
    Result result = 0;
};

class Double {
public:
    Double();

    // Guards all of it.
    std::mutex mutex;
    std::map<std::string, long> settings;
    std::map<Context, ContextMade> contexts;
    std::map<Stream, int> streams;  // and their priorities
    std::map<Context, int> current; // on how many stacks, and how often
    std::vector<Fault> faults;
    std::map<std::string, long> calls;
    std::vector<std::string> misuses;
    std::string misuses_told;
    long all_calls = 0;
    long failures = 0;
    std::uintptr_t made = 0x1000;
    bool initialized = false;

    // `windows`: cards have LUIDs.
    void reset(bool windows);
    // What a call comes to before it does anything.
    Result begin(const char* call);
    void misuse(const std::string& what) { misuses.push_back(what); }
    bool is_card(Device card) { return card >= 0 && card < settings["cards"]; }
    template <typename Handle>
    Handle fresh() {
        made += 0x10;
        return reinterpret_cast<Handle>(made);
    }
};

Double& it();

// The calling thread's current contexts, the topmost last.
Context top();
std::size_t depth();
void enter(Context context);
void leave();

} // namespace sotto_double
