// What all benches share: how they are told what to do, the clock, and sentences of known length.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock; // the system's monotonic one, as the library's

[[noreturn]] void die(const std::string& why);

double milliseconds(Clock::time_point from, Clock::time_point to);
Clock::time_point after(Clock::time_point from, double seconds);
std::uint64_t nanoseconds(Clock::time_point at);

// What a program is told, each as name=value.
class Arguments {
public:
    Arguments(int count, char** given, std::string usage);

    // Without `absent`, a value that is not there ends the program.
    std::string text(const std::string& name) const;
    std::string text(const std::string& name, const std::string& absent) const;
    double number(const std::string& name) const;
    double number(const std::string& name, double absent) const;
    std::uint32_t count(const std::string& name) const;
    std::uint32_t count(const std::string& name, std::uint32_t absent) const;

private:
    std::map<std::string, std::string> values_;
    std::string usage_;
};

// Words each of which is a token of the model's, so that a sentence has as many tokens as words.
class Words {
public:
    // One a line.
    explicit Words(const std::string& path);

    // Two sentences of another `kind` are as good as never the same, nor alike at their beginning.
    std::string sentence(std::uint32_t count, std::uint32_t kind) const;

private:
    std::vector<std::string> words_;
};

// Of a stream's n-th prompt; the same ones in each program, so that everyone reads the same.
std::uint32_t kind_of(std::uint32_t stream, std::uint32_t prompt);

// Of a stream's n-th answer where all are `tokens` long: first answers are shorter, each by another amount,
// so that streams which ask again and again do not all read at the same time.
std::uint32_t
length_of(std::uint32_t stream, std::uint32_t streams, std::uint32_t answer, std::uint32_t tokens);

// A JSON array.
std::string array(const std::vector<double>& numbers, int decimals);
std::string array(const std::vector<std::uint64_t>& numbers);

// A printf to a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

} // namespace bench
