#include "core/control/stall_watch.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace sotto {
namespace {

constexpr std::int64_t kToReport = 10'000'000'000; // ns from a call to its first report, and between reports
constexpr std::int64_t kToReportEnding = 2'000'000'000;

// Returns the name of the backend function that a job calls last.
const char* function_of(const Job& job) noexcept {
    constexpr std::array kFunctions = {
        "stream_close()", "adapter_open()", "resize()", "stream_open()", "stream_unpark()", "step()"
    };
    static_assert(kFunctions.size() == std::variant_size_v<decltype(job.what)>);
    return kFunctions[job.what.index()];
}

} // namespace

// Returns the model whose backend the engine waits for: the model of the
// job under way or, while the engine is being destroyed, a model that
// another thread opens, closes or prepares a request for. Null if none.
const ModelEntry* StallWatch::awaited(const Job* job) const noexcept {
    if (job != nullptr || !ends()) {
        return job != nullptr ? job->entry : nullptr;
    }
    const auto& all = registry_.entries();
    const auto found = std::ranges::find_if(all, [](const auto& entry) {
        return entry->loader.owns || entry->requests.preparing > 0;
    });
    return found == all.end() ? nullptr : found->get();
}

std::int64_t StallWatch::since(const Job* job) const noexcept {
    return job != nullptr ? job->issued : ends() ? ends_since_ : 0;
}

std::int64_t StallWatch::next_report(const Job* job) const noexcept {
    if (awaited(job) == nullptr) {
        return kNever;
    }
    const auto ended = ends() ? ends_since_ : 0;
    return std::max({since(job), ended, reported_}) + (ends() ? kToReportEnding : kToReport);
}

void StallWatch::report(const Job* job) {
    const auto now = clock_.now();
    if (now < next_report(job)) {
        return;
    }
    constexpr std::int64_t kSecond = 1'000'000'000;
    reported_ = now;
    const auto& entry = *awaited(job);
    const auto& backend = entry.loaded.backend.empty() ? entry.submission.backend : entry.loaded.backend;
    const char* function = job != nullptr      ? function_of(*job)
                           : entry.loader.owns ? "open() or close()"
                                               : "prepare()";
    log_.warn(
        "backend '" + backend + "' has not returned from " + function + " for model '" + entry.submission.id +
        "' for " + std::to_string((now - since(job)) / kSecond) + " s; " +
        (ends() ? "sotto_engine_destroy() waits for it" : "the engine's other models wait for it")
    );
}

} // namespace sotto
