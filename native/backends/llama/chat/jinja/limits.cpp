// Counts the work of a chat template, and keeps its values until they can be destroyed safely.
#include "chat/jinja/limits.hpp"

#include <algorithm>
#include <jinja/runtime.h>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxValueDepth = 256; // requests are at most 128 levels deep
constexpr std::size_t kMaxBytes = 64 << 20;
constexpr std::size_t kBytesPerItem = 64 << 10;
constexpr std::size_t kMaxText = 1 << 20;
constexpr std::size_t kTextPerByte = 4;
constexpr std::size_t kTextPerItem = 4 << 10;
constexpr std::size_t kLiveTexts = 128; // texts of the maximum length in memory at once
constexpr std::size_t kLevels = 64;     // nested blocks; each copies the text of its inner blocks
constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxItems = 1'000'000; // items of a list
constexpr std::size_t kValuesPerItem = 100;
constexpr std::size_t kShortText = 256;
constexpr std::size_t kPartsPerStep = 256;
constexpr std::size_t kSlicedPerStep = 4 << 10; // bytes copied one by one

thread_local RenderLimits* current_limits = nullptr;

// Returns the bytes of the characters and of the parts beyond
// the first: an empty text may have millions of parts.
std::size_t bytes_of(const jinja::string& text) {
    const auto parts = text.parts.size();
    return text.length() + (parts > 1 ? (parts - 1) * sizeof(jinja::string_part) : 0);
}

} // namespace

RenderLimits::RenderLimits(const RenderInput& input, std::function<void()> poll)
    : input_(input), outer_(current_limits), budget_(input.items, failure_, std::move(poll)) {
    current_limits = this;
}

RenderLimits::~RenderLimits() {
    current_limits = outer_;
}

RenderLimits* RenderLimits::current() noexcept {
    return current_limits;
}

void RenderLimits::bytes(std::size_t count) {
    const auto most = kMaxBytes + kBytesPerItem * input_.items;
    if (count > most - std::min(most, bytes_)) {
        exceed("it makes values of more than " + std::to_string(most >> 20) + " MiB");
    }
    bytes_ += count;
}

std::size_t RenderLimits::longest() const noexcept {
    return kMaxText + kTextPerByte * input_.bytes + kTextPerItem * input_.items;
}

void RenderLimits::text(std::size_t length) {
    if (length > longest()) {
        exceed("it makes a text of more than " + std::to_string(longest()) + " bytes");
    }
}

void RenderLimits::made(const jinja::value& value) {
    const auto parts = value->val_str.parts.size();
    const auto length = value->val_str.length() + parts * sizeof(jinja::string_part);
    if (length < kShortText) {
        return;
    }
    text(length - parts * sizeof(jinja::string_part));
    steps(length / kBytesPerStep + parts / kPartsPerStep);
    texts_.add(value, length);
    if (texts_.due() && texts_.sweep() > kLiveTexts * longest()) {
        exceed("it keeps texts of more than " + std::to_string(kLiveTexts * longest()) + " bytes");
    }
}

void RenderLimits::emit(const jinja::value& value) {
    emitted_ += value->val_arr.empty() ? bytes_of(value->val_str) : walk(value).bytes;
    if (emitted_ > kLevels * longest()) {
        exceed("its blocks make texts of more than " + std::to_string(kLevels * longest()) + " bytes");
    }
}

void RenderLimits::list(std::size_t items) {
    const auto most = kMaxItems + kValuesPerItem * input_.items;
    if (items > most) {
        exceed("it makes a list of more than " + std::to_string(most) + " items");
    }
}

// Charges the whole value: llama.cpp copies a whole text before it slices the text; slicing a list copies at
// most all its items.
void RenderLimits::slice(const jinja::value& whole) {
    const auto items = whole->val_arr.size();
    steps(bytes_of(whole->val_str) / kSlicedPerStep + items / kItemsPerStep);
    bytes(items * sizeof(jinja::value));
}

RenderLimits::Extent RenderLimits::walk(const jinja::value& value) {
    Extent extent;
    walk(value, 0, extent);
    steps(extent.values / 256);
    text(extent.bytes);
    return extent;
}

void RenderLimits::walk(const jinja::value& value, std::size_t depth, Extent& extent) {
    if (!value) {
        return;
    }
    if (depth > kMaxValueDepth) {
        exceed("it makes values nested deeper than " + std::to_string(kMaxValueDepth) + " levels");
    }
    const auto most = kMaxValues + kValuesPerItem * input_.items;
    if (++extent.values > most) {
        exceed("it makes values of more than " + std::to_string(most) + " parts");
    }
    extent.bytes += bytes_of(value->val_str);
    for (const auto& item : value->val_arr) {
        walk(item, depth + 1, extent);
    }
    for (const auto& [key, item] : value->val_obj) {
        walk(key, depth + 1, extent);
        walk(item, depth + 1, extent);
    }
    if (const auto& part = *value; part.val_func) {
        walk(static_cast<const jinja::value_func_t&>(part).arg0, depth + 1, extent);
    } else if (typeid(part) == typeid(jinja::value_kwarg_t)) {
        walk(static_cast<const jinja::value_kwarg_t&>(part).val, depth + 1, extent);
    }
}

} // namespace sotto::llama
