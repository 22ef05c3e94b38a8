#include "core/state_file.hpp"

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/error.hpp"
#include "base/path.hpp"
#include "core/state_blob.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

// A state is never much larger than the memory that it comes out of.
constexpr std::uint64_t kMostBesides = 64 * 1024 * 1024;
constexpr std::uint64_t kMostWithoutMemory = 4ULL * 1024 * 1024 * 1024;

// Another file first, so that what was there stays until all of it is written.
void write_file(const std::string& path, std::string_view bytes) {
    const auto whole = native_path(path);
    auto partial = whole;
    partial += ".partial";
    std::error_code failed;
    bool begun = false;
    {
        std::ofstream file(partial, std::ios::binary);
        begun = file.is_open();
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        file.close();
        failed = file ? std::error_code() : std::make_error_code(std::errc::io_error);
    }
    if (!failed) {
        std::filesystem::rename(partial, whole, failed);
    }
    if (failed) {
        std::error_code ignored;
        if (begun) { // else it is none of ours
            std::filesystem::remove(partial, ignored);
        }
        throw Error(
            SOTTO_ERROR_STATE, "path is \"" + path + "\", which cannot be written: is there room, and leave?"
        );
    }
}

class Reader {
public:
    virtual ~Reader() = default;
    virtual void read(std::uint64_t offset, char* out, std::size_t count) = 0;
    std::uint64_t size() const noexcept { return size_; }

protected:
    std::uint64_t size_ = 0;
};

[[noreturn]] void not_found(const std::string& path) {
    throw Error(SOTTO_ERROR_NOT_FOUND, "path is \"" + path + "\", and there is no such file");
}

class SystemReader : public Reader {
public:
    explicit SystemReader(const std::string& path) : path_(path), file_(native_path(path), std::ios::binary) {
        std::error_code failed;
        size_ = std::filesystem::file_size(native_path(path), failed);
        if (!file_ || failed) {
            not_found(path);
        }
    }
    void read(std::uint64_t offset, char* out, std::size_t count) override {
        file_.seekg(static_cast<std::streamoff>(offset));
        if (!file_.read(out, static_cast<std::streamsize>(count))) {
            throw Error(SOTTO_ERROR_MODEL, "path is \"" + path_ + "\", which cannot be read to its end");
        }
    }

private:
    std::string path_;
    std::ifstream file_;
};

class HostReader : public Reader {
public:
    HostReader(const sotto_file_access& files, const std::string& path) : files_(files), path_(path) {
        if (files_.open(files_.self, {path.data(), path.size()}, &file_, &size_) < 0) {
            not_found(path);
        }
    }
    ~HostReader() override { files_.close(files_.self, file_); }
    HostReader(const HostReader&) = delete;
    HostReader& operator=(const HostReader&) = delete;
    void read(std::uint64_t offset, char* out, std::size_t count) override {
        if (files_.read(files_.self, file_, offset, out, count) < 0) {
            throw Error(
                SOTTO_ERROR_MODEL, "path is \"" + path_ + "\", which the host cannot read to its end"
            );
        }
    }

private:
    const sotto_file_access& files_;
    std::string path_;
    void* file_ = nullptr;
};

std::unique_ptr<Reader> open(const std::string& path, const Hooks& hooks) {
    if (hooks.files) {
        return std::make_unique<HostReader>(*hooks.files, path);
    }
    return std::make_unique<SystemReader>(path);
}

// Believes nothing that the file says before it is read.
std::string read_blob(Reader& reader, std::uint64_t most) {
    std::string blob(std::min<std::uint64_t>(reader.size(), kStateHeader), '\0');
    reader.read(0, blob.data(), blob.size());
    const auto size = state_size(blob);
    if (size > most) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the state has " + std::to_string(size) + " bytes, more than the model's memory can hold"
        );
    }
    const auto end = std::min(size, reader.size());
    blob.resize(end);
    reader.read(kStateHeader, blob.data() + kStateHeader, end - kStateHeader);
    if (reader.size() > size) {
        throw Error(SOTTO_ERROR_MODEL, "the state is damaged: there is more after its end");
    }
    return blob;
}

std::string told(const std::string& path, std::uint64_t tokens, std::uint64_t bytes) {
    const nlohmann::ordered_json response = {{"path", path}, {"tokens", tokens}, {"bytes", bytes}};
    return response.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace

std::string save_state(Model& model, void* stream, const std::string& path) {
    std::uint32_t tokens = 0;
    const auto blob = state_blob(model.info().fingerprint, model.save(stream, tokens));
    write_file(path, blob);
    return told(path, tokens, blob.size());
}

std::string restore_state(Model& model, const std::string& path, const Hooks& hooks) {
    const auto kv = model.info().kv;
    const auto reader = open(path, hooks);
    const auto blob = read_blob(*reader, kv > 0 ? kv + kMostBesides : kMostWithoutMemory);
    const auto tokens = model.restore(state_payload(blob, model.info().fingerprint));
    return told(path, tokens, blob.size());
}

} // namespace sotto
