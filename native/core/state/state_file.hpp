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
// Restores `state`, read from `path`, into the model's KV cache. Returns state_json().
std::string restore_state(Model& model, const std::string& path, const PageBuffer& state);

// Returns the response about a state as JSON. `path`: its file; empty: none.
std::string state_json(const std::string& path, std::uint64_t tokens, std::uint64_t bytes);

// The same for a slot by its number. restore_slot() returns the number of the slot, and the tokens and bytes
// that were restored, as JSON.
PageBuffer save_slot(Model& model, std::uint32_t slot, std::uint32_t& tokens);
std::string restore_slot(Model& model, std::uint32_t slot, const PageBuffer& state);

// Returns true if a state blob is whole and fits the model.
bool is_state_of(const Model& model, std::string_view blob) noexcept;

// Returns the maximum size in bytes of a state of the model.
std::uint64_t max_state_size(const ModelInfo& info) noexcept;

// A file that is read in pieces, from the disk or through the host's functions.
class FileReader {
public:
    virtual ~FileReader() = default;
    // Reads exactly `count` bytes at `offset`. Throws Error if that fails.
    virtual void read(std::uint64_t offset, char* out, std::size_t count) = 0;
    std::uint64_t size() const noexcept { return size_; }

protected:
    std::uint64_t size_ = 0;
};

// Opens a file for reading: with `files`, through the host's functions. Throws Error.
std::unique_ptr<FileReader> open_reader(
    const std::string& path,
    const std::optional<sotto_file_access>& files,
    const std::shared_ptr<Outlives>& outlives
);

// Writes a state to a file, or reads one.
class StateTask : public FileTask {
protected:
    explicit StateTask(std::string path) : path_(std::move(path)) {}

    const std::string path_;
};

class StateWrite : public StateTask {
public:
    // `slot`: number of the slot whose state it is; -1: of a stream.
    StateWrite(std::string path, PageBuffer state, std::uint32_t tokens, std::int32_t slot = -1)
        : StateTask(std::move(path)), state_(std::move(state)), tokens_(tokens), slot_(slot) {}

    // The response once the task is done: path or slot, number of tokens and size in bytes, as JSON.
    const std::string& response() const noexcept { return response_; }

private:
    void run() override;

    PageBuffer state_;
    const std::uint32_t tokens_;
    const std::int32_t slot_;
    std::string response_;
};

class StateRead : public StateTask {
public:
    StateRead(std::string path, const Hooks& hooks, std::uint64_t max_size)
        : StateTask(std::move(path)), files_(hooks.files), outlives_(hooks.outlives), max_size_(max_size) {}

    PageBuffer take() noexcept { return std::move(state_); }

private:
    void run() override;

    const std::optional<sotto_file_access> files_;
    const std::shared_ptr<Outlives> outlives_;
    const std::uint64_t max_size_;
    PageBuffer state_;
};

} // namespace sotto
