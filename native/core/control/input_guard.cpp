#include "core/control/input_guard.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "request/fields.hpp"
#include "text/json_reader.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

using guard::Action;
using guard::Stage;

// Called with a text of a body, its path, and whether it is new in the conversation.
using Visit = std::function<void(Ordered& text, const std::string& path, bool is_new)>;

bool is_text_part(const Ordered& part) {
    return part.is_object() && part.contains("text") && part["text"].is_string();
}

Ordered joined(const Ordered& parts, std::size_t first, std::size_t end, std::string_view separator) {
    auto text = parts[first]["text"].get<std::string>();
    for (auto i = first + 1; i < end; ++i) {
        text.append(separator).append(parts[i]["text"].get_ref<const std::string&>());
    }
    return text;
}

// Visits neighbouring text parts as one text: a model reads them as one. Chat templates join them with a line
// break; a phrase may also be split within a word. If the text is rewritten, the parts become one. Returns
// their end.
std::size_t visit_neighbours(
    Ordered& parts,
    std::size_t first,
    std::size_t end,
    const std::string& path,
    bool is_new,
    const Visit& visit
) {
    for (const std::string_view separator : {"", "\n"}) {
        const bool last = separator == "\n";
        if (!last && end - first == 1) {
            continue;
        }
        const auto before = joined(parts, first, end, separator);
        auto text = before;
        visit(text, path, is_new && last);
        if (text != before) {
            parts[first]["text"] = std::move(text);
            const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
            parts.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(end - first));
            end = first + 1;
        }
    }
    return end;
}

// Visits a string, or each text of a list of strings or content parts.
void visit_texts(Ordered& value, const std::string& path, bool is_new, const Visit& visit) {
    if (value.is_string()) {
        visit(value, path, is_new);
    }
    for (std::size_t i = 0; value.is_array() && i < value.size();) {
        const auto where = path + "[" + std::to_string(i) + "]";
        if (!is_text_part(value[i])) {
            if (value[i].is_string()) {
                visit(value[i], where, is_new);
            }
            ++i;
            continue;
        }
        auto end = i + 1;
        while (end < value.size() && is_text_part(value[end])) {
            ++end;
        }
        i = visit_neighbours(value, i, end, where + ".text", is_new, visit);
    }
}

// Visits the texts of the user's messages in a list of messages or items.
void visit_messages(Ordered& messages, const std::string& path, const Visit& visit) {
    std::size_t first_new = 0;
    const auto role = [&](std::size_t i) {
        return messages[i].is_object() ? messages[i].value("role", Ordered()) : Ordered();
    };
    for (std::size_t i = 0; i < messages.size(); ++i) {
        first_new = role(i) == "assistant" ? i + 1 : first_new;
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (role(i) == "user" && messages[i].contains("content")) {
            const auto where = path + "[" + std::to_string(i) + "].content";
            visit_texts(messages[i]["content"], where, i >= first_new, visit);
        }
    }
}

// Visits the texts of a body that players write.
void visit_body(sotto_op op, Ordered& body, const Visit& visit) {
    const auto list = [&](const char* field) {
        if (body.contains(field) && body[field].is_array()) {
            visit_messages(body[field], field, visit);
        }
    };
    switch (op) {
    case SOTTO_OP_CHAT:
        return list("messages");
    case SOTTO_OP_RESPOND:
        if (body.contains("input") && body["input"].is_string()) {
            return visit(body["input"], "input", true);
        }
        return list("input");
    default:
        for (const auto* field : {"prompt", "input_prefix", "input_suffix"}) {
            if (body.contains(field)) {
                visit_texts(body[field], field, true, visit);
            }
        }
    }
}

bool has_texts(sotto_op op) noexcept {
    return op == SOTTO_OP_CHAT || op == SOTTO_OP_RESPOND || op == SOTTO_OP_COMPLETION ||
           op == SOTTO_OP_INFILL || op == SOTTO_OP_IMAGE_GENERATE;
}

// Replaces a text as its verdict says. Returns true if the text was rewritten.
bool apply(guard::Verdict verdict, Ordered& text, const std::string& path) {
    if (verdict.action == Action::block) {
        throw Error(
            SOTTO_ERROR_BLOCKED, path + ": blocked by guardrail '" + verdict.checker + "': " + verdict.reason
        );
    }
    if (verdict.action != Action::rewrite) {
        return false;
    }
    text = std::move(verdict.rewritten);
    return true;
}

GuardedTexts unchecked_by(std::shared_ptr<const guard::Guard> guard, Stage stage) {
    return {.guard = std::move(guard), .stage = stage, .check_all = false, .texts = {}};
}

void add(GuardedTexts& texts, std::string path, std::string text) {
    if (texts.guard->model_rules(texts.stage).empty()) {
        return;
    }
    texts.texts.push_back({std::move(path), std::move(text)});
    check_size(texts.texts.back());
}

std::shared_ptr<const guard::Guard> guard_in(const Json& config) {
    try {
        return std::make_shared<const guard::Guard>(to_text(config));
    } catch (const Error& error) {
        throw Error(error.status(), std::string("guardrails: ") + error.what());
    }
}

Stage stage_named(const std::string* name) {
    return name == nullptr || *name == "input" ? Stage::input
           : *name == "output"                 ? Stage::output
                                               : Stage::image_prompt;
}

} // namespace

GuardedBody guarded_body(
    const std::shared_ptr<const guard::Guard>& guard,
    sotto_op op,
    std::string_view body,
    const std::atomic<bool>* cancelled
) {
    const auto stage = op == SOTTO_OP_IMAGE_GENERATE ? Stage::image_prompt : Stage::input;
    GuardedBody guarded{std::nullopt, unchecked_by(guard, stage)};
    if (!has_texts(op) || guard->is_empty(stage)) {
        return guarded;
    }
    auto request = parse_ordered(body, cancelled);
    bool rewritten = false;
    visit_body(op, request, [&](Ordered& text, const std::string& path, bool is_new) {
        rewritten = apply(guard->check(stage, text.get_ref<const std::string&>()), text, path) || rewritten;
        if (is_new) {
            add(guarded.unchecked, path, text.get<std::string>());
        }
    });
    if (rewritten) {
        guarded.rewritten = to_text(request);
    }
    return guarded;
}

std::optional<std::string> guarded_body(
    const std::vector<GuardedText>& texts,
    const std::vector<guard::Verdict>& verdicts,
    sotto_op op,
    std::string_view body
) {
    const auto alters = [](const auto& verdict) { return verdict.action != Action::allow; };
    if (std::ranges::none_of(verdicts, alters)) {
        return std::nullopt;
    }
    auto request = parse_ordered(body);
    visit_body(op, request, [&](Ordered& text, const std::string& path, bool is_new) {
        if (!is_new) {
            return;
        }
        const auto found = std::ranges::find(texts, path, &GuardedText::path);
        const auto index = static_cast<std::size_t>(found - texts.begin());
        if (index < verdicts.size()) {
            apply(verdicts[index], text, path);
        }
    });
    return to_text(request);
}

CheckedText checked_text(
    std::shared_ptr<const guard::Guard> guard, std::string_view body, const std::atomic<bool>* cancelled
) {
    const auto object = parse_object(body, "request", cancelled);
    const Fields fields(object, "");
    if (const auto* own = fields.find(field::guardrails)) {
        guard = guard_in(*own);
    }
    if (guard == nullptr) {
        throw Error(
            SOTTO_ERROR_STATE,
            "guardrails are not configured: create the engine with them, or add the field 'guardrails'"
        );
    }
    const auto stage = stage_named(fields.choice(field::stage));
    const auto& text = fields.require(field::input, "a string").get_ref<const std::string&>();
    CheckedText checked{guard->check(stage, text), unchecked_by(guard, stage)};
    if (checked.verdict.action != Action::block) {
        const bool rewritten = checked.verdict.action == Action::rewrite;
        add(checked.unchecked, field::input.name, rewritten ? checked.verdict.rewritten : text);
    }
    return checked;
}

} // namespace sotto
