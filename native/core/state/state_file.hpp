// KV cache states in files: written to the file system, read through the host's file
// functions if it provides them. The compute thread saves and restores states; the file
// worker reads and writes the files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/settings.hpp"
#include "core/state/file_worker.hpp"
#include "module/backend.hpp"
#include "platform/pages.hpp"

namespace sotto {

// Returns the whole KV cache state of a stream. Sets `tokens` to the number of tokens in the state.
PageBuffer save_state(Model& model, void* stream, std::uint32_t& tokens);
// Restores `state`, read from `path`, into the model's KV cache. Returns `path`, the number of tokens and the
// size in bytes, as JSON.
std::string restore_state(Model& model, const std::string& path, const PageBuffer& state);

// Returns the maximum size in bytes of a state of the model.
std::uint64_t max_state_size(const ModelInfo& info) noexcept;

// Writes a state to a file, or reads one.
class StateTask : public FileTask {
public:
    const Failure& failure() const noexcept { return failure_; }

protected:
    explicit StateTask(std::string path) : path_(std::move(path)) {}

    void run() noexcept override;
    virtual void work() = 0; // may throw

    const std::string path_;

private:
    Failure failure_;
};

class StateWrite : public StateTask {
public:
    StateWrite(std::string path, PageBuffer state, std::uint32_t tokens)
        : StateTask(std::move(path)), state_(std::move(state)), tokens_(tokens) {}

    // The response once the task is done: path, number of tokens and size in bytes, as JSON.
    const std::string& response() const noexcept { return response_; }

private:
    void work() override;

    PageBuffer state_;
    const std::uint32_t tokens_;
    std::string response_;
};

class StateRead : public StateTask {
public:
    StateRead(std::string path, const Hooks& hooks, std::uint64_t max_size)
        : StateTask(std::move(path)), files_(hooks.files), outlives_(hooks.outlives), max_size_(max_size) {}

    PageBuffer take() noexcept { return std::move(state_); }

private:
    void work() override;

    const std::optional<sotto_file_access> files_;
    const std::shared_ptr<Outlives> outlives_;
    const std::uint64_t max_size_;
    PageBuffer state_;
};

} // namespace sotto
