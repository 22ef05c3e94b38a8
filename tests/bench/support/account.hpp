// Where the processors' time went while a game ran beside characters.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sotto/sotto.h>

namespace bench {

// Reads Linux' /proc; everything is 0 elsewhere.
class Account {
public:
    // Threads that there are now are the game's; those that come later are the engine's.
    Account();

    void begin();
    void end();

    // A JSON object: wall time by what the engine did, and processor time by who had it.
    std::string told(const std::vector<sotto_slice>& slices, std::uint64_t began, std::uint64_t ended) const;

private:
    struct Times {
        std::map<std::string, double> used_ms; // by whom
        double delayed_ms = 0;                 // models' threads could have run, and had no core
        double busy_ms = 0;                    // all processors
        double own_ms = 0;                     // this process
    };

    Times read() const;
    std::string who(const std::string& task) const;

    std::set<std::string> game_;
    Times began_;
    Times ended_;
};

} // namespace bench
