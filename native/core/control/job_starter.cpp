#include "core/control/job_starter.hpp"

#include <algorithm>
#include <utility>

#include "core/control/step_time.hpp"
#include "core/control/stream_preparer.hpp"

namespace sotto {
namespace {

// The control thread adds only objects of class Stream to the scheduler.
Stream& stream_of(ScheduledStream& stream) noexcept {
    return static_cast<Stream&>(stream);
}

sotto_step_item item_of(const Stream& stream, const Slice::Share& share) noexcept {
    sotto_step_item work{};
    work.struct_size = sizeof work;
    work.tokens = share.tokens;
    work.remaining = stream.remaining;
    work.decoded = 1;
    work.stream = stream.handle;
    return work;
}

} // namespace

std::unique_ptr<Job> JobStarter::make(ModelEntry& entry) {
    auto job = std::make_unique<Job>();
    job->entry = &entry;
    job->thread_class =
        compute_.prepare_any(classes_.of(entry)); // read once: the mode may change at any time
    duty_.begins(entry);
    job->threads = duty_.threads_for(entry, job->thread_class);
    job->tries = entry.thread_count.tries();
    job->gates.limit = duty_.gate_limit(*job);
    job->mode = settings_.mode.load();
    job->share = static_cast<float>(duty_.share());
    return job;
}

std::unique_ptr<Job> JobStarter::make(const Slice& slice) {
    auto& entry = stream_of(*slice.shares.front().stream).entry;
    auto job = make(entry);
    for (const auto& share : slice.shares) {
        job->streams.push_back(&stream_of(*share.stream));
    }
    entry.costs.prepare(job->threads);
    job->load = slice.load;
    job->limit = slice.limit;
    job->predicted = entry.costs.predict(job->threads, slice.load);
    job->patience = patience_of(*job, settings_.is(SOTTO_ENGINE_DETERMINISTIC));
    switch (slice.kind) {
    case Slice::Kind::open:
        add_open(*job, slice);
        break;
    case Slice::Kind::unpark:
        add_resume(*job, slice);
        break;
    default:
        add_step(*job, slice);
    }
    return job;
}

void JobStarter::add_step(Job& job, const Slice& slice) {
    StepJob step;
    for (const auto& share : slice.shares) {
        step.work.push_back(item_of(stream_of(*share.stream), share));
    }
    step.increment.resize(step.work.size());
    step.failures.resize(step.work.size());
    job.what = std::move(step);
}

// Adds to a job the parameters for opening its stream. If add_open() throws, nothing has changed.
void JobStarter::add_open(Job& job, const Slice& slice) {
    auto& stream = *job.streams.front();
    const auto& reply = *stream.reply;
    OpenJob open;
    open.op = reply.op;
    open.body = &reply.body;
    open.index = stream.index;
    open.adapters = &reply.adapters;
    open.path = &reply.parsed.path;
    open.flags = stream_flags(settings_);
    open.state = reply.state.get();
    open.slots.action = reply.parsed.action;
    open.slots.slot = static_cast<std::uint32_t>(std::max(reply.parsed.slot, 0));
    open.recalls = kept_of(stream);
    reserve_for(job, stream.entry); // nothing throws from here on
    pins_.hand_over(stream.entry, stream.session.get(), job.closing);
    open.prepared = std::exchange(stream.preparation.request.handle, nullptr);
    enter(open, stream, slice);
    job.what = std::move(open);
}

void JobStarter::add_resume(Job& job, const Slice& slice) {
    auto& stream = *job.streams.front();
    ResumeJob resume;
    resume.recalls = stream.kv.parked;
    reserve_for(job, stream.entry); // nothing throws from here on
    enter(resume, stream, slice);
    job.what = std::move(resume);
}

// Reserves capacity, so that RequestEnder::release() cannot fail.
void JobStarter::reserve_for(Job& job, ModelEntry& entry) const {
    entry.slots.closing.reserve(
        entry.slots.closing.size() + entry.slots.pinned.size() + streams_.all().size()
    );
    entry.slots.pinned.reserve(entry.loaded.max_slots);
    job.closing.reserve(1);
}

void JobStarter::enter(EnterJob& job, Stream& stream, const Slice& slice) noexcept {
    if (slice.parks != nullptr) {
        job.parks = &stream_of(*slice.parks);
        slice.parks->busy = true;
        --stream.entry.open_streams;
    }
    ++stream.entry.open_streams;
    job.fetched = std::move(stream.kv.fetch);
}

bool JobStarter::may_begin() noexcept {
    runner_.hold_back();
    return runner_.is_idle();
}

void JobStarter::begin(std::unique_ptr<Job> job) noexcept {
    const auto since = duty_.end_rest();
    runner_.begin(std::move(job));
    if (since != 0) {
        slices_.add_rest(since, runner_.since(), settings_.mode.load(), duty_.share());
    }
}

KvStateStore::Kept kept_of(const Stream& stream) noexcept {
    const auto& session = stream.reply->turn.session();
    const bool fits = session != nullptr && session->kept != nullptr &&
                      session->kept->is_of(stream.entry.submission.id) &&
                      session->kept_group == stream.terms.group;
    return fits ? session->kept : nullptr;
}

} // namespace sotto
