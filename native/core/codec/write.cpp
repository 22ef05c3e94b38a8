// Writes responses and chunks.
#include "core/codec/codec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/codec/token_reports.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

const char* finish_name(sotto_finish finish) noexcept {
    switch (finish) {
    case SOTTO_FINISH_LENGTH:
        return "length";
    case SOTTO_FINISH_TOOL_CALLS:
        return "tool_calls";
    case SOTTO_FINISH_CONTENT_FILTER:
        return "content_filter";
    default:
        return "stop";
    }
}

double rounded(double ms) {
    constexpr double kThousandth = 1000;
    return std::round(ms * kThousandth) / kThousandth;
}

Ordered usage(const Counts& counts) {
    return {
        {"prompt_tokens", counts.prompt},
        {"completion_tokens", counts.generated},
        {"total_tokens", counts.prompt + counts.generated},
        {"prompt_tokens_details", {{"cached_tokens", counts.cached}}},
    };
}

// Adds the number of tokens and their time to `json`, under names that begin with `name`. `timed`: the number
// of tokens that took the time.
void add_rate(Ordered& json, const std::string& name, std::uint32_t tokens, std::uint32_t timed, double ms) {
    constexpr double kSecond = 1000; // ms
    const auto time = rounded(ms);
    json[name + "_n"] = tokens;
    json[name + "_ms"] = time;
    json[name + "_per_token_ms"] = timed > 0 ? time / timed : 0;
    json[name + "_per_second"] = time > 0 ? kSecond * timed / time : 0;
}

Ordered timings(const Counts& counts) {
    Ordered json = {{"cache_n", counts.cached}};
    const auto prefilled = counts.prompt - counts.cached;
    add_rate(json, "prompt", prefilled, prefilled, counts.prompt_ms);
    const auto later =
        counts.generated - std::min(counts.generated, 1U); // the first token comes from prefill
    add_rate(json, "predicted", counts.generated, later, counts.generated_ms);
    json["first_token_ms"] = rounded(counts.first_token_ms);
    if (counts.drafted > 0) {
        json["draft_n"] = counts.drafted;
        json["draft_n_accepted"] = std::min(counts.accepted, counts.drafted);
    }
    if (counts.dropped > 0) {
        json["dropped_messages"] = counts.dropped;
    }
    return json;
}

Ordered progress_of(const PrefillProgress& progress) {
    return {
        {"total", progress.total},
        {"cache", progress.cached},
        {"processed", progress.processed},
        {"time_ms", rounded(progress.ms)},
    };
}

Ordered head(const std::string& id, const char* object, std::int64_t created, const std::string& model) {
    return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
}

Ordered function_call(const Call& call) {
    return {
        {"id", call.id},
        {"type", "function"},
        {"function", {{"name", call.name}, {"arguments", call.arguments}}},
    };
}

Ordered call_delta(const Delta& delta) {
    Ordered call = {{"index", delta.call}};
    Ordered function = Ordered::object();
    if (!delta.name.empty()) {
        call["id"] = delta.id;
        call["type"] = "function";
        function["name"] = delta.name;
    }
    function["arguments"] = delta.text;
    call["function"] = std::move(function);
    return Ordered::array({std::move(call)});
}

Ordered message_of(const CompleteAnswer& complete) {
    Ordered message = {{"role", "assistant"}, {"content", complete.text}};
    if (complete.text.empty() && !complete.calls.empty()) {
        message["content"] = nullptr;
    }
    if (!complete.reasoning.empty()) {
        message["reasoning_content"] = complete.reasoning;
    }
    if (!complete.calls.empty()) {
        message["tool_calls"] = Ordered::array();
        for (const auto& call : complete.calls) {
            message["tool_calls"].push_back(function_call(call));
        }
    }
    return message;
}

const char* name_of(StopType stop) noexcept {
    constexpr const char* kNames[] = {"none", "eos", "limit", "word"};
    return kNames[static_cast<std::size_t>(stop)];
}

// Adds why an answer ended.
void add_end(Ordered& choice, const CompleteAnswer& complete) {
    const auto has_line = [](const std::string& text) { return text.find('\n') != std::string::npos; };
    choice["finish_reason"] = finish_name(complete.finish);
    choice["stop_type"] = name_of(complete.stop);
    choice["stopping_word"] = complete.stopping_word;
    choice["has_new_line"] = has_line(complete.text) || has_line(complete.reasoning);
}

// Adds what the last chunk and the response have in common.
void add_report(
    Ordered& whole, const ResponseParts& parts, const std::string& settings, const Counts& counts
) {
    if (!parts.fingerprint.empty()) {
        whole["system_fingerprint"] = parts.fingerprint;
    }
    whole["truncated"] = counts.truncated;
    if (counts.slot >= 0) {
        whole["id_slot"] = counts.slot;
    }
    whole["timings"] = timings(counts);
    if (!settings.empty()) {
        whole["generation_settings"] = parse_ordered(settings);
    }
    if (!parts.ignored.empty()) {
        whole["sotto"] = {{"ignored_fields", parts.ignored}};
    }
}

} // namespace

std::string timings_json(const Counts& counts) {
    return to_text(timings(counts));
}

std::string progress_json(const PrefillProgress& progress) {
    return to_text(progress_of(progress));
}

Writer::Writer(
    sotto_op op, sotto_request request, std::string model, std::int64_t created_s, ResponseParts parts
)
    : op_(op), id_((op == SOTTO_OP_CHAT ? "chatcmpl-" : "cmpl-") + std::to_string(request)),
      model_(std::move(model)), created_(created_s), parts_(std::move(parts)) {}

// Returns true on the first call with `index`: the next chunk is the first one of that answer.
bool Writer::first(std::uint32_t index) {
    if (began_.size() <= index) {
        began_.resize(index + 1);
    }
    const bool was = began_[index];
    began_[index] = true;
    return !was;
}

const char* Writer::chunk_object() const noexcept {
    return is_chat() ? "chat.completion.chunk" : "text_completion";
}

std::string Writer::chunk(
    std::uint32_t index, const Delta& delta, const std::vector<TokenReport>& reports, const Counts* counts
) {
    Ordered choice = {{"index", index}};
    auto whole = head(id_, chunk_object(), created_, model_);
    if (is_chat()) {
        Ordered json = Ordered::object();
        if (first(index)) {
            json["role"] = "assistant";
        }
        switch (delta.kind) {
        case Delta::Kind::text:
            json["content"] = delta.text;
            break;
        case Delta::Kind::reasoning:
            json["reasoning_content"] = delta.text;
            break;
        case Delta::Kind::call:
            json["tool_calls"] = call_delta(delta);
            break;
        }
        choice["delta"] = std::move(json);
    } else {
        choice["text"] = delta.text;
    }
    add_reports(choice, reports, is_chat(), parts_);
    choice["finish_reason"] = nullptr;
    whole["choices"] = Ordered::array({std::move(choice)});
    if (counts != nullptr) {
        whole["timings"] = timings(*counts);
    }
    return to_text(whole);
}

std::string
Writer::progress_chunk(std::uint32_t index, const PrefillProgress& progress, const Counts* counts) {
    auto whole = head(id_, chunk_object(), created_, model_);
    Ordered choice = {{"index", index}};
    if (is_chat()) {
        choice["delta"] = first(index) ? Ordered{{"role", "assistant"}} : Ordered::object();
    } else {
        choice["text"] = "";
    }
    choice["finish_reason"] = nullptr;
    whole["choices"] = Ordered::array({std::move(choice)});
    whole["prompt_progress"] = progress_of(progress);
    if (counts != nullptr) {
        whole["timings"] = timings(*counts);
    }
    return to_text(whole);
}

std::string Writer::last_chunk(
    std::uint32_t index,
    const CompleteAnswer& complete,
    const std::vector<TokenReport>& reports,
    const Counts& counts,
    bool replaced
) {
    auto whole = head(id_, chunk_object(), created_, model_);
    Ordered choice = {{"index", index}};
    if (is_chat()) {
        choice["delta"] = first(index) ? Ordered{{"role", "assistant"}} : Ordered::object();
    } else {
        choice["text"] = "";
    }
    add_reports(choice, reports, is_chat(), parts_);
    add_end(choice, complete);
    whole["choices"] = Ordered::array({std::move(choice)});
    add_report(whole, parts_, settings_, counts);
    if (replaced) {
        whole["sotto"]["replacement"] = complete.text;
    }
    return to_text(whole);
}

std::string Writer::usage_chunk(const Counts& counts) const {
    auto whole = head(id_, chunk_object(), created_, model_);
    whole["choices"] = Ordered::array();
    whole["usage"] = usage(counts);
    return to_text(whole);
}

std::string Writer::response(const std::vector<CompleteAnswer>& answers, const Counts& counts) const {
    auto whole = head(id_, is_chat() ? "chat.completion" : "text_completion", created_, model_);
    whole["choices"] = Ordered::array();
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto& complete = answers[i];
        Ordered choice = {{"index", i}};
        if (is_chat()) {
            choice["message"] = message_of(complete);
        } else {
            choice["text"] = complete.text;
        }
        add_reports(choice, complete.reports, is_chat(), parts_);
        add_end(choice, complete);
        whole["choices"].push_back(std::move(choice));
    }
    whole["usage"] = usage(counts);
    add_report(whole, parts_, settings_, counts);
    return to_text(whole);
}

std::string Writer::call(const Call& call) {
    return to_text(function_call(call));
}

std::string Writer::message(const CompleteAnswer& complete) {
    auto message = message_of(complete);
    message.erase("reasoning_content");
    return to_text(message);
}

} // namespace sotto
