// Log levels and sinks. ctest runs this several times with different environments.
#include "base/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

using sotto::Log;

namespace {

using Lines = std::vector<std::pair<sotto_log_level, std::string>>;

void SOTTO_CALL keep(void* self, sotto_log_level level, sotto_str message) {
    static_cast<Lines*>(self)->emplace_back(level, std::string(message.data, message.size));
}

sotto_log_sink sink_to(Lines& lines) {
    sotto_log_sink sink{};
    sink.struct_size = sizeof sink;
    sink.write = keep;
    sink.self = &lines;
    return sink;
}

// Returns what `work` writes to stderr.
template <typename Work>
std::string stderr_of(Work&& work) {
    std::FILE* file = std::tmpfile();
    const int kept = dup(STDERR_FILENO);
    std::fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    work();
    std::fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    std::rewind(file);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
}

} // namespace

TEST_CASE("the environment sets the initial log level") {
    const char* wanted = std::getenv("SOTTO_TEST_LEVEL");
    const auto level = wanted != nullptr ? static_cast<sotto_log_level>(std::atoi(wanted)) : SOTTO_LOG_WARN;
    CHECK(sotto::log_level() == level);
    sotto::set_log_level(SOTTO_LOG_TRACE);
    CHECK(sotto::log_level() == SOTTO_LOG_TRACE);
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
    CHECK(sotto::log_level() == level);
}

TEST_CASE("a line reaches the sink if its level is enabled") {
    Lines lines;
    const Log log(sink_to(lines));
    for (sotto_log_level wanted = SOTTO_LOG_ERROR; wanted <= SOTTO_LOG_TRACE; ++wanted) {
        sotto::set_log_level(wanted);
        lines.clear();
        for (sotto_log_level level = SOTTO_LOG_ERROR; level <= SOTTO_LOG_TRACE; ++level) {
            log.write(level, "line " + std::to_string(level));
        }
        CHECK(lines.size() == static_cast<std::size_t>(wanted));
        CHECK(lines.back() == std::pair(wanted, "line " + std::to_string(wanted)));
    }
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
}

TEST_CASE("each short name is parsed as its level") {
    sotto::set_log_level(SOTTO_LOG_TRACE);
    Lines lines;
    const Log log(sink_to(lines));
    log.error("e");
    log.warn("w");
    log.info("i");
    log.debug("d");
    const Lines wanted = {
        {SOTTO_LOG_ERROR, "e"}, {SOTTO_LOG_WARN, "w"}, {SOTTO_LOG_INFO, "i"}, {SOTTO_LOG_DEBUG, "d"}
    };
    CHECK(lines == wanted);
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
}

TEST_CASE("without a sink lines go to stderr") {
    sotto::set_log_level(SOTTO_LOG_WARN);
    const auto text = stderr_of([] {
        Log().warn("the sky is grey");
        Log().info("the sky is blue");
    });
    CHECK(text == "sotto: warn: the sky is grey\n");
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
}

TEST_CASE("an invalid level is harmless") { // a backend may pass any value
    sotto::set_log_level(SOTTO_LOG_WARN);
    const auto text = stderr_of([] {
        Log().write(-1, "below");
        Log().write(INT32_MIN, "far below");
        Log().write(SOTTO_LOG_DEFAULT, "nothing");
        Log().write(6, "above");
    });
    CHECK(text.find("above") == std::string::npos);
    CHECK(text.find("sotto: error: far below\n") != std::string::npos);
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
}

TEST_CASE("control characters in a message do not reach the terminal") {
    sotto::set_log_level(SOTTO_LOG_WARN);
    const auto text = stderr_of([] {
        Log().warn(
            "\x1b]0;owned\x07 \xC2\x9B"
            "31m \xE2\x80\xAEtxt\xE2\x81\xA6\xD8\x9C\r\n\x7F\x08 end"
        );
        Log().warn("Zo\xC3\xAB \xE7\x8B\xBC \xF0\x9F\x90\xBA\ttab \xE2\x80\xA6");
        Log().warn(std::string(100000, 'x'));
    });
    CHECK(text.starts_with("sotto: warn: ?]0;owned? ?31m ?txt?????? end\n"));
    CHECK(
        text.find("sotto: warn: Zo\xC3\xAB \xE7\x8B\xBC \xF0\x9F\x90\xBA\ttab \xE2\x80\xA6\n") !=
        std::string::npos
    );
    sotto::set_log_level(SOTTO_LOG_DEFAULT);
}
