// Prepares requests for a model: tokenizes prompts and converts fields to llama.cpp's parameters.
#pragma once

#include "chat/chat.hpp"
#include "chat/turns.hpp"
#include "grammar/schema/constraints.hpp"
#include "media/projector.hpp"
#include "model/options.hpp"
#include "step/stream.hpp"

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sotto::llama {

class Preparer {
public:
    // `projector` may be null: the model reads text only. `poll` is called while the chat template is tested,
    // and may throw. Throws Error if the template exceeds RenderLimits.
    Preparer(
        const llama_model* model,
        const Options& options,
        const Projector* projector,
        std::function<void()> poll = {}
    );

    // All functions throw Error, with SOTTO_ERROR_ARGUMENT if the request is at fault. Any thread. Results of
    // converting schemas and of the chat template are cached for later requests.
    Prepared prepare(const sotto_stream_desc& desc, const nlohmann::ordered_json& body) const;

    // Returns the response of an operation that needs no computation; empty if `op` is another operation.
    std::string answer_at_once(sotto_op op, const nlohmann::ordered_json& body) const;

    const Tokenizer& tokenizer() const noexcept { return tokenizer_; }
    // Input types and operations that the model supports, as JSON.
    nlohmann::ordered_json capabilities() const;

private:
    const Chat& chat() const;
    ChatPrompt chat_prompt(
        const nlohmann::ordered_json& body, const std::vector<Medium>& media, Prepared& prepared
    ) const;
    void check_length(const nlohmann::ordered_json& messages) const;
    void
    cut(const std::vector<PromptPart>& parts,
        const std::vector<Medium>& media,
        std::size_t most,
        Prepared& prepared) const;
    std::vector<Medium> media_of(nlohmann::ordered_json& body) const;
    void take_text(sotto_op op, const nlohmann::ordered_json& body, Prepared& prepared) const;
    std::vector<llama_token> text_prompt(const nlohmann::ordered_json& body) const;
    std::vector<llama_token> infill_prompt(const nlohmann::ordered_json& body) const;
    void take_tail(std::vector<llama_token>& prompt, const nlohmann::ordered_json& body) const;
    void hold_to_form(common_params_sampling& how, const common_chat_params& form) const;
    std::size_t room_for_answer(const nlohmann::ordered_json& body) const;
    std::uint64_t room_for(const Prepared& prepared, const nlohmann::ordered_json& body) const;

    const llama_model* model_;
    const Projector* projector_;
    std::uint32_t context_;
    std::uint32_t batch_;
    Tokenizer tokenizer_;
    Constraints constraints_;
    std::unique_ptr<Chat> chat_;
    std::unique_ptr<MessageTokens> message_tokens_; // null without chat_
    std::string chat_problem_;                      // reason why chat_ is null
};

} // namespace sotto::llama
