// Reads a model's file through the host's functions or from the file system.
#include "file/source.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#ifndef _WIN32
#  include <fcntl.h>
#  include <sys/stat.h>
#  include <unistd.h>
#endif

#if defined(__linux__) && !defined(__ANDROID__)
#  define SOTTO_COOKIES 1 // fopencookie() wraps functions in a FILE*
#endif

namespace sotto::llama {
namespace {

struct CloseFile {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

int seek(std::FILE* file, std::uint64_t offset) {
#ifdef _WIN32
    return _fseeki64(file, static_cast<std::int64_t>(offset), SEEK_SET);
#else
    return fseeko(file, static_cast<off_t>(offset), SEEK_SET);
#endif
}

std::FILE* open_for_reading(const std::filesystem::path& path) {
#ifdef _WIN32
    return _wfopen(path.c_str(), L"rb");
#else
    // O_NONBLOCK: the file may have been replaced by a FIFO since the check, and opening a FIFO would block.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat found = {};
    std::FILE* file = nullptr;
    if (descriptor >= 0 && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode)) {
        file = fdopen(descriptor, "rb");
    }
    if (file == nullptr && descriptor >= 0) {
        const int why = errno;
        close(descriptor);
        errno = why;
    }
    return file;
#endif
}

// Returns the size of the file `where`; 0: the size cannot be determined. Throws if opening or reading the
// file could block forever: files in /proc and similar file systems report no size, and reading some of them
// blocks.
std::uint64_t checked_size(const std::filesystem::path& where, const std::string& path) {
    constexpr std::uint64_t kHeader = 24; // bytes, the minimum of a GGUF file
    std::error_code failure;
    const auto status = std::filesystem::status(where, failure);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw Error(SOTTO_ERROR_NOT_FOUND, "file '" + path + "' does not exist");
    }
    if (status.type() != std::filesystem::file_type::regular) {
        throw Error(SOTTO_ERROR_MODEL, invalid("path", path, "a regular file"));
    }
    const auto size = std::filesystem::file_size(where, failure);
    if (!failure && size < kHeader) {
        throw Error(SOTTO_ERROR_MODEL, "the file is not a GGUF file");
    }
    return failure ? 0 : size;
}

std::filesystem::path path_of(std::string_view utf8) {
    return std::filesystem::path(std::u8string(utf8.begin(), utf8.end()));
}

class DiskSource final : public Source {
public:
    explicit DiskSource(const std::string& path) : path_(path) {
        const auto where = path_of(path);
        size_ = checked_size(where, path);
        file_.reset(size_ == 0 ? nullptr : open_for_reading(where));
        if (!file_) {
            const int why = errno;
            throw Error(
                why == ENOMEM ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_NOT_FOUND,
                "cannot open " + path + ": " + std::generic_category().message(why)
            );
        }
    }

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        if (seek(file_.get(), offset) != 0 || std::fread(out, 1, count, file_.get()) != count) {
            throw Error(SOTTO_ERROR_MODEL, "cannot read " + path_ + " at byte " + std::to_string(offset));
        }
    }

    std::FILE* file() override {
        seek(file_.get(), 0);
        return file_.get();
    }

    bool mappable() const noexcept override { return true; }

private:
    std::string path_;
    File file_;
};

// Wraps the host's functions in a FILE*, which llama.cpp reads.
class HostSource final : public Source {
public:
    HostSource(const sotto_file_access& files, const std::string& path) : files_(files), path_(path) {
        const auto status = files_.open(files_.self, str(path_), &opened_, &size_);
        if (status < 0) {
            throw Error(SOTTO_ERROR_NOT_FOUND, "the host cannot open file '" + path + "'");
        }
    }
    ~HostSource() override {
        stream_.reset(); // closes the stream before the host's file
        files_.close(files_.self, opened_);
    }
    HostSource(const HostSource&) = delete;
    HostSource& operator=(const HostSource&) = delete;

    void read(std::uint64_t offset, void* out, std::size_t count) override {
        if (files_.read(files_.self, opened_, offset, out, count) < 0) {
            throw Error(
                SOTTO_ERROR_MODEL, "the host cannot read " + path_ + " at byte " + std::to_string(offset)
            );
        }
    }

    std::FILE* file() override;
    bool mappable() const noexcept override { return false; }

private:
#if SOTTO_COOKIES
    static ssize_t on_read(void* self, char* out, std::size_t count) {
        auto& source = *static_cast<HostSource*>(self);
        const auto left = source.size_ - std::min(source.size_, source.position_);
        const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(count, left));
        if (now > 0 &&
            source.files_.read(source.files_.self, source.opened_, source.position_, out, now) < 0) {
            errno = EIO;
            return -1;
        }
        source.position_ += now;
        return static_cast<ssize_t>(now);
    }

    static int on_seek(void* self, off64_t* offset, int whence) {
        auto& source = *static_cast<HostSource*>(self);
        const auto from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source.position_ : source.size_;
        const auto to = static_cast<off64_t>(from) + *offset;
        if (to < 0) {
            errno = EINVAL;
            return -1;
        }
        source.position_ = static_cast<std::uint64_t>(to);
        *offset = to;
        return 0;
    }

    std::uint64_t position_ = 0; // current offset of the FILE*
#endif

    sotto_file_access files_;
    std::string path_;
    void* opened_ = nullptr;
    File stream_;
};

std::FILE* HostSource::file() {
#if SOTTO_COOKIES
    cookie_io_functions_t functions{};
    functions.read = on_read;
    functions.seek = on_seek;
    position_ = 0;
    stream_.reset(fopencookie(this, "rb", functions));
    if (!stream_) {
        throw std::bad_alloc();
    }
    return stream_.get();
#else
    throw Error(
        SOTTO_ERROR_UNSUPPORTED, "this platform's llama module reads models from the file system only"
    );
#endif
}

} // namespace

std::unique_ptr<Source> open_source(const sotto_model_source& source) {
    const std::string path(view(source.path));
    if (path.empty()) {
        throw invalid_argument("path", path, "the path of a model file");
    }
    if (path.find('\0') != std::string::npos) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid path: expected text without NUL");
    }
    if (source.files != nullptr) {
        return std::make_unique<HostSource>(*source.files, path);
    }
    return std::make_unique<DiskSource>(path);
}

} // namespace sotto::llama
