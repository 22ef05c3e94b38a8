#include "core/codec/response_writer.hpp"

#include <utility>

#include "text/ordered_json.hpp"

namespace sotto {
namespace {

using Kind = Delta::Kind;

// ItemNames in the API: of an item's part, and of the events for its text.
struct ItemNames {
    const char* prefix; // of the item's id
    const char* delta;
    const char* done;
    const char* text; // member with the whole text
};

ItemNames names_of(Kind kind) noexcept {
    switch (kind) {
    case Kind::reasoning:
        return {"rs-", "response.reasoning_text.delta", "response.reasoning_text.done", "text"};
    case Kind::call:
        return {
            "fc-",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "arguments"
        };
    default:
        return {"msg-", "response.output_text.delta", "response.output_text.done", "text"};
    }
}

Ordered text_part(const std::string& text) {
    return {{"type", "output_text"}, {"text", text}, {"annotations", Ordered::array()}};
}

// Returns the member `timings` of an event; empty without counts.
std::string timings_member(const Counts* counts) {
    return counts == nullptr ? "" : ",\"timings\":" + timings_json(*counts);
}

} // namespace

ResponseWriter::ResponseWriter(
    const RespondTerms& terms, std::string model, std::int64_t created_s, std::vector<std::string> ignored
)
    : id_(terms.id), model_(std::move(model)), echo_(terms.echo), created_(created_s),
      ignored_(std::move(ignored)) {}

// Returns an item as JSON. `whole`: with its text.
template <typename Item>
static Ordered item_json(const Item& item, bool whole, const char* status) {
    Ordered json = {{"type", "message"}, {"id", item.id}, {"status", status}};
    switch (item.kind) {
    case Kind::reasoning:
        json["type"] = "reasoning";
        json["summary"] = Ordered::array();
        json["content"] = Ordered::array();
        if (whole) {
            json["content"].push_back({{"type", "reasoning_text"}, {"text", item.text}});
        }
        break;
    case Kind::call:
        json["type"] = "function_call";
        json["call_id"] = item.call_id;
        json["name"] = item.name;
        json["arguments"] = whole ? item.text : "";
        break;
    default:
        json["role"] = "assistant";
        json["content"] = Ordered::array();
        if (whole) {
            json["content"].push_back(text_part(item.text));
        }
    }
    return json;
}

// Returns the response as JSON. `counts`: null while the answer is not complete.
std::string ResponseWriter::json_of(const char* status, const Counts* counts) const {
    Ordered json = {{"id", id_}, {"object", "response"}, {"created_at", created_}, {"status", status}};
    json["error"] = nullptr;
    json["incomplete_details"] = nullptr;
    if (incomplete_ != nullptr) {
        json["incomplete_details"] = {{"reason", incomplete_}};
    }
    json["model"] = model_;
    json["output"] = Ordered::array();
    for (const auto& item : items_) {
        json["output"].push_back(item_json(item, true, item.complete ? "completed" : "incomplete"));
    }
    const auto echo = parse_ordered(echo_);
    for (const auto& [name, value] : echo.items()) {
        json[name] = value;
    }
    json["usage"] = nullptr;
    if (counts != nullptr) {
        json["usage"] = {
            {"input_tokens", counts->prompt},
            {"input_tokens_details", {{"cached_tokens", counts->cached}}},
            {"output_tokens", counts->generated},
            {"total_tokens", counts->prompt + counts->generated},
        };
    }
    if (!ignored_.empty()) {
        json["sotto"] = {{"ignored_fields", ignored_}};
    }
    return to_text(json);
}

// Returns an event of the stream. `members`: its members but type and number, as JSON without braces.
std::string ResponseWriter::event(const char* type, const std::string& members) {
    return std::string(R"({"type":")") + type + R"(","sequence_number":)" + std::to_string(sequence_++) +
           "," + members + "}";
}

void ResponseWriter::begin(std::vector<Chunk>& chunks) {
    if (std::exchange(begun_, true)) {
        return;
    }
    const auto response = R"("response":)" + json_of("in_progress", nullptr);
    chunks.push_back({event("response.created", response), ""});
    chunks.push_back({event("response.in_progress", response), ""});
}

bool ResponseWriter::continues(const Delta& delta) const noexcept {
    return !items_.empty() && !items_.back().complete && items_.back().kind == delta.kind &&
           (delta.kind != Kind::call || delta.name.empty());
}

ResponseWriter::Item& ResponseWriter::add_item(const Delta& delta) {
    // The response's id makes the items' ids unique.
    items_.push_back(
        {delta.kind,
         names_of(delta.kind).prefix + id_.substr(id_.find('-') + 1) + "-" + std::to_string(items_.size()),
         delta.id,
         delta.name,
         "",
         false}
    );
    return items_.back();
}

void ResponseWriter::replace(const std::string& text) {
    items_.clear();
    if (!text.empty()) {
        add_item({}).text = text;
    }
}

void ResponseWriter::open_item(std::vector<Chunk>& chunks, const Delta& delta) {
    if (!items_.empty()) {
        close_item(chunks, true);
    }
    const auto index = std::to_string(items_.size());
    const auto& item = add_item(delta);
    const auto at = R"("output_index":)" + index;
    chunks.push_back(
        {event(
             "response.output_item.added", at + R"(,"item":)" + to_text(item_json(item, false, "in_progress"))
         ),
         ""}
    );
    if (item.kind == Kind::text) {
        const auto place = R"("item_id":")" + item.id + R"(",)" + at + R"(,"content_index":0)";
        chunks.push_back(
            {event("response.content_part.added", place + R"(,"part":)" + to_text(text_part(""))), ""}
        );
    }
}

void ResponseWriter::close_item(std::vector<Chunk>& chunks, bool complete) {
    auto& item = items_.back();
    if (item.complete) {
        return;
    }
    const auto names = names_of(item.kind);
    if (item.kind == Kind::call) { // a call that was cut off has no arguments that parse
        complete = complete && (item.text.empty() || try_parse_ordered(item.text).is_object());
        item.text = item.text.empty() && complete ? "{}" : item.text;
    }
    item.complete = complete;
    const auto at = R"("output_index":)" + std::to_string(items_.size() - 1);
    const auto place = R"("item_id":")" + item.id + R"(",)" + at;
    const auto in_part = item.kind == Kind::call ? place : place + R"(,"content_index":0)";
    chunks.push_back(
        {event(names.done, in_part + ",\"" + names.text + "\":" + to_text(Ordered(item.text))), ""}
    );
    if (item.kind == Kind::text) {
        chunks.push_back(
            {event("response.content_part.done", in_part + R"(,"part":)" + to_text(text_part(item.text))), ""}
        );
    }
    const auto* status = complete ? "completed" : "incomplete";
    chunks.push_back(
        {event("response.output_item.done", at + R"(,"item":)" + to_text(item_json(item, true, status))), ""}
    );
}

std::vector<ResponseWriter::Chunk>
ResponseWriter::prefilled(const PrefillProgress& progress, const Counts* counts) {
    std::vector<Chunk> chunks;
    begin(chunks);
    const auto response = R"("response":)" + json_of("in_progress", nullptr);
    const auto told = R"(,"prompt_progress":)" + progress_json(progress) + timings_member(counts);
    chunks.push_back({event("response.in_progress", response + told), ""});
    return chunks;
}

std::vector<ResponseWriter::Chunk> ResponseWriter::add(const Delta& delta, const Counts* counts) {
    std::vector<Chunk> chunks;
    begin(chunks);
    if (!continues(delta)) {
        open_item(chunks, delta);
    }
    auto& item = items_.back();
    item.text += delta.text;
    if (!delta.text.empty()) {
        const auto place = R"("item_id":")" + item.id + R"(","output_index":)" +
                           std::to_string(items_.size() - 1) +
                           (item.kind == Kind::call ? "" : R"(,"content_index":0)");
        chunks.push_back(
            {event(
                 names_of(item.kind).delta,
                 place + R"(,"delta":)" + to_text(Ordered(delta.text)) + timings_member(counts)
             ),
             delta.text}
        );
    }
    return chunks;
}

std::vector<ResponseWriter::Chunk>
ResponseWriter::finish(sotto_finish finish, const Counts& counts, bool timed) {
    const bool cut = finish == SOTTO_FINISH_LENGTH || finish == SOTTO_FINISH_CONTENT_FILTER;
    if (cut) {
        incomplete_ = finish == SOTTO_FINISH_LENGTH ? "max_output_tokens" : "content_filter";
    }
    std::vector<Chunk> chunks;
    begin(chunks);
    if (items_.empty() && !cut) {
        open_item(chunks, {}); // an answer without text is an empty message
    }
    if (!items_.empty()) {
        close_item(chunks, !cut);
    }
    response_ = json_of(cut ? "incomplete" : "completed", &counts);
    const auto members = R"("response":)" + response_ + timings_member(timed ? &counts : nullptr);
    chunks.push_back({event(cut ? "response.incomplete" : "response.completed", members), ""});
    return chunks;
}

} // namespace sotto
