// Makes requests ready for a model: their prompts as tokens, their wishes as llama.cpp's.
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
    // `projector` may be none: the model reads text alone. `poll` is called while the chat template is tried,
    // and may throw. Throws Error where the template exceeds RenderLimits.
    Preparer(
        const llama_model* model,
        const Options& options,
        const Projector* projector,
        std::function<void()> poll = {}
    );

    // Everything throws Error, of SOTTO_ERROR_ARGUMENT where the request is at fault. Any thread: what was
    // made of schemas and the chat template is kept for later requests.
    Prepared prepare(const sotto_stream_desc& desc, const nlohmann::ordered_json& body) const;

    // The response to an operation that computes nothing; empty if `op` is none.
    std::string answer_at_once(sotto_op op, const nlohmann::ordered_json& body) const;

    const Tokenizer& tokenizer() const noexcept { return tokenizer_; }
    // What the model reads and does, for people and tools.
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
    std::unique_ptr<MessageTokens> message_tokens_; // where there is chat_
    std::string chat_problem_;                      // why there is no chat_
};

} // namespace sotto::llama
