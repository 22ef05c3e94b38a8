#include "core/control/job_starter.hpp"

#include <utility>

#include "core/control/step_time.hpp"
#include "core/control/stream_preparer.hpp"

namespace sotto {
namespace {

// The control thread schedules nothing but streams of its own.
Stream& stream_of(ScheduledStream& stream) noexcept {
    return static_cast<Stream&>(stream);
}

void add_share(Job& job, const Slice::Share& share) {
    auto& stream = stream_of(*share.stream);
    sotto_step_item work{};
    work.struct_size = sizeof work;
    work.tokens = share.tokens;
    work.remaining = stream.remaining;
    work.decoded = 1;
    work.stream = stream.handle;
    job.work.push_back(work);
    job.streams.push_back(&stream);
}

} // namespace

std::unique_ptr<Job> JobStarter::make(ModelEntry& entry) {
    auto job = std::make_unique<Job>();
    job->entry = &entry;
    job->thread_class = compute_.prepare_any(classes_.of(entry)); // once: the mode may change at any time
    duty_.begins(entry);
    job->threads = duty_.threads_for(entry, job->thread_class);
    job->tries = entry.thread_count.tries();
    job->gate_limit = duty_.gate_limit(*job);
    job->mode = settings_.mode.load();
    job->share = static_cast<float>(duty_.share());
    return job;
}

std::unique_ptr<Job> JobStarter::make(const Slice& slice) {
    auto& entry = stream_of(*slice.shares.front().stream).entry;
    auto job = make(entry);
    for (const auto& share : slice.shares) {
        add_share(*job, share);
    }
    job->heard.resize(job->work.size());
    job->failures.resize(job->work.size());
    entry.costs.prepare(job->threads);
    job->load = slice.load;
    job->limit = slice.limit;
    job->predicted = entry.costs.predict(job->threads, slice.load);
    job->patience = patience_of(*job, settings_.is(SOTTO_ENGINE_DETERMINISTIC));
    if (slice.kind == Slice::Kind::open || slice.kind == Slice::Kind::unpark) {
        add_entering(*job, slice);
    }
    return job;
}

// Adds what opens a stream, or gives it a slot again. Throws before anything has changed.
void JobStarter::add_entering(Job& job, const Slice& slice) {
    auto& stream = *job.streams.front();
    auto& entry = stream.entry;
    job.opens = slice.kind == Slice::Kind::open;
    job.unparks = !job.opens;
    job.op = stream.reply->op;
    job.body = &stream.reply->body;
    job.index = stream.index;
    job.adapters = &stream.reply->adapters;
    job.path = &stream.reply->prompted.path;
    job.flags = stream_flags(settings_);
    job.state = stream.reply->state.get();
    job.recalls = job.unparks ? stream.kept : kept_of(stream);
    entry.closing.reserve(entry.closing.size() + entry.resting.size() + streams_.all().size());
    entry.resting.reserve(entry.most_streams); // so that RequestEnder::release() cannot fail
    job.closing.reserve(1);                    // nothing throws from here on
    if (job.opens) {
        pins_.hand_over(entry, stream.session.get(), job.closing);
        job.prepared = std::exchange(stream.prepared.handle, nullptr);
    }
    if (slice.parks != nullptr) {
        job.parks = &stream_of(*slice.parks);
        slice.parks->busy = true;
        --entry.open_streams;
    }
    ++entry.open_streams;
    job.fetched = std::move(stream.fetch);
}

void JobStarter::begin(std::unique_ptr<Job> job) noexcept {
    const auto since = duty_.end_rest();
    runner_.begin(std::move(job));
    if (since != 0) {
        slices_.add_rest(since, runner_.since(), settings_.mode.load(), duty_.share());
    }
}

Parking::Kept kept_of(const Stream& stream) noexcept {
    const auto& session = stream.reply->turn.session();
    const bool fits = session != nullptr && session->kept_by == stream.entry.asked.id &&
                      session->kept_group == stream.terms.group;
    return fits ? session->kept : nullptr;
}

} // namespace sotto
