// Keeps the process alive if a model's file is truncated, or its disk fails, while its weights are mapped.
//
// Reading a missing page of a mapped file raises SIGBUS, which terminates a process without a handler. The
// first mapped file installs a handler for the whole process. If the address belongs to one of our files, the
// handler maps zeros in place of the file, marks the file as cut, and lets the interrupted thread continue;
// calls that use the model then fail with SOTTO_ERROR_MODEL. Any other SIGBUS is passed to the previous
// handler. This protection ends if the host later installs a handler that does not call ours.
//
// Windows refuses to truncate a mapped file, so nothing is needed there.
#pragma once

#include <memory>

namespace sotto::llama {

struct MappedRanges;

// The mappings of one llama.cpp model.
class MappedFile {
public:
    MappedFile();
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    // Returns true once a read has hit a missing part of the file.
    bool cut() const noexcept;
    // Throws Error(SOTTO_ERROR_MODEL) if cut().
    void check() const;

    // While this object lives, mappings that llama.cpp creates on this thread belong to `file`.
    class Loading {
    public:
        explicit Loading(MappedFile& file) noexcept;
        ~Loading();
        Loading(const Loading&) = delete;
        Loading& operator=(const Loading&) = delete;
    };

private:
    std::unique_ptr<MappedRanges> ranges_;
};

} // namespace sotto::llama
