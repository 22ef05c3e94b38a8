#include "core/model/model_opener.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "core/memory/units.hpp"
#include "core/model/built_in.hpp"
#include "text/json_reader.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

std::string path_of(const Submission& submission) {
    if (!submission.path.empty()) {
        return submission.path;
    }
    const auto file = built_in_file(submission.id);
    return file.empty() ? submission.id : file;
}

// Returns true if opening a model may succeed on another device after
// it failed with `status` on one.
bool may_do_elsewhere(sotto_status status) noexcept {
    return status != SOTTO_ERROR_CANCELLED && status != SOTTO_ERROR_BUDGET &&
           status != SOTTO_ERROR_NOT_FOUND && status != SOTTO_ERROR_ARGUMENT;
}

// Returns why a model did not load; adds its id and file if the backend's text has neither.
std::string named(const Submission& submission, const Failure& failure) {
    const auto& id = submission.id;
    const auto has = [&](const std::string& name) {
        return !name.empty() && failure.why.find(name) != std::string::npos;
    };
    const bool is_of_file = failure.status == SOTTO_ERROR_MODEL || failure.status == SOTTO_ERROR_UNSUPPORTED;
    const bool is_named = !is_of_file || has(submission.path) || has(id);
    const auto file = submission.path.empty() ? "" : " (" + submission.path + ")";
    return is_named ? failure.why : "model '" + id + "'" + file + ": " + failure.why;
}

// Returns a backend's description of a model on one line; "{}" if it is not a JSON object.
std::string details_of(const std::string& description) {
    const auto json = try_parse_ordered(description);
    return json.is_object() ? to_text(json) : "{}";
}

sotto_str str(const std::string& text) noexcept {
    return {text.data(), text.size()};
}

} // namespace

ModelOpener::ModelOpener(const Hooks& hooks, DeviceManager& devices, Ledger& ledger, Tell tell)
    : hooks_(hooks), devices_(devices), ledger_(ledger), tell_(std::move(tell)) {}

void ModelOpener::open(ModelEntry& entry, LoaderNote& note) {
    const auto& submission = entry.submission;
    if (!submission.options.empty()) {
        parse_object(submission.options, "options");
    }
    const auto shape = entry.loader.shape;
    Failure refused;
    for (;;) {
        const auto seat = devices_.seat(submission.backend, entry.loader.refused_device, entry.device);
        Failure failure;
        attempt(
            [&] { open_at(entry, seat, note); },
            [&](sotto_status status, const char* why) { failure.set(status, why); }
        );
        if (!failure) {
            break;
        }
        if (failure.status == SOTTO_ERROR_DEVICE && seat.number != 0) {
            devices_.lose(seat.number, failure.why);
        } else if (seat.shared && may_do_elsewhere(failure.status)) {
            entry.loader.refused_device = seat.number;
            refused = failure;
        } else {
            throw Error(failure.status, named(submission, failure));
        }
        entry.claims = {};
        entry.loader.shape = shape;
    }
    if (refused) {
        devices_.refused(entry.loader.refused_device, submission.id, refused.why);
    }
}

void ModelOpener::free(ModelEntry& entry) noexcept {
    {
        // If the context cannot be made current, frees the model anyway.
        const gpu::CudaScope scope(entry.loader.cuda_context.get());
        for (const auto* all : {&entry.adapters.loaded, &entry.adapters.retired}) {
            for (const auto& adapter : *all) {
                adapter->close(*entry.model);
            }
        }
        entry.adapters.retired.clear();
        entry.model.reset();
    }
    entry.loader.cuda_context.reset();
    entry.claims = {};
}

sotto_model_source ModelOpener::source_of(
    const ModelEntry& entry, const std::string& path, const Placement& seat, Watch& watch
) const {
    return {
        .struct_size = sizeof(sotto_model_source),
        .flags = entry.loader.shape.flags,
        .path = str(path),
        .options = str(entry.submission.options),
        .device = str(seat.device),
        .files = hooks_.files ? &*hooks_.files : nullptr,
        .progress = on_progress,
        .context = &watch,
        .streams = entry.loader.shape.streams,
        .tokens = entry.loader.shape.tokens,
        .layers = entry.loader.shape.layers,
        .reserved = 0,
    };
}

void ModelOpener::open_at(ModelEntry& entry, const Placement& seat, LoaderNote& note) {
    const auto& submission = entry.submission;
    const auto path = path_of(submission);
    const gpu::CudaScope scope(seat.context.get());
    scope.check();
    Watch watch{this, &entry};
    const bool plans = submission.kind == Submission::Kind::plan;
    const bool limited = ledger_.ceiling() != 0;
    if (plans || limited) {
        // Reads the weights into memory: mapped files would not be charged to the budget
        entry.loader.shape.flags |= SOTTO_SOURCE_OWN_MEMORY;
        const auto free = ledger_.free();
        // Leaves room for the adapters, which are loaded after the model
        const auto left = free - std::min(free, entry.adapters.bytes());
        const auto room = plans && submission.budget != 0 ? submission.budget : left;
        note.plan = find_fit(entry, *seat.backend, source_of(entry, path, seat, watch), room);
        if (plans || !note.plan.fits) {
            note.kind = plans ? LoaderNote::Kind::planned : LoaderNote::Kind::lacks;
            return;
        }
        const auto shape = std::exchange(entry.loader.shape, note.plan.last().shape);
        try {
            claim(entry, note.plan.last().info);
        } catch (const Error&) { // memory was taken since find_fit()
            entry.loader.shape = shape;
            note.plan.fits = false;
            note.kind = LoaderNote::Kind::lacks;
            return;
        }
    }
    if (gives_up(entry)) {
        throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
    }
    auto model = std::make_unique<Model>(*seat.backend, source_of(entry, path, seat, watch));
    try {
        claim(entry, model->info());
    } catch (const Error& error) {
        const bool limited_now = ledger_.ceiling() != 0;
        if (limited || !limited_now || error.status() != SOTTO_ERROR_BUDGET) {
            throw;
        }
        model.reset();
        open_at(entry, seat, note); // a budget was set during the load: fit the model again
        return;
    }
    for (const auto& adapter : entry.adapters.loaded) { // present only if the model was evicted
        reopen(*adapter, *model, submission.id);
    }
    note.backend = model->backend().name(); // copied here, so that the control thread can only move them
    note.details = details_of(model->info().description);
    entry.loader.cuda_context = seat.context;
    note.model = std::move(model);
    note.kind = LoaderNote::Kind::loaded;
}

// Reloads an adapter after its model was evicted. If that fails,
// requests that use the adapter fail.
void ModelOpener::reopen(Adapter& adapter, Model& model, const std::string& id) noexcept {
    const auto body = [&] { adapter.open(model, ledger_, id, hooks_.files ? &*hooks_.files : nullptr); };
    attempt(body, [&](sotto_status status, const char* why) {
        adapter.failure.set(status, why);
        hooks_.log.error(why);
    });
}

LoadPlan ModelOpener::find_fit(
    const ModelEntry& entry, const Backend& backend, sotto_model_source source, std::uint64_t room
) const {
    source.progress = [](void* context, float) -> std::int32_t { // measuring reports no progress
        const auto& watch = *static_cast<Watch*>(context);
        return watch.opener->gives_up(*watch.entry) ? 1 : 0;
    };
    return fit(entry.loader.shape, entry.loader.shrink_scope, room, [&](const Shape& shape) {
        source.flags = shape.flags;
        source.streams = shape.streams;
        source.tokens = shape.tokens;
        source.layers = shape.layers;
        return measure(backend, source);
    });
}

// Charges all memory of `info` to the entry or, if too little is free, none of it, so that other models can
// use the memory. Throws Error(SOTTO_ERROR_BUDGET) if too little is free.
void ModelOpener::claim(ModelEntry& entry, const ModelInfo& info) {
    const auto has = entry.bytes();
    if (info.bytes() > has && info.bytes() - has > ledger_.free()) {
        throw Error(
            SOTTO_ERROR_BUDGET,
            entry.submission.id + " needs " + megabytes(info.bytes()) + "; " +
                megabytes(ledger_.used() - has) + " of the budget of " + megabytes(ledger_.ceiling()) +
                " are taken. Raise vram_budget, unload a model, or ask for less in options"
        );
    }
    Claims claims = std::move(entry.claims);
    const auto take = [&](Ledger::Claim& part, Use use, std::uint64_t bytes) {
        if (part.bytes() == 0) {
            part = ledger_.take(use, entry.submission.id, bytes);
        } else {
            part.settle(bytes);
        }
    };
    take(claims.weights, Use::weights, info.weights);
    take(claims.kv, Use::kv, info.kv);
    take(claims.compute, Use::compute, info.compute);
    entry.claims = std::move(claims);
}

std::int32_t ModelOpener::on_progress(void* context, float progress) {
    constexpr float kStep = 0.01F;
    auto& watch = *static_cast<Watch*>(context);
    if (watch.opener->gives_up(*watch.entry)) {
        return 1;
    }
    if (progress >= watch.told + kStep) {
        watch.told = progress;
        std::unique_ptr<LoaderNote> note(new (std::nothrow) LoaderNote); // callbacks must not throw
        if (note != nullptr) {
            note->entry = watch.entry;
            note->progress = progress;
            watch.opener->tell_(std::move(note));
        }
    }
    return 0;
}

} // namespace sotto
