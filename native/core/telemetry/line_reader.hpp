// Reads a text file line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "platform/file.hpp"

namespace sotto {

class LineReader {
public:
    explicit LineReader(File file) : file_(std::move(file)), size_(file_.size()) {}

    // Reads the next line into `line`, without its newline. Returns false at the end of the file.
    // Throws Error(SOTTO_ERROR_NOT_FOUND) if the file cannot be read, and
    // Error(SOTTO_ERROR_ARGUMENT) if the line is longer than 256 MiB.
    bool next(std::string& line);

    // Number of the last line read, from 1; 0: none.
    std::size_t number() const noexcept { return number_; }
    // Returns true if the last line read ends with a newline.
    bool ended() const noexcept { return ended_; }

private:
    bool fill();

    File file_;
    std::uint64_t size_;
    std::uint64_t read_ = 0;
    std::string piece_;
    std::size_t at_ = 0;
    std::size_t number_ = 0;
    bool ended_ = false;
};

} // namespace sotto
