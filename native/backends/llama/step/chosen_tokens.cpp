// Tokens of an answer that are chosen but not delivered yet.
#include "step/chosen_tokens.hpp"

namespace sotto::llama {

void ChosenTokens::deliver(sotto_step_item& item) noexcept {
    delivered_ = std::move(ahead_.front());
    ahead_.pop_front();
    item.text = str(delivered_.text);
    item.logprobs = str(delivered_.logprobs);
    item.generated = delivered_.generated ? 1 : 0;
    item.finish = delivered_.finish;
    item.token = static_cast<std::uint32_t>(delivered_.id + 1);
    item.truncated = delivered_.truncated ? 1 : 0;
}

} // namespace sotto::llama
