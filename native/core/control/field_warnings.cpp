#include "core/control/field_warnings.hpp"

#include "text/json_reader.hpp"

namespace sotto {

void FieldWarnings::warn_of(const std::vector<std::string>& ignored) {
    for (const auto& name : ignored) {
        if (warned_.size() < kMaxNames && warned_.insert(name).second) {
            log_.warn("request field '" + excerpt(name) + "' has no effect in this request");
        }
    }
}

} // namespace sotto
