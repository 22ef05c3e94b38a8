#include "core/control/compute.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/step_checks.hpp"
#include "core/control/step_output.hpp"
#include "core/state/state_blob.hpp"
#include "core/state/state_file.hpp"
#include "module/contract.hpp"

namespace sotto {
namespace {

// Context that a backend passes to the gate of a step.
struct AtGate {
    Compute& compute;
    Job& job;
};

std::int32_t SOTTO_CALL gate(void* context) {
    auto& at = *static_cast<AtGate*>(context);
    return at.compute.pass(at.job);
}

sotto_step_flags step_flags(sotto_mode mode) noexcept {
    if (mode == SOTTO_MODE_PRIORITIZE_COMPUTE) {
        return SOTTO_STEP_COMPUTE_AHEAD;
    }
    return 0;
}

void open(Job& job, OpenJob& what) {
    auto& model = *job.entry->model;
    if (what.op == SOTTO_OP_RESTORE_STATE) {
        what.opened.result = restore_state(model, *what.path, *what.state);
        return;
    }
    if (what.op == SOTTO_OP_SLOTS) {
        return run_slot_task(model, what.slots, what.state);
    }
    std::vector<void*> adapters;
    std::vector<float> scales;
    for (const auto& use : *what.adapters) {
        adapters.push_back(use.adapter->handle);
        scales.push_back(use.scale);
    }
    what.opened = model.open_stream(
        what.op, *what.body, what.index, what.flags, std::exchange(what.prepared, nullptr), adapters, scales
    );
    check_prompt(model.info(), what);
}

// Fails the whole job, not only one stream, if a backend call reports that the device was lost.
void note_loss(Job& job, sotto_status status, const char* why) noexcept {
    if (status == SOTTO_ERROR_DEVICE && !job.failure) {
        job.failure.set(status, why);
    }
}

// Converts the output of a step to text. Runs on the compute thread, whose use of the cores is
// limited in favour of the game. `before`: `remaining` of each item before the step.
void hear(Job& job, StepJob& step, const std::vector<std::uint32_t>& before) noexcept {
    for (std::size_t i = 0; i < step.work.size(); ++i) {
        const auto& work = step.work[i];
        auto& failure = step.failures[i];
        const auto body = [&] {
            auto& model = *job.entry->model;
            auto& stream = *job.streams[i];
            check_work(model.backend(), work, before[i]);
            if (work.status < 0) {
                throw Error(work.status, reason_of(work.reason));
            }
            check_progress(stream, work, job);
            if (has_data(stream.reply->op)) {
                check_data(model.backend(), work);
            }
            step.increment[i] = read_output(work, model, stream.output.answer);
            if (stream.reply->op == SOTTO_OP_SAVE_STATE && stream.output.answer.ended() &&
                !job.abort.load()) {
                stream.output.saved_state = save_state(model, work.stream, stream.output.saved_tokens);
            }
        };
        attempt(body, [&](sotto_status status, const char* why) { failure.set(status, why); });
        note_loss(job, failure.status, failure.why.c_str());
    }
}

} // namespace

Compute::Compute(
    const Hooks& hooks,
    const Clock& clock,
    const Frames& frames,
    KvStateStore& kv_states,
    Ledger& ledger,
    Signal& finished
)
    : hooks_(hooks), clock_(clock), frames_(frames), kv_states_(kv_states), ledger_(ledger),
      finished_(finished) {}

Compute::~Compute() {
    stopping_ = true;
    for (auto& worker : workers_) {
        if (const auto number = worker.number.load(); number != 0) {
            raise_thread_class(number); // the join below waits for the thread
        }
        worker.wake.notify();
        if (worker.thread.joinable()) {
            worker.thread.join();
        }
    }
}

void Compute::prepare(ThreadClass thread_class) {
    auto& worker = workers_[static_cast<std::size_t>(thread_class)];
    if (!worker.thread.joinable()) {
        hooks_.outlives->has_yielding_threads =
            hooks_.outlives->has_yielding_threads || thread_class == ThreadClass::idle;
        worker.thread = start_thread([this, &worker, thread_class] { work(worker, thread_class); });
    }
}

ThreadClass Compute::prepare_any(ThreadClass wanted) {
    const auto other = wanted == ThreadClass::idle ? ThreadClass::normal : ThreadClass::idle;
    try {
        prepare(wanted);
        return wanted;
    } catch (const Error&) {
        if (!workers_[static_cast<std::size_t>(other)].thread.joinable()) {
            throw;
        }
        return other;
    }
}

void Compute::start(Job& job) noexcept {
    auto& worker = worker_of(job);
    worker.job.store(&job, std::memory_order_release);
    worker.wake.notify();
}

void Compute::follow_with(Job& job) noexcept {
    worker_of(job).follower.store(&job, std::memory_order_release);
}

bool Compute::hold_back(Job& job) noexcept {
    return worker_of(job).follower.exchange(nullptr, std::memory_order_acquire) != nullptr;
}

bool Compute::take_back(Job& job) noexcept {
    Job* expected = &job;
    return worker_of(job).job.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
}

void Compute::give_up(Job& job) noexcept {
    job.given_up = true;
    gate_.notify();
}

bool Compute::raise(const Job& job) noexcept {
    auto& worker = worker_of(job);
    const auto number = worker.number.load();
    if (number != 0 && raise_thread_class(number)) {
        worker.raised = true;
    }
    return number != 0;
}

void Compute::work(Worker& worker, ThreadClass thread_class) {
    const bool idle = thread_class == ThreadClass::idle;
    hooks_.thread_started(idle ? "idle" : "compute");
    // raise() needs the number before the thread enters the idle class, in which
    // the thread may get no core for seconds.
    worker.number = thread_number();
    if (idle && !stopping_.load() && !set_thread_class(thread_class)) {
        no_idle_class_ = true;
        hooks_.log.warn("the system has no idle class for this thread; models compete with the game");
    }
    if (!set_thread_affinity(hooks_.cores)) {
        hooks_.log.warn("threads->affinity names no core that this process may use; it is ignored");
    }
    while (!stopping_.load()) {
        const auto seen = worker.wake.value();
        if (Job* job = worker.job.exchange(nullptr, std::memory_order_acquire)) {
            while (job != nullptr) {
                run(*job);
                Job* next =
                    goes_on(*job) ? worker.follower.exchange(nullptr, std::memory_order_acquire) : nullptr;
                job->followed = next != nullptr;
                job->done.store(true, std::memory_order_release); // passes the job to the control thread
                finished_.notify();
                job = next;
            }
        } else if (worker.raised.exchange(false)) {
            set_thread_class(thread_class);
        } else if (!stopping_.load()) {
            worker.wake.wait(seen, -1);
        }
    }
}

void Compute::abort(Job& job) noexcept {
    job.abort = true;
    gate_.notify();
}

// Waits until the game has finished its work on the current frame, as far as the game
// reports it, but no longer than `gates.limit`: the game may have stopped reporting.
std::int32_t Compute::pass(Job& job) noexcept {
    constexpr std::int64_t kLook = 200'000; // ns, minimum wait if the work of the game overruns
    constexpr std::uint32_t kEvery = 8;     // gates between two clock reads, which are not free
    const auto ends = [&] { return job.abort.load(std::memory_order_relaxed) || job.gave_up ? 1 : 0; };
    if (const auto asked = job.gates.asked.fetch_add(1, std::memory_order_relaxed) + 1;
        job.patience != 0 && asked % kEvery == 0) {
        job.gave_up = clock_.now() - job.began - job.gates.gated_ns > job.patience;
    }
    job.gave_up = job.gave_up || job.given_up.load(std::memory_order_relaxed);
    if (job.gates.limit == 0 || ends() != 0) {
        return ends();
    }
    const auto begin = clock_.now();
    auto now = begin;
    for (;;) {
        const auto seen = gate_.value();
        const auto left = job.gates.limit - job.gates.gated_ns - (now - begin);
        if (ends() != 0 || !frames_.in_work(now) || left <= 0) {
            break;
        }
        gate_.wait(seen, std::max(std::min(frames_.work_ends() - now, left), kLook));
        now = clock_.now();
    }
    if (now != begin) {
        if (job.gates.waited < job.gates.waits.size()) {
            job.gates.waits[job.gates.waited++] = {begin, now};
        }
        job.gates.gated_ns += now - begin;
    }
    return ends();
}

void Compute::run(Job& job, StepJob& what) {
    const Zone zone(hooks_, "sotto step");
    std::vector<sotto_step_item*> shares;
    std::vector<std::uint32_t> before;
    shares.reserve(what.work.size());
    before.reserve(what.work.size());
    for (auto& work : what.work) {
        shares.push_back(&work);
        before.push_back(work.remaining); // not read from the streams: the control thread owns them
    }
    AtGate at{*this, job};
    const sotto_step step = {
        .struct_size = sizeof(sotto_step),
        .count = static_cast<std::uint32_t>(shares.size()),
        .items = shares.data(),
        .threads = job.threads,
        .thread_class = static_cast<sotto_thread_class>(job.thread_class),
        .gate = gate,
        .context = &at,
        .flags = step_flags(job.mode),
        .reserved = 0,
    };
    check_step(job, what, job.entry->model->step(step), before); // a cancelled step made no progress
    hear(job, what, before);
}

// Saves the KV cache of a stream, so that it can be restored later. Returns null if the KV cache was
// not saved: the stream is then prefilled again. `similar`: the saved KV cache may be compressed against
// a similar one, unless `pinned`. `pinned`: the saved KV cache stays in memory.
KvStateStore::Kept Compute::kept_of(Job& job, void* stream, bool similar, bool pinned) noexcept {
    KvStateStore::Kept kept;
    auto& model = *job.entry->model;
    const auto body = [&] {
        if (!model.info().fingerprint.empty()) {
            std::uint32_t tokens = 0;
            auto blob = save_state(model, stream, tokens);
            constexpr std::size_t kLength = 16; // first bytes of the payload, which may hold its length
            const auto head = kStateHeader + model.info().fingerprint.size() + kLength;
            kept = kv_states_.put(
                job.entry->submission.id, std::move(blob), similar && !pinned ? head : KvStateStore::kApart
            );
            if (pinned && kept != nullptr) {
                kept->pin(true);
            }
        }
    };
    attempt(body, [&](sotto_status status, const char* why) {
        hooks_.log.debug(why);
        note_loss(job, status, why);
    });
    return kept;
}

void Compute::close(Job& job) noexcept {
    for (auto& one : job.closing) {
        if (one.session != nullptr) {
            one.kept = kept_of(job, one.handle, true, one.pinned);
        }
        job.entry->model->close_stream(one.handle);
    }
    for (const auto& adapter : job.freed) {
        adapter->close(*job.entry->model);
    }
}

void Compute::run(Job& /*job*/, CloseJob& /*what*/) noexcept {}

// Loads an adapter, unless the engine is being destroyed: then no host file function may be called.
void Compute::run(Job& job, AdapterJob& what) {
    const Zone zone(hooks_, "sotto load adapter");
    const HookGate::Use use(hooks_.files ? &hooks_.outlives->gate : nullptr);
    if (!use) {
        throw Error(SOTTO_ERROR_CANCELLED, "the engine was destroyed");
    }
    const auto* files = hooks_.files ? &*hooks_.files : nullptr;
    what.adapter->open(*job.entry->model, ledger_, job.entry->submission.id, files);
}

void Compute::run(Job& job, ResizeJob& what) {
    const Zone zone(hooks_, "sotto resize model");
    auto& model = *job.entry->model;
    for (std::size_t i = 0; i < job.streams.size(); ++i) {
        auto& stream = *job.streams[i];
        what.kept[i] = kept_of(job, stream.handle, false, stream.terms.pinned);
        model.park(stream.handle);
    }
    model.resize(what.slots);
}

// Parks another stream if the slot is taken, and restores the saved KV cache of the stream that gets
// the slot. A saved KV cache that is damaged, or that belongs to another model, is not used: the
// stream is prefilled again. Returns false if the device was lost.
bool Compute::enter(Job& job, EnterJob& what) {
    auto& model = *job.entry->model;
    if (what.parks != nullptr) {
        model.park(what.parks->handle);
    }
    const auto recall = [&] {
        const auto blob = kv_states_.read(*what.fetched);
        model.restore(state_payload(blob->view(), model.info().fingerprint));
    };
    const auto failed = [&](sotto_status status, const char* why) {
        hooks_.log.warn(why);
        what.useless = status != SOTTO_ERROR_DEVICE;
        note_loss(job, status, why);
    };
    if (what.recalls != nullptr) {
        attempt(recall, failed);
    }
    return !job.failure;
}

void Compute::run(Job& job, OpenJob& what) {
    if (enter(job, what)) {
        const Zone zone(hooks_, "sotto open stream");
        open(job, what);
    }
}

void Compute::run(Job& job, ResumeJob& what) {
    if (enter(job, what)) {
        what.remaining = job.entry->model->unpark(job.streams.front()->handle);
        job.streams.front()->output.progress = {}; // more tokens may remain than before
    }
}

void Compute::run(Job& job) noexcept {
    const gpu::CudaScope scope(job.entry != nullptr ? job.entry->loader.cuda_context.get() : nullptr);
    const auto body = [&] {
        close(job);
        scope.check();
        if (job.failure) {
            return;
        }
        std::visit([&](auto& what) { run(job, what); }, job.what);
    };
    job.began = clock_.now();
    job.phase = frames_.phase(job.began);
    attempt(body, [&](sotto_status status, const char* why) { job.failure.set(status, why); });
    job.ended = clock_.now();
}

} // namespace sotto
