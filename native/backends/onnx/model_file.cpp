#include "backends/onnx/model_file.hpp"

#include <filesystem>
#include <fstream>

#include "abi/call.hpp"

namespace sotto::onnx {
namespace {

Error unreadable(const std::string& path) {
    return Error(SOTTO_ERROR_NOT_FOUND, "cannot read the model file '" + path + "': check the path");
}

std::uint64_t checked_size(std::uint64_t size, const std::string& path) {
    constexpr std::uint64_t kMax = (std::uint64_t{1} << 31) - 1;
    if (size == 0 || size > kMax) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the model file '" + path + "' has " + std::to_string(size) + " bytes: expected 1 to " +
                std::to_string(kMax)
        );
    }
    return size;
}

// A file of the host.
class HostFile {
public:
    HostFile(const sotto_file_access& access, const std::string& path) : access_(access), path_(path) {
        if (access.open(access.self, abi::str(path), &file_, &size_) < 0) {
            throw unreadable(path);
        }
    }
    ~HostFile() { access_.close(access_.self, file_); }
    HostFile(const HostFile&) = delete;
    HostFile& operator=(const HostFile&) = delete;

    std::uint64_t size() const { return checked_size(size_, path_); }
    std::string read() const {
        std::string bytes(static_cast<std::size_t>(size()), '\0');
        if (access_.read(access_.self, file_, 0, bytes.data(), bytes.size()) < 0) {
            throw unreadable(path_);
        }
        return bytes;
    }

private:
    const sotto_file_access& access_;
    const std::string path_;
    void* file_ = nullptr;
    std::uint64_t size_ = 0;
};

std::filesystem::path system_path(const std::string& path) {
    return std::filesystem::path(std::u8string(path.begin(), path.end()));
}

std::uint64_t system_size(const std::string& path) {
    std::error_code failed;
    const auto name = system_path(path);
    if (!std::filesystem::is_regular_file(name, failed)) {
        throw unreadable(path);
    }
    const auto size = std::filesystem::file_size(name, failed);
    if (failed) {
        throw unreadable(path);
    }
    return checked_size(size, path);
}

} // namespace

std::string read_model_file(const sotto_model_source& source) {
    const std::string path(abi::view(source.path));
    if (source.files != nullptr) {
        return HostFile(*source.files, path).read();
    }
    std::string bytes(static_cast<std::size_t>(system_size(path)), '\0');
    std::ifstream file(system_path(path), std::ios::binary);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
        throw unreadable(path);
    }
    return bytes;
}

} // namespace sotto::onnx
