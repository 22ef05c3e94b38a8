// Checks the bodies of data operations: embeddings, reranking, transcription and translation.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "request/fields.hpp"

namespace sotto {
namespace {

constexpr std::size_t kMaxTokens = 1 << 20; // of one text; the backend checks them against its context

bool is_text(const Json& one) {
    return one.is_string();
}

bool is_token(const Json& one) {
    return one.is_number_integer() && one >= 0 && one <= INT32_MAX;
}

bool is_list(const Json& value, std::size_t max, bool (*is_element)(const Json&)) {
    return value.is_array() && !value.empty() && value.size() <= max &&
           std::all_of(value.begin(), value.end(), is_element);
}

bool is_tokens(const Json& one) {
    return is_list(one, kMaxTokens, is_token);
}

void check_texts(const Fields& body) {
    constexpr auto& kInput = field::input;
    constexpr const char* kExpected = "a string, or an array of 1 to 2,048 strings";
    static_assert(kInput.items == 2048);
    const Json& input = body.require(kInput, kExpected);
    if (!is_text(input) && !is_list(input, kInput.items, is_text)) {
        body.refuse(kInput, input, kExpected);
    }
}

// Checks the input of embeddings: a text, texts, tokens, or arrays of tokens.
void check_embed(const Fields& body) {
    constexpr auto& kInput = field::input;
    constexpr const char* kExpected =
        "a string, or an array of 1 to 2,048 strings, an array of tokens, or an array of such arrays";
    const Json& input = body.require(kInput, kExpected);
    if (!is_text(input) && !is_list(input, kInput.items, is_text) && !is_tokens(input) &&
        !is_list(input, kInput.items, is_tokens)) {
        body.refuse(kInput, input, kExpected);
    }
}

void check_rerank(const Fields& body) {
    constexpr auto& kDocuments = field::documents;
    constexpr const char* kExpected = "an array of 1 to 2,048 strings, or objects with \"text\"";
    static_assert(kDocuments.items == 2048);
    body.require(field::query, "a string that is not empty");
    const Json& documents = body.require(kDocuments, kExpected);
    const auto is_document = [](const Json& one) {
        const auto text = one.is_object() ? one.find("text") : one.end();
        return is_text(one) || (one.is_object() && text != one.end() && is_text(*text));
    };
    if (!is_list(documents, kDocuments.items, is_document)) {
        body.refuse(kDocuments, documents, kExpected);
    }
}

void check_sound(const Fields& body) {
    const Json* sound = body.find(field::input_audio);
    if (sound == nullptr) {
        body.require(field::file, "the path of a file of sound, unless input_audio is given");
        return;
    }
    if (body.find(field::file) != nullptr) {
        body.refuse(field::input_audio, *sound, "no value beside file; remove one of the two");
    }
    if (!sound->is_object()) {
        body.refuse(field::input_audio, *sound, "an object with \"data\" and \"format\"");
    }
    const Fields parts(*sound, field::input_audio.name);
    require_text(parts, "data", true);
    require_text(parts, "format", true);
    constexpr double kMaxHertz = 768'000;
    parts.integer("sample_rate", 1, kMaxHertz);
}

void check_granularities(const Fields& body) {
    constexpr auto& kTimes = field::timestamp_granularities;
    const Json* times = body.find(kTimes);
    const auto is_known = [](const Json& one) { return one == "segment" || one == "word"; };
    const bool fits = times == nullptr || (times->is_array() && times->size() <= kTimes.items &&
                                           std::all_of(times->begin(), times->end(), is_known));
    if (!fits) {
        body.refuse(kTimes, *times, "an array of \"segment\" and \"word\"");
    }
}

} // namespace

void require_text(const Fields& body, const char* key, bool may_be_empty) {
    const Json& text = body.require(key, "a string");
    if (!text.is_string() || (!may_be_empty && text.get_ref<const std::string&>().empty())) {
        body.refuse(key, text, may_be_empty ? "a string" : "a string that is not empty");
    }
}

void check_guardrails(const Fields& body) {
    constexpr std::size_t kMaxText = std::size_t{16} << 20;
    const auto& text = body.find(field::input)->get_ref<const std::string&>();
    if (text.size() > kMaxText) {
        throw invalid_argument(
            field::input.name,
            std::to_string(text.size()) + " bytes",
            "at most " + std::to_string(kMaxText) + " bytes; check it in parts"
        );
    }
    const Json* own = body.find(field::guardrails);
    if (own != nullptr && !own->is_object()) {
        body.refuse(field::guardrails, *own, "an object of stages, as sotto_guard_create() takes it");
    }
}

void check_data(sotto_op op, const Fields& body) {
    switch (op) {
    case SOTTO_OP_EMBED:
        return check_embed(body);
    case SOTTO_OP_RERANK:
        return check_rerank(body);
    case SOTTO_OP_TRANSLATE:
        return check_texts(body);
    default:
        break;
    }
    check_sound(body);
    check_granularities(body);
    if (const Json* prompt = body.find(field::prompt); prompt != nullptr && !prompt->is_string()) {
        body.refuse(field::prompt, *prompt, "a string");
    }
}

} // namespace sotto
