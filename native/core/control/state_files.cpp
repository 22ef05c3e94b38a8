#include "core/control/state_files.hpp"

#include <algorithm>
#include <utility>

namespace sotto {

StateFiles::StateFiles(const Hooks& hooks) : hooks_(hooks), worker_(hooks) {
    if (hooks.files) {
        worker_.call_host();
    }
}

void StateFiles::read(Slot& slot, const std::string& path, std::uint64_t max_size) {
    start(slot, std::make_shared<StateRead>(path, hooks_, max_size));
}

void StateFiles::write(
    Slot& slot, const std::string& path, PageBuffer state, std::uint32_t tokens, std::int32_t of_slot
) {
    start(slot, std::make_shared<StateWrite>(path, std::move(state), tokens, of_slot));
}

void StateFiles::start(Slot& slot, std::shared_ptr<StateTask> task) {
    requests_.reserve(requests_.size() + 1);
    worker_.start(task);
    requests_.push_back({&slot, std::move(task)}); // capacity was reserved
}

void StateFiles::each_progress(const std::function<void(Slot&, float)>& found) {
    for (auto& request : requests_) {
        const auto progress = request.task->progress();
        if (progress != request.told && !request.task->is_done()) {
            request.told = progress;
            found(*request.slot, progress);
        }
    }
}

StateFiles::Request StateFiles::take(std::size_t index) noexcept {
    auto request = std::move(requests_[index]);
    requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(index));
    return request;
}

StateFiles::Request StateFiles::take_done() noexcept {
    const auto is_done = [](const Request& request) { return request.task->is_done(); };
    const auto found = std::ranges::find_if(requests_, is_done);
    return found == requests_.end() ? Request{} : take(static_cast<std::size_t>(found - requests_.begin()));
}

bool StateFiles::cancel(const Slot& slot) noexcept {
    const auto found = std::ranges::find(requests_, &slot, &Request::slot);
    if (found == requests_.end()) {
        return false;
    }
    take(static_cast<std::size_t>(found - requests_.begin())).task->give_up();
    return true;
}

Slot* StateFiles::cancel_oldest() noexcept {
    if (requests_.empty()) {
        return nullptr;
    }
    const auto request = take(0);
    request.task->give_up();
    return request.slot;
}

} // namespace sotto
