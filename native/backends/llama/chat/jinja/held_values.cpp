// Holds references to values that a chat template creates during a render: to strings, to measure the memory
// that they use, and to containers, to destroy them without recursion.
#include "chat/jinja/held_values.hpp"

#include <algorithm>
#include <jinja/runtime.h>

namespace sotto::llama {
namespace {

constexpr std::size_t kMinSweptTexts = 16 << 20; // bytes
constexpr std::size_t kMinSweptItems = 1 << 16;

std::size_t items_of(const jinja::value_t& value) {
    return value.val_arr.size() + value.val_obj.size();
}

void empty(jinja::value& value) noexcept {
    value->val_arr.clear();
    value->val_obj.clear();
    value->val_func = nullptr;
    if (auto* object = jinja::cast_val<jinja::value_object>(value)) {
        object->unordered.clear();
    } else if (auto* function = jinja::cast_val<jinja::value_func>(value)) {
        function->arg0.reset();
    } else if (auto* named = jinja::cast_val<jinja::value_kwarg>(value)) {
        named->val.reset();
    }
}

bool is_empty(const jinja::value_t& value) noexcept {
    const auto* named = dynamic_cast<const jinja::value_kwarg_t*>(&value);
    return items_of(value) == 0 && !value.val_func && (named == nullptr || !named->val);
}

} // namespace

void LiveTexts::add(const jinja::value& text, std::size_t length) {
    texts_.push_back(text);
    bytes_ += length;
}

std::size_t LiveTexts::sweep() {
    std::sort(texts_.begin(), texts_.end());
    texts_.erase(std::unique(texts_.begin(), texts_.end()), texts_.end());
    std::erase_if(texts_, [](const jinja::value& text) { return text.use_count() == 1; });
    bytes_ = 0;
    for (const auto& text : texts_) {
        bytes_ += text->val_str.length() + text->val_str.parts.size() * sizeof(jinja::string_part);
    }
    sweep_at_ = std::max(kMinSweptTexts, 2 * bytes_);
    return bytes_;
}

void KeptContainers::keep(const jinja::value& value) {
    const bool simple = value->is_numeric() || value->is_none() || value->is_undefined() ||
                        jinja::is_val<jinja::value_string>(value);
    if (simple || (!kept_.empty() && kept_.back() == value)) {
        return;
    }
    kept_.push_back(value);
    items_ += 1 + items_of(*value);
    if (items_ > sweep_at_) {
        sweep(false);
    }
}

// Empties the kept values, then releases them. Destruction then does not recurse: the contents of a kept
// value are kept too, or are shallow. Skips values that are still in use, unless `all` is true.
void KeptContainers::sweep(bool all) noexcept {
    std::size_t left = 0;
    items_ = 0;
    for (auto& value : kept_) {
        if (all || value.use_count() == 1) {
            empty(value);
        }
    }
    for (auto& value : kept_) {
        if (!all && (value.use_count() > 1 || !is_empty(*value))) {
            items_ += 1 + items_of(*value);
            kept_[left++] = std::move(value);
        }
    }
    kept_.resize(left);
    sweep_at_ = std::max(kMinSweptItems, 2 * items_);
}

} // namespace sotto::llama
