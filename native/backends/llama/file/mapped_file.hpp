// Keeps the process alive where a model's file is cut, or its disk fails, while its weights are mapped.
//
// Reading what a mapped file no longer has raises SIGBUS, which ends a process that does not expect it. The
// first file that is mapped installs a handler for the whole process. Where the address belongs to one of our
// files, it puts zeros in the file's place and marks the file as cut, and the interrupted thread goes on; the
// calls that then use the model fail with SOTTO_ERROR_MODEL. Any other SIGBUS goes to the handler that was
// there before. A host that installs its own handler later, and does not call the one that it replaces, turns
// this off.
//
// Windows refuses to cut a file that is mapped, so there is nothing to guard.
#pragma once

#include <memory>

namespace sotto::llama {

struct MappedRanges;

// What one llama.cpp model maps.
class MappedFile {
public:
    MappedFile();
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    // Whether a part of it was gone when it was read. Stays so.
    bool cut() const noexcept;
    // Throws Error(SOTTO_ERROR_MODEL) if it was.
    void check() const;

    // As long as it lives, what this thread has llama.cpp map belongs to `file`.
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
