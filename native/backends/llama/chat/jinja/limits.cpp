// Counts what a chat template does, and keeps what it makes until it can be destroyed safely.
#include "chat/jinja/limits.hpp"

#include "devices/cpu/cores.hpp"

#include <algorithm>
#include <jinja/runtime.h>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxDepth = 256;      // of nodes of the template under way at once
constexpr std::size_t kMaxValueDepth = 256; // requests are at most 128 deep
constexpr std::size_t kMaxSteps =
    1'000'000; // llama.cpp's templates take at most 18,500, tried out and rendered
constexpr std::size_t kStepsPerItem = 2'000;
constexpr std::size_t kMaxBytes = 64 << 20;
constexpr std::size_t kBytesPerItem = 64 << 10;
constexpr std::size_t kMaxText = 1 << 20;
constexpr std::size_t kTextPerByte = 4;
constexpr std::size_t kTextPerItem = 4 << 10;
constexpr std::size_t kLiveTexts = 128; // as large as the largest one
constexpr std::size_t kLevels = 64;     // of blocks, each of which copies the text of those in it
constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxItems = 1'000'000; // of a list
constexpr std::size_t kValuesPerItem = 100;
constexpr std::chrono::nanoseconds kMaxTime = std::chrono::seconds(5); // of CPU time
constexpr std::chrono::nanoseconds kTimePerItem = std::chrono::milliseconds(2);
constexpr std::chrono::nanoseconds kNone{0};
constexpr std::size_t kLookEvery = 64; // steps
constexpr std::size_t kSweepAt = 1 << 16;
constexpr std::size_t kSweepTextsAt = 16 << 20;
constexpr std::size_t kShortText = 256;
constexpr std::size_t kPartsPerStep = 256;
constexpr std::size_t kSlicedPerStep = 4 << 10; // bytes that are copied one by one

thread_local RenderLimits* current_limits = nullptr;
thread_local RequestRenders* current_request = nullptr;

std::size_t items_of(const jinja::value_t& value) {
    return value.val_arr.size() + value.val_obj.size();
}

// Of its characters, and of the parts that it consists of beyond the first: an empty text may have millions.
std::size_t bytes_of(const jinja::string& text) {
    const auto parts = text.parts.size();
    return text.length() + (parts > 1 ? (parts - 1) * sizeof(jinja::string_part) : 0);
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

RequestRenders::RequestRenders(std::function<void()> poll) : poll_(std::move(poll)), outer_(current_request) {
    current_request = this;
}

RequestRenders::~RequestRenders() {
    current_request = outer_;
}

RenderLimits::RenderLimits(const RenderInput& input, std::function<void()> poll)
    : input_(input), poll_(std::move(poll)), outer_(current_limits), request_(current_request),
      begun_(thread_cpu_time() - (request_ != nullptr ? request_->spent_ : kNone)),
      sweep_texts_at_(kSweepTextsAt), sweep_at_(kSweepAt) {
    current_limits = this;
}

RenderLimits::~RenderLimits() {
    sweep(true);
    if (request_ != nullptr) {
        request_->spent_ = thread_cpu_time() - begun_;
    }
    current_limits = outer_;
}

RenderLimits* RenderLimits::current() noexcept {
    return current_limits;
}

void RenderLimits::check() const {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void RenderLimits::exceed(const std::string& reason) {
    if (!failure_) {
        failure_ = std::make_exception_ptr(TemplateError(SOTTO_ERROR_MODEL, reason));
    }
    std::rethrow_exception(failure_);
}

void RenderLimits::fail() noexcept {
    if (!failure_) {
        failure_ = std::current_exception();
    }
}

void RenderLimits::enter() {
    check();
    if (depth_ >= kMaxDepth) {
        exceed("it is nested deeper than " + std::to_string(kMaxDepth) + " levels when it is rendered");
    }
    steps(1);
    ++depth_;
}

void RenderLimits::steps(std::size_t count) {
    const auto most = kMaxSteps + kStepsPerItem * input_.items;
    if (count > most - std::min(most, steps_)) {
        exceed("it takes more than " + std::to_string(most) + " steps to render");
    }
    steps_ += count;
    if (steps_ >= next_look_) {
        next_look_ = steps_ + kLookEvery;
        look_up();
    }
}

void RenderLimits::look_up() {
    const auto most = kMaxTime + kTimePerItem * input_.items;
    if (thread_cpu_time() - begun_ > most) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most).count();
        exceed("it takes more than " + std::to_string(seconds) + " s of CPU time to render");
    }
    const auto& poll = poll_ || request_ == nullptr ? poll_ : request_->poll_;
    if (poll) {
        try {
            poll();
        } catch (...) {
            fail();
            throw;
        }
    }
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
    texts_.push_back(value);
    texts_bytes_ += length;
    if (texts_bytes_ > sweep_texts_at_) {
        sweep_texts();
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

// Copies all of a text first, and of a list at most all items.
void RenderLimits::slice(const jinja::value& whole) {
    const auto items = whole->val_arr.size();
    steps(bytes_of(whole->val_str) / kSlicedPerStep + items / kItemsPerStep);
    bytes(items * sizeof(jinja::value));
}

// Lets go of texts that nothing else holds.
void RenderLimits::sweep_texts() {
    std::sort(texts_.begin(), texts_.end());
    texts_.erase(std::unique(texts_.begin(), texts_.end()), texts_.end());
    std::erase_if(texts_, [](const jinja::value& text) { return text.use_count() == 1; });
    texts_bytes_ = 0;
    for (const auto& text : texts_) {
        texts_bytes_ += text->val_str.length() + text->val_str.parts.size() * sizeof(jinja::string_part);
    }
    if (texts_bytes_ > kLiveTexts * longest()) {
        exceed("it keeps texts of more than " + std::to_string(kLiveTexts * longest()) + " bytes");
    }
    sweep_texts_at_ = std::max(kSweepTextsAt, 2 * texts_bytes_);
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

void RenderLimits::keep(const jinja::value& value) {
    const bool simple = value->is_numeric() || value->is_none() || value->is_undefined() ||
                        jinja::is_val<jinja::value_string>(value);
    if (simple || (!kept_.empty() && kept_.back() == value)) {
        return;
    }
    kept_.push_back(value);
    kept_items_ += 1 + items_of(*value);
    if (kept_items_ > sweep_at_) {
        sweep(false);
    }
}

// Empties kept values before it lets go of them: what they held is kept too, or holds nothing that is deep.
// Those that are still in use stay, unless `all` are meant.
void RenderLimits::sweep(bool all) noexcept {
    std::size_t left = 0;
    kept_items_ = 0;
    for (auto& value : kept_) {
        if (all || value.use_count() == 1) {
            empty(value);
        }
    }
    for (auto& value : kept_) {
        if (!all && (value.use_count() > 1 || !is_empty(*value))) {
            kept_items_ += 1 + items_of(*value);
            kept_[left++] = std::move(value);
        }
    }
    kept_.resize(left);
    sweep_at_ = std::max(kSweepAt, 2 * kept_items_);
}

} // namespace sotto::llama
