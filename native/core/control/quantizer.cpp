#include "core/control/quantizer.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/attempt.hpp"
#include "base/path.hpp"
#include "platform/file.hpp"
#include "platform/thread.hpp"
#include "text/ordered_json.hpp"

namespace sotto {

struct Quantizer::Task {
    Task(Slot& slot, const ParsedRequest& parsed, Signal& wake, Ledger& ledger)
        : slot(&slot), path(parsed.path), terms(parsed.quantize), wake(wake), ledger(ledger) {}

    Slot* const slot;
    const std::string path;
    const QuantizeTerms terms;
    Signal& wake;
    Ledger& ledger;
    float told = 0; // progress that was sent; control thread only

    std::atomic<bool> cancelled{false};
    std::atomic<float> progress{0};
    std::optional<FileReplacement> file; // the new file, until it is complete
    std::uint64_t size = 0;              // of the new file, in bytes
    std::vector<Ledger::Claim> claims;   // working memory
    Failure failure;
    std::string response;
    std::atomic<bool> done{false}; // set last
};

namespace {

constexpr const char* kOwner = "the quantizer"; // in the ledger

sotto_str sized(const std::string& text) noexcept {
    return {text.data(), text.size()};
}

void check_files(const std::string& path, const std::string& to) {
    std::error_code ignored;
    if (std::filesystem::equivalent(native_path(path), native_path(to), ignored)) {
        throw invalid_argument("to_path", to, "another file than path");
    }
}

} // namespace

Quantizer::Quantizer(const World& world, EventSender& sender, Signal& wake)
    : hooks_(world.hooks), settings_(world.settings), devices_(world.devices), ledger_(world.host_ledger),
      sender_(sender), wake_(wake) {}

Quantizer::~Quantizer() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Quantizer::start(Slot& slot, const ParsedRequest& parsed) {
    auto task = std::make_unique<Task>(slot, parsed, wake_, ledger_);
    sender_.accepted(slot);
    tasks_.push_back(std::move(task));
    wake_.notify();
}

bool Quantizer::cancel(const Slot& slot) noexcept {
    const auto found = std::ranges::find_if(tasks_, [&](const auto& task) { return task->slot == &slot; });
    if (found == tasks_.end()) {
        return false;
    }
    (*found)->cancelled = true;
    wake_.notify();
    return true;
}

void Quantizer::cancel_all() noexcept {
    for (const auto& task : tasks_) {
        task->cancelled = true;
    }
    wake_.notify();
}

bool Quantizer::advance() noexcept {
    if (tasks_.empty()) {
        return false;
    }
    auto& task = *tasks_.front();
    if (!thread_.joinable() && !task.done) {
        begin(task);
        return true;
    }
    if (!task.done) {
        return tell_progress(task, task.progress);
    }
    if (thread_.joinable()) {
        thread_.join();
    }
    const auto ended = std::move(tasks_.front());
    tasks_.pop_front();
    if (ended->failure) {
        sender_.done(*ended->slot, ended->failure.status, ended->failure.why);
    } else {
        tell_progress(*ended, 1); // also of a file that took no time
        sender_.answered(*ended->slot, std::move(ended->response));
    }
    return true;
}

bool Quantizer::tell_progress(Task& task, float progress) noexcept {
    if (std::exchange(task.told, progress) == progress) {
        return false;
    }
    // a lack of memory only loses this event
    attempt([&] { sender_.progress(*task.slot, progress); }, [](sotto_status, const char*) {});
    return true;
}

void Quantizer::begin(Task& task) noexcept {
    const auto start = [&] {
        thread_ = start_thread([this, &task] {
            hooks_.thread_started("quantize");
            if (settings_.mode.load() != SOTTO_MODE_PRIORITIZE_COMPUTE) {
                hooks_.outlives->has_yielding_threads = true;
                lower_thread_priority();
            }
            run(task);
            task.done = true;
            wake_.notify();
        });
    };
    attempt(start, [&](sotto_status status, const char* why) {
        task.failure.set(status, why);
        task.done = true;
    });
}

// Runs on thread_.
void Quantizer::run(Task& task) noexcept {
    const auto write = [](void* context, std::uint64_t offset, const void* bytes, std::size_t count) {
        auto& to = *static_cast<Task*>(context);
        const std::string_view part(static_cast<const char*>(bytes), count);
        attempt(
            [&] {
                offset < to.size ? to.file->overwrite(offset, part) : to.file->append(part);
                to.size = std::max(to.size, offset + count);
            },
            [&](sotto_status status, const char* why) { to.failure.set(status, why); }
        );
        return to.failure ? 1 : 0;
    };
    const auto progress = [](void* context, float share) {
        constexpr float kStep = 0.01F;
        auto& to = *static_cast<Task*>(context);
        if (share >= to.progress.load(std::memory_order_relaxed) + kStep) {
            to.progress = share;
            to.wake.notify();
        }
        return to.cancelled.load() ? 1 : 0;
    };
    const auto reserve = [](void* context, std::uint64_t bytes) {
        auto& to = *static_cast<Task*>(context);
        attempt(
            [&] {
                to.claims.reserve(to.claims.size() + 1);
                to.claims.push_back(to.ledger.take(Use::compute, kOwner, bytes));
            },
            [&](sotto_status status, const char* why) { to.failure.set(status, why); }
        );
        return to.failure ? 1 : 0;
    };
    const auto body = [&] {
        check_files(task.path, task.terms.to);
        task.file.emplace(PathArgument{"to_path", task.terms.to});
        const sotto_quantize_source desc = {
            .struct_size = sizeof(sotto_quantize_source),
            .threads = task.terms.threads == 0 ? usable_cores() : task.terms.threads,
            .path = sized(task.path),
            .type = sized(task.terms.type),
            .imatrix = sized(task.terms.imatrix),
            .write = write,
            .progress = progress,
            .context = &task,
            .reserve = reserve,
        };
        quantize(devices_.quantizer(), desc);
        if (task.cancelled.load()) {
            throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
        }
        task.response = to_text(
            Ordered{
                {"path", task.terms.to},
                {"type", task.terms.type},
                {"bytes", task.size},
                {"source_bytes", std::filesystem::file_size(native_path(task.path))},
            }
        );
        task.file->commit();
    };
    attempt(body, [&](sotto_status status, const char* why) {
        if (!task.failure) { // otherwise a callback failed, and the backend was told to stop
            task.failure.set(status, status == SOTTO_ERROR_CANCELLED ? "the request was cancelled" : why);
        }
    });
    task.claims.clear();
    task.file.reset();
}

} // namespace sotto
