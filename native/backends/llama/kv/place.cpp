// Which part of the memory a stream gets, and what stays remembered when it gives it up.
#include "model/model.hpp"
#include "runtime/guard.hpp"

#include <algorithm>
#include <array>

namespace sotto::llama {
namespace {

// Tokens of another conversation that may be lost where a free sequence could be had instead.
constexpr std::size_t kLittle = 32;

} // namespace

std::size_t common_prefix(std::span<const llama_token> a, std::span<const llama_token> b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Cost of a sequence for a stream with these adapters: the distance to the nearest stream with the same ones,
// or, if there is none, the nearness to streams with others. llama.cpp computes only neighbouring sequences
// together. 0 if no stream has other adapters.
std::uint64_t Model::distance(std::size_t place, std::uint64_t adapters) const {
    const auto most = sequences_.size();
    auto alike = most;
    auto unlike = most;
    for (std::size_t i = 0; i < most; ++i) {
        if (const auto* stream = sequences_[i].stream) {
            auto& nearest = stream->adapters.key == adapters ? alike : unlike;
            nearest = std::min(nearest, i > place ? i - place : place - i);
        }
    }
    return unlike == most ? 0 : alike < most ? alike : most - unlike;
}

// The free sequence that remembers most of `tokens`, if that is most of what it remembers, and nearly all of
// it while others are empty; else an empty one, or the one unused longest, so that other conversations are
// remembered too. The last token is always worked through, for what is to follow it. `whose`: a stream that
// may have been parked, and finds what is its own, or was saved of it, even if it uses nothing else. `reuse`:
// it does.
Model::Place Model::best_place(
    const std::vector<llama_token>& tokens, std::uint64_t adapters, bool reuse, const Stream* whose
) const {
    const bool spare = keeps_all() && std::ranges::any_of(sequences_, [](const auto& at) {
                           return at.stream == nullptr && at.tokens.empty();
                       });
    Place best;
    std::array<std::uint64_t, 5> least{};
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
        const auto& at = sequences_[i];
        if (at.stream != nullptr) {
            continue;
        }
        const bool own =
            whose != nullptr && (at.parked == whose || (at.state != 0 && at.state == whose->saved));
        const bool same = at.adapters == adapters;
        const auto usable = own ? at.tokens.size() : reuse && same ? at.exact : 0;
        const auto common = std::min({common_prefix(at.tokens, tokens), usable, tokens.size() - 1});
        const auto lost = at.tokens.size() - common;
        const bool fits = common > 0 && (own || (lost <= common && (!spare || lost <= kLittle)));
        const std::array<std::uint64_t, 5> cost = {
            fits ? 0u : 1u,
            fits ? UINT64_MAX - common : !at.tokens.empty(),
            fits ? 0u : at.parked != nullptr,
            fits ? 0u : distance(i, adapters),
            at.last_used,
        };
        if (best.sequence == kNoSequence || cost < least) {
            best = {static_cast<llama_seq_id>(i), common};
            least = cost;
        }
    }
    if (best.sequence == kNoSequence) {
        const bool none = sequences_.empty();
        throw Error(
            SOTTO_ERROR_STATE,
            none ? "the model has 0 slots: resize the model first"
                 : "all slots of the model are in use: close or park a stream first"
        );
    }
    return best;
}

// Gives `stream` a sequence, and of what is remembered all that serves it. Throws Error(SOTTO_ERROR_STATE)
// where every sequence is taken.
void Model::take_place(Stream& stream) {
    const auto found = best_place(stream.tokens, stream.adapters.key, stream.how.reuse, &stream);
    forget_parked(stream);
    auto& place = sequences_[static_cast<std::size_t>(found.sequence)];
    stream.sequence = found.sequence;
    const bool saved = place.state != 0 && place.state == stream.saved;
    stream.exact = saved ? stream.exact : place.exact;
    stream.restored = place.restored || place.state != 0; // what is cut off stays in its buffers
    place = {};
    place.stream = &stream;
    stream.hold(cut_memory(stream, stream.floor(found.common)));
    seek(stream, nullptr);
}

// Frees the sequence of `stream`, which remembers what it holds. `comes_back`: for itself too.
void Model::leave(Stream& stream, bool comes_back) noexcept {
    for (const auto& at : sequences_) {
        if (at.stream != nullptr && at.stream->leader == &stream) {
            at.stream->leader = nullptr;
            at.stream->seeks = true;
        }
    }
    stream.leader = nullptr;
    auto& place = sequences_[static_cast<std::size_t>(stream.sequence)];
    place.stream = nullptr;
    place.parked = comes_back ? &stream : nullptr;
    place.adapters = stream.adapters.key;
    place.exact = stream.exact;
    place.restored = stream.restored;
    place.last_used = ++clock_;
    try {
        place.tokens = comes_back ? stream.tokens : std::move(stream.tokens);
        place.tokens.resize(stream.held); // shrinks
    } catch (const std::bad_alloc&) {
        place.tokens.clear();
    }
    stream.sequence = kNoSequence;
}

void Model::forget_parked(const Stream& stream) noexcept {
    for (auto& at : sequences_) {
        at.parked = at.parked == &stream ? nullptr : at.parked;
    }
}

void Model::park(Stream& stream) noexcept {
    if (!stream.parked()) {
        leave(stream, true);
    }
}

std::uint32_t Model::unpark(Stream& stream) {
    if (stream.parked()) {
        take_place(stream);
    }
    return stream.in_prompt() ? static_cast<std::uint32_t>(stream.pending()) : 0;
}

void Model::resize(std::uint32_t places) {
    const auto taken =
        std::ranges::count_if(sequences_, [](const Sequence& at) { return at.stream != nullptr; });
    if (taken > 0) {
        throw Error(
            SOTTO_ERROR_STATE,
            std::to_string(taken) + " streams of the model use slots: park these streams before you resize"
        );
    }
    if (const auto most = opened_.options.parallel; places > most) {
        throw invalid_argument(
            "number of slots",
            std::to_string(places),
            "at most " + std::to_string(most) + ", options.parallel"
        );
    }
    sequences_.clear();
    pool_ = nullptr; // and new contexts know of no threads
    threads_ = 0;
    make_places(*Call::current(), opened_, places);
    sequences_.resize(places);
    watch();
}

// Makes the memory of `stream` hold its first `keep` tokens and no more. Where it cannot be cut there, as
// with recurrent states and sliding windows, it is emptied. Says how many tokens are left.
std::size_t Model::cut_memory(const Stream& stream, std::size_t keep) {
    auto* memory = llama_get_memory(opened_.context.get());
    const auto sequence = stream.sequence;
    const auto window = llama_model_n_swa(opened_.weights.get());
    const auto end = stream.position(keep);
    if (keep > 0 && llama_memory_seq_rm(memory, sequence, end, -1) &&
        llama_memory_seq_pos_max(memory, sequence) == stream.last_position(keep)) {
        const auto oldest = llama_memory_seq_pos_min(memory, sequence);
        if (keeps_all() ? oldest == 0 : window == 0 || oldest <= std::max(0, end - window)) {
            return keep;
        }
    }
    llama_memory_seq_rm(memory, sequence, -1, -1);
    return 0;
}

bool Model::keeps_all() const {
    return sotto::llama::keeps_all(opened_.weights.get());
}

bool keeps_all(const llama_model* model) {
    return llama_model_n_swa(model) == 0 && !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model);
}

} // namespace sotto::llama
