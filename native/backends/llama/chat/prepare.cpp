// Prepares requests: renders, tokenizes, and sets up sampling.
#include "chat/prepare.hpp"

#include "chat/jinja/limits.hpp"
#include "chat/settings.hpp"
#include "request/fields.hpp"
#include "runtime/json_parts.hpp"
#include "runtime/one_line.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::llama {
namespace {

Overflow overflow_of(const Json& body, Overflow otherwise) {
    const auto* requested = find(body, field::context_overflow);
    if (requested == nullptr) {
        return otherwise;
    }
    return *requested == "shift"      ? Overflow::Shift
           : *requested == "truncate" ? Overflow::Truncate
                                      : Overflow::Error;
}

// Returns the probabilities that the request wants.
TokenProbabilities probabilities_of(const Json& body) {
    TokenProbabilities wanted;
    wanted.after_sampling = flag(body, field::post_sampling_probs);
    const auto* value = find(body, field::logprobs);
    if (const auto native = value_or(body, field::n_probs, 0); native > 0) {
        wanted.alternatives = native;
    } else if (value == nullptr || *value == false) {
        wanted.alternatives = -1;
    } else if (value->is_number()) { // the request is a text completion
        wanted.alternatives = value->get<int>();
    } else {
        wanted.alternatives = value_or(body, field::top_logprobs, 0);
    }
    return wanted;
}

bool may_be_cut(const Json& messages) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (begins_turn(messages, i)) {
            return true;
        }
    }
    return false;
}

std::size_t bytes_of_all(const Json& messages) {
    std::size_t bytes = 0;
    for (const auto& message : messages) {
        bytes += bytes_of(message);
    }
    return bytes;
}

} // namespace

Preparer::Preparer(
    const llama_model* model, const Options& options, const Projector* projector, std::function<void()> poll
)
    : model_(model), projector_(projector), context_(options.context), batch_(options.batch),
      tokenizer_(llama_model_get_vocab(model)), constraints_(tokenizer_.vocab()) {
    if (options.chat_template.empty() && llama_model_chat_template(model, nullptr) == nullptr) {
        chat_problem_ = "the model has no chat template: use a text completion, or set options.chat_template";
        return;
    }
    const RenderLimits limits({}, std::move(poll)); // for all renders that detect the answer's format
    try {
        chat_ = std::make_unique<Chat>(model, tokenizer_, constraints_, options.chat_template);
        message_tokens_ = std::make_unique<MessageTokens>(tokenizer_, chat_->overhead(), context_);
        // throws if a render exceeded a limit, and llama.cpp swallowed the exception
        limits.check();
    } catch (const TemplateError& error) {
        throw Error(
            SOTTO_ERROR_MODEL,
            std::string("the model's chat template is refused: ") + error.what() +
                "; set options.chat_template to another one"
        );
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        limits.check();
        const auto reason = one_line(error.what());
        if (!options.chat_template.empty()) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid options.chat_template: " + reason +
                    "; correct the Jinja text, or remove the option to use the model's own template"
            );
        }
        chat_problem_ = "the model's chat template cannot be read: " + reason +
                        "; set options.chat_template to another one";
    }
}

const Chat& Preparer::chat() const {
    if (!chat_) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, chat_problem_);
    }
    return *chat_;
}

Json Preparer::capabilities() const {
    auto json = chat_ ? chat_->capabilities() : Json::object();
    const auto* vocab = tokenizer_.vocab();
    json["chat"] = chat_ != nullptr;
    json["vision"] = projector_ != nullptr && projector_->sees();
    json["audio"] = projector_ != nullptr && projector_->hears();
    json["infill"] =
        llama_vocab_fim_pre(vocab) != LLAMA_TOKEN_NULL && llama_vocab_fim_suf(vocab) != LLAMA_TOKEN_NULL;
    return json;
}

// Extracts the images and sounds from the messages of `body`, and returns them. Returns none if the model has
// no projector.
std::vector<Medium> Preparer::media_of(Json& body) const {
    if (projector_ == nullptr || !has_media(body)) {
        return {};
    }
    auto media = take_media(body, *projector_);
    for (const auto& medium : media) {
        for (const auto& stretch : medium.stretches) {
            if (stretch.together && stretch.tokens > batch_) {
                throw Error(
                    SOTTO_ERROR_UNSUPPORTED,
                    invalid(
                        "options.batch",
                        std::to_string(batch_),
                        "at least " + std::to_string(stretch.tokens) + ", the tokens of an image"
                    )
                );
            }
        }
    }
    return media;
}

// Tokenizes the parts of a prompt into `prepared`. Throws TooLong if the prompt has more than `max` tokens.
void Preparer::cut(
    const std::vector<PromptPart>& parts,
    const std::vector<Medium>& media,
    std::size_t max,
    Prepared& prepared
) const {
    prepared.stretches.clear();
    if (media.empty()) {
        prepared.prompt = tokenizer_.tokens(parts, max);
        return;
    }
    tokenizer_.check_length(parts, max);
    std::vector<llama_token> tokens;
    for (auto part = parts.begin(); part != parts.end();) {
        const auto next = std::find_if(part, parts.end(), [](const auto& one) { return one.medium >= 0; });
        const auto text = tokenizer_.cut(std::vector<PromptPart>(part, next));
        tokens.insert(tokens.end(), text.begin(), text.end());
        part = next;
        if (part == parts.end()) {
            break;
        }
        const auto& medium = media[static_cast<std::size_t>(part->medium)];
        for (auto stretch : medium.stretches) {
            stretch.begin += tokens.size();
            prepared.stretches.push_back(std::move(stretch));
        }
        tokens.insert(tokens.end(), medium.tokens.begin(), medium.tokens.end());
        ++part;
    }
    const auto old = tokens.size();
    tokenizer_.begin(tokens);
    for (auto& stretch : prepared.stretches) {
        stretch.begin += tokens.size() - old;
    }
    if (tokens.size() > max) {
        throw TooLong(std::to_string(tokens.size()), max);
    }
    prepared.prompt = std::move(tokens);
}

// Renders and tokenizes a conversation. Drops the oldest turns, up to a border (see Turns), if the
// conversation exceeds the context and the request allows truncation. The remaining prompt may fill the whole
// context if nothing more can be dropped.
ChatPrompt
Preparer::chat_prompt(const Json& body, const std::vector<Medium>& media, Prepared& prepared) const {
    ChatPrompt prompt;
    const auto fits = [&](const Json& shorter, std::size_t max) {
        prompt = chat().prompt(shorter);
        try {
            cut(prompt.parts, media, max, prepared);
            return true;
        } catch (const TooLong&) {
            return false;
        }
    };
    const auto& messages = body.at(field::messages.name);
    if (prepared.overflow == Overflow::Error || !may_be_cut(messages)) {
        check_length(messages);
        prompt = chat().prompt(body);
        cut(prompt.parts, media, context_, prepared);
        return prompt;
    }
    constexpr std::size_t kFew = 3; // bytes per token
    const auto max = context_ - room_for_answer(body);
    const bool is_short = bytes_of_all(messages) <= kFew * max;
    if (is_short && fits(body, max)) {
        return prompt;
    }
    const Turns turns(messages, media, *message_tokens_, context_, max);
    if (!is_short && turns.total() <= max + max / 2 && fits(body, max)) {
        return prompt;
    }
    for (auto begin = turns.first_cut();;) {
        const auto shorter = without_turns(body, begin);
        const auto& kept = shorter.at("messages");
        const auto next = turns.next_cut(begin);
        prepared.dropped = static_cast<std::uint32_t>(messages.size() - kept.size());
        if (next == begin) {
            check_length(kept);
            prompt = chat().prompt(shorter);
            cut(prompt.parts, media, context_, prepared);
            return prompt;
        }
        if (fits(shorter, max)) {
            return prompt;
        }
        begin = next;
    }
}

// Throws TooLong, without rendering, if the messages exceed the context many times over.
void Preparer::check_length(const Json& messages) const {
    constexpr std::size_t kTimes = 4; // factor: a template may omit some of the messages
    const auto min = bytes_of_all(messages) / tokenizer_.longest() + messages.size();
    if (min > kTimes * context_) {
        throw TooLong("more than " + std::to_string(min), context_);
    }
}

// Returns the number of tokens that a truncated prompt leaves free for the answer.
std::size_t Preparer::room_for_answer(const Json& body) const {
    const auto* max = find(body, field::max_completion_tokens);
    max = max != nullptr ? max : find(body, field::max_tokens);
    const std::size_t quarter = context_ / 4;
    return max == nullptr ? quarter : std::min<std::size_t>(quarter, max->get<std::uint64_t>());
}

std::vector<llama_token> Preparer::text_prompt(const Json& body) const {
    const auto& prompt = body.at(field::prompt.name);
    std::vector<llama_token> tokens;
    if (prompt.is_string()) {
        auto text = prompt.get<std::string>();
        if (overflow_of(body, Overflow::Error) == Overflow::Error) {
            return tokenizer_.tokens({{std::move(text), true}}, context_);
        }
        const auto max = context_ * tokenizer_.longest(); // more bytes than this are truncated in any case
        const auto surplus = text.size() - std::min(text.size(), max);
        return tokenizer_.tokens({{text.substr(surplus - surplus % max), true}}, SIZE_MAX);
    }
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        const auto token = prompt[i].get<std::int64_t>();
        if (!tokenizer_.exists(token)) {
            throw invalid_argument(
                "prompt[" + std::to_string(i) + "]",
                std::to_string(token),
                "a token of the model, 0 to " + std::to_string(tokenizer_.size() - 1)
            );
        }
        tokens.push_back(static_cast<llama_token>(token));
    }
    return tokens;
}

// Drops tokens at the start of a text completion's prompt if the prompt exceeds the context: a multiple of a
// fixed number of tokens. Throws TooLong if the request does not allow truncation.
void Preparer::take_tail(std::vector<llama_token>& prompt, const Json& body) const {
    if (prompt.size() <= context_) {
        return;
    }
    if (overflow_of(body, Overflow::Error) == Overflow::Error) {
        throw TooLong(std::to_string(prompt.size()), context_);
    }
    const auto max = context_ - room_for_answer(body);
    const auto piece = piece_for(context_, max);
    const auto pieces = (prompt.size() - max + piece - 1) / piece;
    prompt.erase(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(pieces * piece));
    tokenizer_.begin(prompt);
}

// Applies the grammar and triggers of the chat template's format to the sampler.
void Preparer::hold_to_form(common_params_sampling& how, const common_chat_params& form) const {
    for (const auto& spelling : form.preserved_tokens) {
        if (const auto tokens = tokenizer_.cut(spelling, true); tokens.size() == 1) {
            how.preserved_tokens.insert(tokens.front());
        }
    }
    how.generation_prompt = form.generation_prompt;
    if (!form.grammar.empty()) {
        how.grammar = {COMMON_GRAMMAR_TYPE_TOOL_CALLS, form.grammar};
        how.grammar_lazy = form.grammar_lazy;
    }
    for (auto trigger : form.grammar_triggers) {
        const auto tokens = trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD
                                ? tokenizer_.cut(trigger.value, true)
                                : std::vector<llama_token>();
        if (tokens.size() == 1 && how.preserved_tokens.contains(tokens.front())) {
            trigger.type = COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN;
            trigger.token = tokens.front();
        }
        how.grammar_triggers.push_back(std::move(trigger));
    }
}

namespace {

// Limits the number of reasoning tokens to "reasoning_budget_tokens" of the request, or to `otherwise` if the
// request sets no limit.
void limit_thinking(
    common_params_sampling& how,
    const common_chat_params& form,
    const Json& body,
    const Tokenizer& tokenizer,
    std::int32_t otherwise
) {
    if (form.thinking_end_tags.empty()) {
        return;
    }
    const auto requested = value_or(body, field::reasoning_budget_tokens, -1);
    how.reasoning_budget_tokens = requested < 0 ? otherwise : requested;
    how.reasoning_budget_start = tokenizer.cut(form.thinking_start_tag, true);
    for (const auto& tag : form.thinking_end_tags) {
        how.reasoning_budget_end.push_back(tokenizer.cut(tag, true));
    }
    how.reasoning_budget_forced =
        tokenizer.cut(value_or<std::string>(body, field::reasoning_budget_message, ""), false);
    const auto& end = how.reasoning_budget_end.front();
    how.reasoning_budget_forced.insert(how.reasoning_budget_forced.end(), end.begin(), end.end());
}

// Returns what surrounds the JSON of an answer in the template's format.
JsonFrame frame_of(const ChatPrompt& prompt, const Tokenizer& tokenizer) {
    const auto& how = prompt.how;
    JsonFrame frame;
    frame.lead_in_end = how.thinking_end_tags;
    if (!prompt.must_call) {
        return frame;
    }
    frame.is_call = true;
    frame.tail = tokenizer.cut("</tool_call>", true).size(); // about as long as the marker of any template
    for (const auto& call : prompt.shortest_calls) {
        frame.skeleton = std::max<std::uint64_t>(frame.skeleton, tokenizer.cut(call, false).size());
    }
    frame.lead_in_begin = how.thinking_start_tag;
    for (const auto& end : how.thinking_end_tags) {
        if (const auto tokens = tokenizer.cut(end, true); tokens.size() == 1) {
            frame.lead_in_end_token = tokens.front();
        }
    }
    const auto begins = how.thinking_start_tag.empty() ? std::string::npos
                                                       : how.generation_prompt.rfind(how.thinking_start_tag);
    frame.in_lead_in = begins != std::string::npos;
    for (const auto& end : how.thinking_end_tags) {
        frame.in_lead_in = frame.in_lead_in && how.generation_prompt.find(end, begins) == std::string::npos;
    }
    return frame;
}

// Returns the prompt without the negative placeholder tokens of media.
std::vector<llama_token> without_media(const std::vector<llama_token>& prompt) {
    std::vector<llama_token> text;
    std::copy_if(prompt.begin(), prompt.end(), std::back_inserter(text), [](auto token) {
        return token >= 0;
    });
    return text;
}

} // namespace

// Returns the maximum number of tokens of an answer.
std::uint64_t Preparer::room_for(const Prepared& prepared, const Json& body) const {
    const auto* max = find(body, field::max_completion_tokens);
    max = max != nullptr ? max : find(body, field::max_tokens);
    const std::uint64_t requested = max == nullptr ? UINT64_MAX : max->get<std::uint64_t>();
    const std::uint64_t taken = prepared.overflow == Overflow::Shift ? 0 : prepared.prompt.size();
    return std::min<std::uint64_t>(requested, context_ - std::min<std::uint64_t>(taken, context_));
}

Prepared Preparer::prepare(const sotto_stream_desc& desc, const Json& body) const {
    Prepared prepared;
    JsonFrame frame;
    auto how = sampling_of(body, tokenizer_, context_, desc.index);
    const auto op = desc.op != SOTTO_OP_SAVE_STATE        ? desc.op
                    : body.contains(field::messages.name) ? SOTTO_OP_CHAT
                                                          : SOTTO_OP_COMPLETION;
    if (op == SOTTO_OP_CHAT) {
        prepared.overflow = overflow_of(body, Overflow::Truncate);
        auto text = body; // a copy whose images and sounds are extracted
        const auto media = media_of(text);
        auto prompt = chat_prompt(text, media, prepared);
        hold_to_form(how, prompt.how);
        frame = frame_of(prompt, tokenizer_);
        // Half of the tokens are for the call. Closing limits reasoning that ends with one token: llama.cpp's
        // budget would also count text of a call that looks like reasoning.
        const bool limits = frame.is_call && frame.lead_in_end_token < 0;
        const auto half = static_cast<std::int32_t>(room_for(prepared, body) / 2);
        limit_thinking(how, prompt.how, body, tokenizer_, limits ? half : -1);
        prepared.parser = std::move(prompt.parser);
        prepared.stops = std::move(prompt.how.additional_stops);
        if (prepared.parser) {
            prepared.shown = how.preserved_tokens;
        }
    } else if (op == SOTTO_OP_COMPLETION || op == SOTTO_OP_INFILL) {
        prepared.overflow = overflow_of(body, Overflow::Truncate);
        take_text(op, body, prepared);
    } else {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "operation " + std::to_string(desc.op) + " is not supported by the llama backend"
        );
    }
    if (how.grammar.empty()) {
        how.grammar.grammar = constraints_.answer_grammar(body);
        how.grammar.type = how.grammar.grammar.empty() ? COMMON_GRAMMAR_TYPE_NONE : COMMON_GRAMMAR_TYPE_USER;
    }
    const bool in_json = !how.grammar_lazy && constraints_.answer_schema(body) != nullptr;
    // ignore_eos has no effect with a grammar, because a completed grammar allows only the end token
    if (how.ignore_eos && how.grammar.empty()) {
        for (const auto token : tokenizer_.ends()) {
            how.logit_bias.push_back({token, -INFINITY});
        }
    }
    prepared.reuse = flag(body, field::cache_prompt);
    prepared.slot = value_or(body, field::id_slot, kNoSlot);
    const auto* keep = find(body, field::n_keep);
    prepared.keep =
        keep == nullptr || *keep == -1
            ? static_cast<std::uint32_t>(std::min<std::size_t>(prepared.prompt.size(), context_ / 4))
            : static_cast<std::uint32_t>(std::min<std::uint64_t>(keep->get<std::uint64_t>(), context_ / 2));
    const auto probabilities = probabilities_of(body);
    if (flag(body, field::return_settings)) {
        prepared.settings = settings_of(body, how, probabilities, prepared);
    }
    prepared.sampler = std::make_unique<Sampler>(model_, tokenizer_, std::move(how), probabilities);
    if (in_json || frame.is_call) {
        prepared.sampler->close_within(room_for(prepared, body), std::move(frame));
    }
    prepared.sampler->heard(without_media(prepared.prompt));
    return prepared;
}

} // namespace sotto::llama
