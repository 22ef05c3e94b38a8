// Warnings about request fields that have no effect.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace sotto {

// Logs each name once, and at most kMaxNames names. Control thread only.
class FieldWarnings {
public:
    static constexpr std::size_t kMaxNames = 64;

    explicit FieldWarnings(const Log& log) : log_(log) {}

    // Warns of the ignored fields of a request.
    void warn_of(const std::vector<std::string>& ignored);

private:
    const Log& log_;
    std::set<std::string> warned_;
};

} // namespace sotto
