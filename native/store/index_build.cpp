// Linking many elements, with several threads.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "platform/thread.hpp"
#include "store/index_parts.hpp"

namespace sotto::store {
namespace {

using Clock = std::chrono::steady_clock;

// Elements that are linked before several threads begin: on a small graph they would hardly see each other.
constexpr ElementId kAlone = 256;
constexpr unsigned kMaxThreads = 256;

// The elements of one build, which its threads take one by one.
class Work {
public:
    Work(VectorIndex::Parts& parts, const BuildOptions& options)
        : parts_(parts), options_(options), first_(parts.linked), end_(parts.elements.count()),
          next_(first_) {}

    // Links elements on the calling thread up to `end`.
    void run(ElementId end) {
        const ScratchLease scratch(parts_.pool);
        parts_.graph.prepare(*scratch); // a failure later would lose the element
        while (!is_stopped()) {
            ElementId id = next_.load();
            while (id < end && !next_.compare_exchange_weak(id, id + 1)) {
            }
            if (id >= end) {
                return;
            }
            if (!parts_.elements.is_removed(id)) {
                parts_.graph.link(id, *scratch);
            }
            report(id);
        }
    }

    // Links elements on a thread of the build's own.
    void run_worker() noexcept {
        try {
            run(end_);
        } catch (const std::exception& error) {
            const std::lock_guard lock(mutex_);
            failure_.set(status_of(error), reason_of(error));
            stopped_ = true;
        }
    }

    // Reports progress if the caller is the building thread.
    void report(ElementId id) {
        if (std::this_thread::get_id() != caller_ || Clock::now() < due_) {
            return;
        }
        constexpr auto kInterval = std::chrono::milliseconds(20);
        due_ = Clock::now() + kInterval;
        if (options_.progress && !options_.progress(id + 1 - first_, total())) {
            stopped_ = true;
        }
    }

    ElementId end() const noexcept { return end_; }
    ElementId next() const noexcept { return next_; } // all elements below were taken
    std::uint64_t total() const noexcept { return end_ - first_; }
    bool is_stopped() const noexcept { return stopped_ || parts_.is_cancelled; }
    void stop() noexcept { stopped_ = true; }
    const Failure& failure() const noexcept { return failure_; }

private:
    VectorIndex::Parts& parts_;
    const BuildOptions& options_;
    ElementId first_;
    ElementId end_;
    std::atomic<ElementId> next_;
    std::atomic<bool> stopped_{false};
    std::thread::id caller_ = std::this_thread::get_id();
    Clock::time_point due_ = Clock::now();
    std::mutex mutex_;
    Failure failure_; // of a worker
};

// Ends the workers, also if the building thread fails.
class Workers {
public:
    explicit Workers(Work& work) noexcept : work_(work) {}
    ~Workers() {
        work_.stop();
        join();
    }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void start(unsigned count) {
        threads_.reserve(count);
        for (unsigned i = 0; i < count; ++i) {
            threads_.push_back(start_thread([&work = work_] {
                set_thread_name("sotto index");
                work.run_worker();
            }));
        }
    }
    void join() noexcept {
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

private:
    Work& work_;
    std::vector<std::thread> threads_;
};

void link_all(Work& work, unsigned threads, ElementId alone) {
    work.run(std::min(alone, work.end()));
    Workers workers(work);
    if (threads > 1 && !work.is_stopped() && work.next() < work.end()) {
        workers.start(threads - 1);
    }
    work.run(work.end());
    workers.join();
}

} // namespace

bool VectorIndex::build(const BuildOptions& options) {
    auto& parts = *parts_;
    if (options.threads > kMaxThreads) {
        throw invalid_argument(
            "threads", std::to_string(options.threads), "0 to " + std::to_string(kMaxThreads)
        );
    }
    const std::lock_guard lock(parts.writing);
    Work work(parts, options);
    const unsigned threads = options.threads == 0 ? usable_cores() : options.threads;
    try {
        link_all(work, threads, threads > 1 ? kAlone : 0);
    } catch (const std::exception&) {
        parts.linked = work.next();
        throw;
    }
    parts.linked = work.next();
    if (work.failure()) {
        throw Error(work.failure().status, work.failure().why);
    }
    if (parts.linked < work.end()) {
        return false;
    }
    parts.is_built = true;
    if (options.progress) {
        options.progress(work.total(), work.total());
    }
    return true;
}

} // namespace sotto::store
