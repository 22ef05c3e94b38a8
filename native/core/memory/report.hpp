// What is told of memory, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto {

class Ledger;
class Parking;
struct Fit;

// For those who asked for a plan. `used`: of the budget, by others; `idle`: of that, by models that could be
// put to sleep. Without a `budget`: 0.
std::string plan_json(
    const std::string& id, const Fit& fit, std::uint64_t budget, std::uint64_t used, std::uint64_t idle
);

// `models`: a JSON array of objects, to which is added what each has. `device`: whose memory the ledger is
// of.
std::string memory_json(
    const Ledger& ledger, const Parking& parking, std::string_view models, std::string_view device = "cpu"
);

} // namespace sotto
