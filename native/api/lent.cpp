#include "api/lent.hpp"

#include <cstring>
#include <new>

#include "platform/thread_pointer.hpp"
#include "json/utf8_cut.hpp"

namespace sotto::api {
namespace {

constexpr char kNoMemory[] = "out of host memory";

void end_thread(void* value) noexcept;

ThreadPointer& pointer() noexcept {
    // static storage: no allocation, and never destroyed
    alignas(ThreadPointer) static std::byte room[sizeof(ThreadPointer)];
    static auto& made = *new (room) ThreadPointer([](void* value) { end_thread(value); });
    return made;
}

// Marker stored in place of a thread's Lent if allocating it failed.
void* no_memory() noexcept {
    static char mark;
    return &mark;
}

// Thread-exit destructor, called once in each round of destructors. Frees the thread's Lent in the last round
// only, because the destructors of other libraries may still call Sotto in earlier rounds.
void end_thread(void* value) noexcept {
    if (value == no_memory()) {
        return;
    }
    auto* ends = static_cast<Lent*>(value);
    if (++ends->rounds >= ThreadPointer::kRounds || !pointer().set(ends)) {
        delete ends;
    }
}

Lent* find() noexcept {
    void* value = pointer().get();
    return value != no_memory() ? static_cast<Lent*>(value) : nullptr;
}

Lent* find_or_make() noexcept {
    if (auto* found = find()) {
        return found;
    }
    std::unique_ptr<Lent> made(new (std::nothrow) Lent);
    return made != nullptr && pointer().set(made.get()) ? made.release() : nullptr;
}

} // namespace

Lent& lent() {
    if (auto* found = find_or_make()) {
        return *found;
    }
    throw std::bad_alloc();
}

void keep_message(const char* message) noexcept {
    auto* kept = find_or_make();
    if (kept == nullptr) {
        pointer().set(no_memory());
        return;
    }
    kept->message_size = utf8_cut(message, Lent::kMaxMessage).size();
    std::memcpy(kept->message, message, kept->message_size);
}

sotto_str kept_message() noexcept {
    if (const auto* kept = find()) {
        return {kept->message, kept->message_size};
    }
    const bool no_room = pointer().get() != nullptr;
    return {kNoMemory, no_room ? sizeof kNoMemory - 1 : 0};
}

} // namespace sotto::api
