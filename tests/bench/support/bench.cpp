#include "support/bench.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

namespace bench {

void die(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

double milliseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

Clock::time_point after(Clock::time_point from, double seconds) {
    return from + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::uint64_t nanoseconds(Clock::time_point at) {
    using std::chrono::nanoseconds;
    return static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(at.time_since_epoch()).count());
}

Arguments::Arguments(int count, char** given, std::string usage) : usage_(std::move(usage)) {
    for (int i = 1; i < count; ++i) {
        const std::string word = given[i];
        const auto equals = word.find('=');
        if (equals == std::string::npos) {
            die(word + " is no name=value\nusage: " + usage_);
        }
        values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
}

std::string Arguments::text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) {
        die("there is no " + name + "=\nusage: " + usage_);
    }
    return found->second;
}

std::string Arguments::text(const std::string& name, const std::string& absent) const {
    return values_.contains(name) ? text(name) : absent;
}

double Arguments::number(const std::string& name) const {
    const auto value = text(name);
    char* end = nullptr;
    const auto number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0') {
        die(name + "=" + value + " is no number\nusage: " + usage_);
    }
    return number;
}

double Arguments::number(const std::string& name, double absent) const {
    return values_.contains(name) ? number(name) : absent;
}

std::uint32_t Arguments::count(const std::string& name) const {
    return static_cast<std::uint32_t>(number(name));
}

std::uint32_t Arguments::count(const std::string& name, std::uint32_t absent) const {
    return static_cast<std::uint32_t>(number(name, absent));
}

Words::Words(const std::string& path) {
    std::ifstream file(path);
    words_.assign(std::istream_iterator<std::string>(file), {});
    if (words_.empty()) {
        die(path + " holds no words");
    }
}

std::string Words::sentence(std::uint32_t count, std::uint32_t kind) const {
    std::mt19937 random(kind);
    std::string made;
    for (std::uint32_t i = 0; i < count; ++i) {
        made += ' ' + words_[random() % words_.size()];
    }
    return made;
}

std::uint32_t kind_of(std::uint32_t stream, std::uint32_t prompt) {
    constexpr std::uint32_t kFirst = 1'000; // kinds below are for who needs one of its own
    constexpr std::uint32_t kMost = 1'000'000;
    return kFirst + stream * kMost + prompt;
}

std::uint32_t
length_of(std::uint32_t stream, std::uint32_t streams, std::uint32_t answer, std::uint32_t tokens) {
    return answer > 0 ? tokens : std::max(1u, tokens * (stream + 1) / streams);
}

std::string array(const std::vector<double>& numbers, int decimals) {
    std::string made;
    for (const auto number : numbers) {
        made += format("%s%.*f", made.empty() ? "" : ", ", decimals, number);
    }
    return '[' + made + ']';
}

std::string array(const std::vector<std::uint64_t>& numbers) {
    std::string made;
    for (const auto number : numbers) {
        made += (made.empty() ? "" : ", ") + std::to_string(number);
    }
    return '[' + made + ']';
}

std::string format(const char* pattern, ...) {
    std::va_list values;
    va_start(values, pattern);
    std::va_list again;
    va_copy(again, values);
    std::string made(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, pattern, values)), '\0');
    std::vsnprintf(made.data(), made.size() + 1, pattern, again);
    va_end(again);
    va_end(values);
    return made;
}

} // namespace bench
