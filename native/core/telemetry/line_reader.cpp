#include "core/telemetry/line_reader.hpp"

#include <algorithm>

#include <sotto/base.h>

#include "base/error.hpp"

namespace sotto {

bool LineReader::next(std::string& line) {
    constexpr std::size_t kLongestLine = 256 << 20;
    line.clear();
    ended_ = false;
    while (!ended_ && fill()) {
        const auto end = piece_.find('\n', at_);
        ended_ = end != std::string::npos;
        line.append(piece_, at_, (ended_ ? end : piece_.size()) - at_);
        at_ = ended_ ? end + 1 : piece_.size();
        if (line.size() > kLongestLine) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "invalid line " + std::to_string(number_ + 1) + ": expected at most " +
                    std::to_string(kLongestLine) + " bytes"
            );
        }
    }
    const bool found = ended_ || !line.empty();
    number_ += found ? 1 : 0;
    return found;
}

// Reads the next piece of the file once piece_ is used up. Returns false at the end of the file.
bool LineReader::fill() {
    if (at_ < piece_.size()) {
        return true;
    }
    constexpr std::uint64_t kPiece = 64 << 10;
    piece_.resize(static_cast<std::size_t>(std::min(kPiece, size_ - read_)));
    at_ = 0;
    if (const auto failed = file_.read(read_, piece_.data(), piece_.size())) {
        throw Error(SOTTO_ERROR_NOT_FOUND, "the recording cannot be read: " + failed.message());
    }
    read_ += piece_.size();
    return !piece_.empty();
}

} // namespace sotto
