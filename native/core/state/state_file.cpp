#include "core/state/state_file.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "core/state/state_blob.hpp"
#include "platform/file.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

// Size limits of a state in bytes: kMaxOverhead more than the memory of the model's KV cache, or
// kMaxIfUnknown if the backend does not report that memory.
constexpr std::uint64_t kMaxOverhead = 64 * 1024 * 1024;
constexpr std::uint64_t kMaxIfUnknown = 4ULL * 1024 * 1024 * 1024;

class SystemReader : public FileReader {
public:
    explicit SystemReader(const std::string& path) : path_(path), file_(open_file({"path", path})) {
        size_ = file_.size();
    }
    void read(std::uint64_t offset, char* out, std::size_t count) override {
        if (file_.read(offset, out, count)) {
            throw Error(SOTTO_ERROR_MODEL, invalid("path", path_, "a file that can be read to its end"));
        }
    }

private:
    std::string path_;
    File file_;
};

class HostReader : public FileReader {
public:
    HostReader(
        const sotto_file_access& files, const std::shared_ptr<Outlives>& outlives, const std::string& path
    )
        : outlives_(outlives), use_(&outlives_->gate), files_(files), path_(path) {
        if (!use_) {
            throw Error(SOTTO_ERROR_CANCELLED, "the engine was destroyed");
        }
        if (files_.open(files_.self, {path.data(), path.size()}, &file_, &size_) < 0) {
            throw Error(SOTTO_ERROR_NOT_FOUND, invalid("path", path, "an existing file"));
        }
    }
    ~HostReader() override { files_.close(files_.self, file_); }
    HostReader(const HostReader&) = delete;
    HostReader& operator=(const HostReader&) = delete;
    void read(std::uint64_t offset, char* out, std::size_t count) override {
        if (files_.read(files_.self, file_, offset, out, count) < 0) {
            throw Error(
                SOTTO_ERROR_MODEL, invalid("path", path_, "a file that the host can read to its end")
            );
        }
    }

private:
    const std::shared_ptr<Outlives> outlives_;
    const HookGate::Use use_; // held while the file is open
    const sotto_file_access& files_;
    std::string path_;
    void* file_ = nullptr;
};

// Reads a blob. Checks its size against the limit before allocating memory for it.
PageBuffer read_blob(FileReader& reader, std::uint64_t max_size) {
    PageBuffer blob(static_cast<std::size_t>(std::min<std::uint64_t>(reader.size(), kStateHeader)));
    reader.read(0, blob.data(), blob.size());
    const auto size = state_size(blob.view());
    if (size > max_size) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the state has " + std::to_string(size) + " bytes: expected at most " + std::to_string(max_size) +
                " for this model"
        );
    }
    const auto end = std::min(size, reader.size());
    blob.resize(static_cast<std::size_t>(end));
    reader.read(kStateHeader, blob.data() + kStateHeader, blob.size() - kStateHeader);
    if (reader.size() > size) {
        throw Error(
            SOTTO_ERROR_MODEL, "the state is damaged: the file continues after its end; save it again"
        );
    }
    return blob;
}

} // namespace

std::unique_ptr<FileReader> open_reader(
    const std::string& path,
    const std::optional<sotto_file_access>& files,
    const std::shared_ptr<Outlives>& outlives
) {
    if (files) {
        return std::make_unique<HostReader>(*files, outlives, path);
    }
    return std::make_unique<SystemReader>(path);
}

PageBuffer save_state(Model& model, void* stream, std::uint32_t& tokens) {
    auto state = begin_state(model.info().fingerprint);
    tokens = model.save(stream, state);
    seal_state(state);
    state.fit();
    return state;
}

std::string restore_state(Model& model, const std::string& path, const PageBuffer& state) {
    const auto tokens = model.restore(state_payload(state.view(), model.info().fingerprint));
    return state_json(path, tokens, state.size());
}

std::string state_json(const std::string& path, std::uint64_t tokens, std::uint64_t bytes) {
    auto json = Ordered::object();
    if (!path.empty()) {
        json["path"] = path;
    }
    json["tokens"] = tokens;
    json["bytes"] = bytes;
    return to_text(json);
}

PageBuffer save_slot(Model& model, std::uint32_t slot, std::uint32_t& tokens) {
    auto state = begin_state(model.info().fingerprint);
    tokens = model.save_slot(slot, state);
    seal_state(state);
    state.fit();
    return state;
}

std::string restore_slot(Model& model, std::uint32_t slot, const PageBuffer& state) {
    const auto tokens = model.restore_slot(slot, state_payload(state.view(), model.info().fingerprint));
    return to_text(Ordered{{"id_slot", slot}, {"n_restored", tokens}, {"n_read", state.size()}});
}

bool is_state_of(const Model& model, std::string_view blob) noexcept {
    bool fits = false;
    attempt(
        [&] {
            const auto& fingerprint = model.info().fingerprint;
            state_payload(blob, fingerprint);
            fits = !fingerprint.empty();
        },
        [](sotto_status, const char*) {}
    );
    return fits;
}

std::uint64_t max_state_size(const ModelInfo& info) noexcept {
    return info.kv > 0 ? info.kv + kMaxOverhead : kMaxIfUnknown;
}

void StateWrite::run() {
    replace_file({"path", path_}, state_.view());
    if (slot_ < 0) {
        response_ = state_json(path_, tokens_, state_.size());
        return;
    }
    auto json = Ordered::object();
    json["id_slot"] = slot_;
    json["path"] = path_;
    json["n_saved"] = tokens_;
    json["n_written"] = state_.size();
    response_ = to_text(json);
}

void StateRead::run() {
    const auto reader = open_reader(path_, files_, outlives_);
    state_ = read_blob(*reader, max_size_);
}

} // namespace sotto
