// Parses request bodies.
#include "core/codec/codec.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "core/codec/checks.hpp"
#include "request/fields.hpp"
#include "request/operations.hpp"

namespace sotto {
namespace {

constexpr const char* kModel = "the id of a loaded model";

void check_prompt(const Fields& body) {
    const Json* prompt = body.find(field::prompt);
    const bool has_suffix = body.find(field::suffix) != nullptr;
    if (prompt == nullptr || !prompt->is_array()) {
        require_text(body, field::prompt, has_suffix);
    } else if (prompt->empty() || !prompt->front().is_object()) {
        check_tokens(body, field::prompt, false);
    } else if (has_suffix) {
        body.refuse(field::prompt, *prompt, "a string with suffix");
    } else {
        check_parts(*prompt, field::prompt.name);
    }
}

void check_infill(const Fields& body) {
    body.require(field::input_prefix, "a string");
    body.require(field::input_suffix, "a string");
    if (body.find(field::prompt) != nullptr) {
        require_text(body, field::prompt, true);
    }
    const Json* extra = body.find(field::input_extra);
    if (extra == nullptr) {
        return;
    }
    if (!extra->is_array()) {
        body.refuse(field::input_extra, *extra, "an array of objects with \"filename\" and \"text\"");
    }
    for (std::size_t i = 0; i < extra->size(); ++i) {
        const auto one = object_at(*extra, i, field::input_extra.name);
        require_text(one, "text", true);
        if (one.find("filename") != nullptr) {
            require_text(one, "filename", true);
        }
    }
}

std::vector<std::string> read_stops(const Fields& body) {
    constexpr auto& kStop = field::stop;
    const Json* stop = body.find(kStop);
    if (stop == nullptr) {
        return {};
    }
    const Json list = stop->is_array() ? *stop : Json::array({*stop});
    if (list.size() > kStop.items) {
        body.refuse(kStop, *stop, "at most " + std::to_string(kStop.items) + " strings");
    }
    std::vector<std::string> stops;
    for (const auto& one : list) {
        const bool fits = one.is_string() && !one.get_ref<const std::string&>().empty() &&
                          one.get_ref<const std::string&>().size() <= kStop.max_bytes;
        if (!fits) {
            body.refuse(kStop, one, "strings of 1 to " + std::to_string(kStop.max_bytes) + " bytes");
        }
        stops.push_back(one.get<std::string>());
    }
    return stops;
}

std::uint32_t read_max_tokens(const Fields& body) {
    const auto newer = body.integer(field::max_completion_tokens);
    const auto older = body.integer(field::max_tokens);
    return static_cast<std::uint32_t>(newer.value_or(older.value_or(UINT32_MAX)));
}

bool read_include_usage(const Fields& body) {
    const Json* options = body.find(field::stream_options);
    if (options == nullptr) {
        return false;
    }
    if (!options->is_object()) {
        body.refuse(field::stream_options, *options, "a JSON object");
    }
    return Fields(*options, field::stream_options.name).boolean("include_usage").value_or(false);
}

// `logprobs` is a boolean in chats and a count in text completions; `n_probs` is a count in both.
bool read_logprobs(const Fields& body, bool chat) {
    const bool native = body.integer(field::n_probs).value_or(0) > 0;
    if (!chat) {
        const Json* value = body.find(field::logprobs);
        const bool off = value != nullptr && *value == false;
        return native || (!off && body.integer(field::logprobs).has_value());
    }
    const bool value = body.boolean(field::logprobs).value_or(false);
    if (const Json* top = body.find(field::top_logprobs); top != nullptr && !value) {
        body.refuse(field::top_logprobs, *top, "no value without logprobs; set logprobs to true");
    }
    return value || native;
}

std::string read_echo(const Fields& body) {
    if (!body.boolean(field::echo).value_or(false)) {
        return {};
    }
    const Json* prompt = body.find(field::prompt);
    if (prompt == nullptr || !prompt->is_string() || body.find(field::logprobs) != nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid("echo", "true", "false unless prompt is a string, without logprobs")
        );
    }
    return prompt->get<std::string>();
}

OnBudget read_on_budget(const Fields& body) {
    const auto* value = body.choice(field::on_budget);
    if (value == nullptr || *value == "wait") {
        return OnBudget::wait;
    }
    return *value == "fail" ? OnBudget::fail : OnBudget::shrink;
}

std::string read_path(const Fields& body) {
    body.require(field::path, "a string that is not empty");
    return *body.text(field::path);
}

// Returns an empty path for a state that is passed in memory.
std::string read_state_path(const Fields& body) {
    const auto* path = body.text(field::path);
    return path == nullptr ? std::string() : *path;
}

std::vector<NamedFile> read_files(const Fields& body) {
    constexpr auto kFiles = field::files;
    const Json* files = body.find(kFiles);
    std::vector<NamedFile> read;
    if (files == nullptr) {
        return read;
    }
    if (!files->is_object() || files->size() > kFiles.items) {
        body.refuse(
            kFiles, *files, "an object of at most " + std::to_string(kFiles.items) + " names and paths"
        );
    }
    for (const auto& [name, path] : files->items()) {
        if (name.empty() || name.size() > kFiles.max_bytes) {
            throw invalid_argument(
                kFiles.name, excerpt(name), "names of 1 to " + std::to_string(kFiles.max_bytes) + " bytes"
            );
        }
        if (!path.is_string() || path.get_ref<const std::string&>().empty()) {
            const auto member = std::string(kFiles.name) + "." + excerpt(name);
            body.refuse(member.c_str(), path, "the path of a file");
        }
        read.push_back({name, path.get<std::string>()});
    }
    return read;
}

std::int32_t read_slot(const Fields& body) {
    return static_cast<std::int32_t>(body.integer(field::id_slot).value_or(-1));
}

void read_slots(const Fields& body, ParsedRequest& requested) {
    constexpr const char* kActions[] = {"list", "save", "restore", "erase"};
    const auto* action = body.choice(field::action);
    const auto* found =
        std::find(std::begin(kActions), std::end(kActions), action == nullptr ? "list" : *action);
    if (found == std::end(kActions)) {
        body.refuse(field::action, *body.find(field::action), "list, save, restore or erase");
    }
    requested.action = static_cast<SlotAction>(found - std::begin(kActions));
    if (requested.action == SlotAction::list) {
        return;
    }
    body.require(field::id_slot, "the number of a slot");
    requested.slot = read_slot(body);
    if (requested.slot < 0) {
        body.refuse(field::id_slot, *body.find(field::id_slot), "the number of a slot, from 0");
    }
    if (requested.action != SlotAction::erase) {
        requested.path = read_path(body);
    }
}

QuantizeTerms read_quantize(const Fields& body) {
    body.require(field::to_path, "the path of the new file");
    body.require(field::type, "the name of a type, such as Q4_K_M");
    const auto* imatrix = body.text(field::imatrix);
    return {
        *body.text(field::to_path),
        *body.text(field::type),
        imatrix == nullptr ? "" : *imatrix,
        static_cast<std::uint32_t>(body.integer(field::threads).value_or(0)),
    };
}

void read_completion(sotto_op op, const Fields& body, ParsedRequest& requested) {
    const bool chat = op == SOTTO_OP_CHAT;
    const bool in_session = !requested.session.id.empty();
    if (chat) {
        check_messages(body, in_session);
        check_tools(body);
        check_template_kwargs(body);
    } else if (op == SOTTO_OP_COMPLETION) {
        if (!in_session) {
            check_prompt(body);
        }
        requested.echo = read_echo(body);
    } else {
        check_infill(body);
    }
    check_sampling(body);
    requested.form = check_form(body);
    requested.answers = static_cast<std::uint32_t>(body.integer(field::n).value_or(1));
    if (in_session && requested.answers > 1) {
        body.refuse(field::n, *body.find(field::n), "1 in a session; fork the session for other answers");
    }
    requested.max_tokens = read_max_tokens(body);
    requested.stops = read_stops(body);
    requested.logprobs = read_logprobs(body, chat);
    requested.slot = read_slot(body);
    if (requested.slot >= 0 && requested.answers > 1) {
        body.refuse(
            field::id_slot, *body.find(field::id_slot), "-1 if n is more than 1; a slot has one answer"
        );
    }
    requested.return_tokens = body.boolean(field::return_tokens).value_or(false);
    requested.return_progress = body.boolean(field::return_progress).value_or(false);
    requested.timings_per_token = body.boolean(field::timings_per_token).value_or(false);
    requested.include_usage = read_include_usage(body);
}

bool may_be_in_session(sotto_op op) noexcept {
    return op == SOTTO_OP_CHAT || op == SOTTO_OP_APPLY_TEMPLATE || op == SOTTO_OP_SAVE_STATE;
}

bool is_completion(sotto_op op) noexcept {
    return op == SOTTO_OP_CHAT || op == SOTTO_OP_COMPLETION || op == SOTTO_OP_INFILL;
}

} // namespace

void check_tokens(const Fields& body, const char* key, bool may_be_empty) {
    const Json& tokens = body.require(key, "an array of tokens");
    if (!tokens.is_array() || (tokens.empty() && !may_be_empty)) {
        body.refuse(key, tokens, "an array of tokens");
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].is_number_integer() || tokens[i] > INT32_MAX) {
            body.refuse(element(key, i).c_str(), tokens[i], "a token's number");
        }
    }
}

std::vector<std::int32_t> read_tokens(const Fields& body, const char* key) {
    check_tokens(body, key, true);
    return body.find(key)->get<std::vector<std::int32_t>>();
}

std::string read_model(const Fields& body, bool needed) {
    const Json* model = needed ? &body.require(field::model, kModel) : body.find(field::model);
    if (model == nullptr) {
        return {};
    }
    if (!model->is_string() || model->get_ref<const std::string&>().empty()) {
        body.refuse(field::model, *model, kModel);
    }
    return model->get<std::string>();
}

AdaptersAsked read_adapters(const Fields& body) {
    constexpr auto& kLora = field::lora;
    constexpr double kMost = 1000;
    const Json* list = body.find(kLora);
    if (list == nullptr) {
        return std::nullopt;
    }
    if (!list->is_array() || list->size() > kLora.items) {
        const auto max = std::to_string(kLora.items);
        body.refuse(kLora, *list, "an array of at most " + max + " objects with \"name\" and \"scale\"");
    }
    std::vector<AdapterAsked> requested;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto one = object_at(*list, i, kLora.name);
        const Json& name = one.require("name", "the name of a loaded adapter");
        const bool fits = name.is_string() && !name.get_ref<const std::string&>().empty() &&
                          name.get_ref<const std::string&>().size() <= kLora.max_bytes;
        if (!fits) {
            one.refuse("name", name, "a string of 1 to " + std::to_string(kLora.max_bytes) + " bytes");
        }
        for (const auto& other : requested) {
            if (other.name == name.get_ref<const std::string&>()) {
                one.refuse("name", name, "each adapter once");
            }
        }
        const auto scale = one.number("scale", -kMost, kMost);
        requested.push_back({name.get<std::string>(), scale});
    }
    return requested;
}

bool is_at_once(sotto_op op) noexcept {
    return op == SOTTO_OP_TOKENIZE || op == SOTTO_OP_DETOKENIZE || op == SOTTO_OP_APPLY_TEMPLATE ||
           op == SOTTO_OP_RESTORE_STATE || op == SOTTO_OP_SLOTS;
}

bool is_operation(sotto_op op) noexcept {
    return op > 0 && op <= kLastOperation && kOperationNames[op] != nullptr;
}

const char* operation_name(sotto_op op) noexcept {
    return kOperationNames[op];
}

bool is_about_games(sotto_op op) noexcept {
    return op == SOTTO_OP_SAVE_GAME || op == SOTTO_OP_RESTORE_GAME;
}

bool is_about_images(sotto_op op) noexcept {
    return op == SOTTO_OP_IMAGE_GENERATE || op == SOTTO_OP_IMAGE_MATTE;
}

bool has_data(sotto_op op) noexcept {
    return (op >= SOTTO_OP_EMBED && op <= SOTTO_OP_RERANK) || is_about_images(op);
}

ParsedRequest read_request(sotto_op op, std::string_view text, const std::atomic<bool>* cancelled) {
    if (op == SOTTO_OP_RESPOND) {
        return read_respond(text, cancelled);
    }
    const Json object = parse_object(text, "request", cancelled);
    const Fields body(object, "");
    ParsedRequest requested;
    requested.unknown = check_names(op, object);
    check_values(op, body);
    const bool has_tokens = op == SOTTO_OP_SAVE_STATE && body.find(field::prompt) != nullptr &&
                            body.find(field::messages) == nullptr;
    if (may_be_in_session(op) && !has_tokens) {
        requested.session = read_in_session(body, text, cancelled);
    } else if (op == SOTTO_OP_COMPLETION || has_tokens) {
        requested.session = read_tokens_in_session(body, text, cancelled);
    } else if (const Json* session = body.find(field::session); session != nullptr && is_completion(op)) {
        body.refuse(
            field::session, *session, "no session outside of chats and completions; remove the field"
        );
    }
    if (is_about_games(op)) {
        requested.path = read_path(body);
        requested.files = read_files(body);
        return requested;
    }
    if (op == SOTTO_OP_QUANTIZE) {
        requested.path = read_path(body);
        requested.quantize = read_quantize(body);
        return requested;
    }
    if (op == SOTTO_OP_CHECK) {
        require_text(body, field::input, true);
        check_guardrails(body);
        return requested;
    }
    const bool in_session = !requested.session.id.empty();
    requested.model = read_model(body, !in_session);
    requested.on_budget = read_on_budget(body);
    if (is_completion(op) || op == SOTTO_OP_SAVE_STATE || op == SOTTO_OP_IMAGE_GENERATE) {
        requested.adapters = read_adapters(body);
    }
    switch (op) {
    case SOTTO_OP_TOKENIZE:
        body.require(field::content, "a string");
        break;
    case SOTTO_OP_DETOKENIZE:
        check_tokens(body, field::tokens, true);
        break;
    case SOTTO_OP_APPLY_TEMPLATE:
        check_messages(body, in_session);
        check_tools(body);
        check_template_kwargs(body);
        check_form(body);
        break;
    case SOTTO_OP_SAVE_STATE:
        requested.path = read_state_path(body);
        requested.max_tokens = 1; // the step that prefills the last prompt token generates one token
        if (requested.session.holds_tokens) {
            // the tokens were checked
        } else if (in_session || body.find(field::messages) != nullptr) {
            check_messages(body, in_session);
            check_tools(body);
            check_template_kwargs(body);
        } else {
            check_prompt(body);
        }
        check_sampling(body); // the backend parses the body like that of a completion
        check_form(body);
        read_logprobs(body, body.find(field::prompt) == nullptr);
        break;
    case SOTTO_OP_RESTORE_STATE:
        requested.path = read_state_path(body);
        break;
    case SOTTO_OP_SLOTS:
        read_slots(body, requested);
        break;
    case SOTTO_OP_EMBED:
    case SOTTO_OP_TRANSCRIBE:
    case SOTTO_OP_TRANSLATE:
    case SOTTO_OP_RERANK:
        check_data(op, body);
        break;
    case SOTTO_OP_IMAGE_GENERATE:
    case SOTTO_OP_IMAGE_MATTE:
        check_image(op, body);
        requested.return_progress = true;
        break;
    default:
        read_completion(op, body, requested);
    }
    return requested;
}

} // namespace sotto
