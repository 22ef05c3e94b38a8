// Samples the next token.
#include "token/sampler.hpp"

#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <ranges>
#include <span>

namespace sotto::llama {
namespace {

// Returns true if a logit bias bans a token.
bool is_ban(const llama_logit_bias& bias) {
    return bias.bias == -INFINITY;
}

// Returns true if a grammar applies from the answer's first token. llama.cpp applies all other grammars:
// those that wait for a trigger, or for the end of reasoning with a token budget.
bool applies_at_once(const common_params_sampling& how) {
    return !how.grammar.grammar.empty() && !how.grammar_lazy && how.reasoning_budget_tokens < 0 &&
           !how.reasoning_control;
}

// Returns true if sampling always chooses the most likely token.
bool is_greedy(const common_params_sampling& how) {
    const bool penalties = how.penalty_last_n != 0 &&
                           (how.penalty_repeat != 1 || how.penalty_freq != 0 || how.penalty_present != 0);
    return how.temp <= 0 && how.dynatemp_range <= 0 && how.mirostat == 0 && how.dry_multiplier == 0 &&
           std::all_of(how.logit_bias.begin(), how.logit_bias.end(), is_ban) && how.grammar.grammar.empty() &&
           how.reasoning_budget_tokens < 0 && !penalties;
}

// Returns the entry of a token in the probabilities of a choice.
Json entry_of(llama_token token, const std::string& piece, const char* name, double probability) {
    Json bytes = Json::array();
    for (const unsigned char byte : piece) {
        bytes.push_back(byte);
    }
    return {{"id", token}, {"token", piece}, {name, probability}, {"bytes", std::move(bytes)}};
}

} // namespace

Sampler::Sampler(
    const llama_model* model,
    const Tokenizer& tokenizer,
    common_params_sampling how,
    TokenProbabilities wanted
)
    : tokenizer_(tokenizer), has_grammar_(!how.grammar.grammar.empty()), shown_(how.preserved_tokens),
      bytes_(tokenizer.inner()), wanted_(wanted) {
    if (applies_at_once(how)) {
        follow_grammar(how);
    }
    if (is_greedy(how)) {
        banned_.assign(tokenizer.suppressed().begin(), tokenizer.suppressed().end());
        for (const auto& bias : how.logit_bias) {
            banned_.push_back(bias.token);
        }
        return;
    }
    try {
        sampler_.reset(common_sampler_init(model, how));
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        throw Error(SOTTO_ERROR_ARGUMENT, std::string("llama.cpp rejects the grammar: ") + error.what());
    }
}

// Makes AnswerGrammar apply the grammar instead of llama.cpp, if AnswerGrammar supports the grammar. If the
// grammar also describes the text with which the template begins the answer, advances the grammar by that
// text.
void Sampler::follow_grammar(common_params_sampling& how) {
    const auto text_of = [this](llama_token token) { return tokenizer_.piece_of(token); };
    try {
        grammar_.emplace(
            how.grammar.grammar,
            AnswerGrammar::Vocabulary{tokenizer_.vocab(), tokenizer_.texts(), tokenizer_.ends(), text_of}
        );
        if (!grammar_->is_usable()) {
            grammar_.reset();
            return;
        }
    } catch (const std::exception& error) {
        throw_if_out_of_memory(error);
        throw Error(SOTTO_ERROR_ARGUMENT, std::string("llama.cpp rejects the grammar: ") + error.what());
    }
    const auto& begun = how.generation_prompt;
    if (!begun.empty() && common_grammar_needs_prefill(how.grammar)) {
        const auto tokens = tokenizer_.cut(begun, true);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const auto piece = tokenizer_.piece_of(tokens[i]);
            if (i == 0 && std::isspace(static_cast<unsigned char>(piece[0])) != 0 &&
                std::isspace(static_cast<unsigned char>(begun[0])) == 0) {
                continue; // some tokenizers put a space before the first special token
            }
            if (!grammar_->accept(piece)) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT,
                    "llama.cpp rejects the grammar: it does not begin as the template does"
                );
            }
        }
    }
    how.grammar = {};
}

void Sampler::close_within(std::uint64_t limit, JsonFrame frame) {
    closing_.emplace(tokenizer_.closing(), limit, std::move(frame));
}

void Sampler::heard(const std::vector<llama_token>& prompt) {
    if (sampler_) {
        for (const auto token : prompt) {
            common_sampler_accept(sampler_.get(), token, false);
        }
    }
}

llama_token Sampler::choose(llama_context* context, std::int32_t output) {
    auto* logits = llama_get_logits_ith(context, output);
    check(logits);
    const bool tells = wanted_.alternatives >= 0;
    if (tells && !wanted_.after_sampling) {
        logits_.assign(logits, logits + tokenizer_.size());
    }
    if (has_grammar_) {
        keep_to_grammar(logits);
    }
    const auto token = sampler_ ? sampled(context, output, logits) : greedy(logits);
    if (has_grammar_) {
        say(token);
    }
    if (tells && wanted_.after_sampling) {
        tell_sampled(token);
    } else if (tells) {
        tell(logits_.data(), token);
    }
    return token;
}

void Sampler::say(llama_token token) {
    if (grammar_ && !tokenizer_.ends_answer(token) && !grammar_->accept(tokenizer_.piece_of(token))) {
        throw Error(SOTTO_ERROR_INFERENCE, "the grammar allows none of the model's tokens here");
    }
    if (shown_.contains(token)) {
        text_ = tokenizer_.piece_of(token);
    } else {
        tokenizer_.text_of(token, text_);
    }
    bytes_.said(text_);
    if (closing_) {
        closing_->said(text_);
    }
}

bool Sampler::grammar_allows(llama_token token) {
    return tokenizer_.ends_answer(token) ? grammar_->allows_end()
                                         : grammar_->allows(tokenizer_.piece_of(token));
}

// Masks tokens that a grammar wrongly allows: ill-formed UTF-8, and special tokens, which grammars match by
// their spelling.
void Sampler::keep_to_grammar(float* logits) {
    bytes_.mask(logits);
    for (const auto token : tokenizer_.silent()) {
        if (!shown_.contains(token)) {
            logits[token] = -INFINITY;
        }
    }
    if (closing_) {
        closing_->press(logits);
    }
}

// Throws NoNumbers if a logit is NaN. Checks sixteen logits per iteration, so that the compiler vectorizes
// the loop.
void Sampler::check(const float* logits) const {
    constexpr std::int32_t kLanes = 16;
    const auto count = tokenizer_.size();
    std::int32_t bad[kLanes] = {};
    for (std::int32_t i = 0; i + kLanes <= count; i += kLanes) {
        for (std::int32_t lane = 0; lane < kLanes; ++lane) {
            bad[lane] |= logits[i + lane] != logits[i + lane];
        }
    }
    for (std::int32_t i = count - count % kLanes; i < count; ++i) {
        bad[0] |= logits[i] != logits[i];
    }
    if (std::any_of(bad, bad + kLanes, [](auto one) { return one != 0; })) {
        throw NoNumbers();
    }
}

// Returns the most likely allowed token. Masks the vocabulary only if the grammar rejects the most likely
// one.
llama_token Sampler::greedy(float* logits) {
    for (const auto token : banned_) {
        logits[token] = -INFINITY;
    }
    auto token = likeliest(logits);
    if (grammar_ && !grammar_allows(token)) {
        grammar_->mask(logits);
        token = likeliest(logits);
    }
    if (grammar_ && logits[token] == -INFINITY) {
        throw Error(SOTTO_ERROR_INFERENCE, "no token is left to choose");
    }
    return token;
}

llama_token Sampler::likeliest(const float* logits) const {
    constexpr std::int32_t kLanes = 16;
    const auto count = tokenizer_.size();
    float max[kLanes];
    std::fill(max, max + kLanes, -INFINITY);
    for (std::int32_t i = 0; i + kLanes <= count; i += kLanes) {
        for (std::int32_t lane = 0; lane < kLanes; ++lane) {
            max[lane] = logits[i + lane] > max[lane] ? logits[i + lane] : max[lane];
        }
    }
    auto largest = *std::max_element(max, max + kLanes);
    for (std::int32_t i = count - count % kLanes; i < count; ++i) {
        largest = std::max(largest, logits[i]);
    }
    return static_cast<llama_token>(std::find(logits, logits + count, largest) - logits);
}

llama_token Sampler::sampled(llama_context* context, std::int32_t output, float* logits) {
    auto* sampler = sampler_.get();
    try {
        auto token = common_sampler_sample(sampler, context, output);
        if (grammar_ && !grammar_allows(token)) {
            grammar_->mask(logits);
            token = common_sampler_sample(sampler, context, output);
        }
        const auto* candidates = common_sampler_get_candidates(sampler, false);
        const auto chosen = candidates->selected;
        if (chosen < 0 || chosen >= static_cast<std::int64_t>(candidates->size) ||
            !std::isfinite(candidates->data[chosen].logit)) {
            throw Error(SOTTO_ERROR_INFERENCE, "no token is left to choose");
        }
        common_sampler_accept(sampler, token, true);
        return token;
    } catch (const Error& error) { // includes a failed assertion inside llama.cpp
        throw_if_lost(error);
        throw Error(SOTTO_ERROR_INFERENCE, error.what());
    } catch (const std::exception& error) {
        throw_if_lost(error);
        throw_if_out_of_memory(error);
        throw Error(SOTTO_ERROR_INFERENCE, "the grammar allows none of the model's tokens here");
    }
}

// Stores the log probabilities of a choice. As in OpenAI's API, they are those of the model's distribution,
// before any sampling option is applied.
void Sampler::tell(const float* logits, llama_token chosen) {
    const auto count = tokenizer_.size();
    const auto largest = *std::max_element(logits, logits + count);
    const auto sum = std::accumulate(logits, logits + count, 0.0, [&](double all, float one) {
        return all + std::exp(static_cast<double>(one - largest));
    });
    const auto entry = [&](llama_token token) {
        const auto logprob = static_cast<double>(logits[token] - largest) - std::log(sum);
        constexpr double kMin = -9999; // JSON cannot represent infinity
        return entry_of(token, tokenizer_.piece_of(token), "logprob", std::max(logprob, kMin));
    };
    std::vector<llama_token> likeliest(static_cast<std::size_t>(std::min(wanted_.alternatives, count)));
    std::ranges::partial_sort_copy(std::views::iota(0, count), likeliest, [&](auto a, auto b) {
        return logits[a] > logits[b];
    });
    auto json = entry(chosen);
    json["top_logprobs"] = Json::array();
    for (const auto token : likeliest) {
        json["top_logprobs"].push_back(entry(token));
    }
    told_ = text_of(json);
}

// Stores the probabilities of a choice among the tokens that the samplers left; greedy sampling leaves one.
// Leaves out alternatives with a probability of 0.
void Sampler::tell_sampled(llama_token chosen) {
    const llama_token_data only{chosen, 0, 1};
    std::span<const llama_token_data> left(&only, 1);
    if (sampler_) {
        const auto* candidates = common_sampler_get_candidates(sampler_.get(), true);
        left = {candidates->data, candidates->size};
    }
    const auto entry = [&](const llama_token_data& one) {
        return entry_of(one.id, tokenizer_.piece_of(one.id), "prob", one.p);
    };
    const auto found = std::ranges::find(left, chosen, &llama_token_data::id);
    auto json = entry(found != left.end() ? *found : only);
    json["top_probs"] = Json::array();
    for (const auto& one : left.first(std::min<std::size_t>(left.size(), wanted_.alternatives))) {
        if (one.p > 0) {
            json["top_probs"].push_back(entry(one));
        }
    }
    told_ = text_of(json);
}

} // namespace sotto::llama
