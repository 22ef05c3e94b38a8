// Recordings of engines' decisions, and their replay.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/game.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;

namespace {

using Lines = std::vector<Json>;

// A temporary file.
class File {
public:
    File()
        : path_(
              std::filesystem::temp_directory_path() /
              ("sotto_replay_test_" + std::to_string(getpid()) + "_" + std::to_string(++made_))
          ) {}
    ~File() { std::filesystem::remove(path_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::string path() const { return path_.string(); }

    Lines lines() const {
        Lines all;
        std::ifstream file(path_);
        for (std::string line; std::getline(file, line);) {
            all.push_back(Json::parse(line));
        }
        return all;
    }

    void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
    void write(const Lines& lines) const {
        std::string all;
        for (const auto& line : lines) {
            all += line.dump() + "\n";
        }
        write(all);
    }

private:
    static inline int made_ = 0;
    std::filesystem::path path_;
};

Json replayed(const File& file) {
    sotto_str json{};
    REQUIRE_MESSAGE(sotto_replay(str(file.path()), &json) == SOTTO_OK, last_error());
    return Json::parse(text_of(json));
}

std::string refused(const File& file) {
    sotto_str json{};
    REQUIRE(sotto_replay(str(file.path()), &json) == SOTTO_ERROR_ARGUMENT);
    CHECK(text_of(json).empty());
    return last_error();
}

sotto_engine_desc recorded(std::string_view path) {
    auto desc = plain_desc();
    desc.mode = SOTTO_MODE_BALANCE;
    desc.record_path = str(path);
    return desc;
}

void miss_a_frame(const Game& game) {
    auto begin = SOTTO_INIT(sotto_frame_begin_desc);
    begin.period_ns = 100'000;
    sotto_engine_frame_begin(game.engine(), &begin);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    sotto_engine_frame_end(game.engine(), nullptr);
}

// Records chats beside a game that misses frames before the first answer, so that the duty cycle is cut.
void talk(const File& file) {
    const auto path = file.path();
    Held held(Point::open);
    Game game(recorded(path), held.backend.table());
    game.have("a", R"({"streams": 2, "parkable": true, "prompt_tokens": 90, "token_ms": 5})");
    held.gate.shut();
    std::vector<sotto_request> asked;
    for (int i = 0; i < 6; ++i) {
        asked.push_back(game.ask(
            "a",
            "Good evening, innkeeper.",
            {.tps = i % 2 == 0 ? 200.0F : 0, .priority = static_cast<sotto_priority>(i % 3) - 1}
        ));
    }
    REQUIRE(held.gate.holds());
    for (int i = 0; i < 6; ++i) {
        miss_a_frame(game);
    }
    held.gate.open();
    REQUIRE(game.until([&] {
        miss_a_frame(game);
        return std::all_of(asked.begin(), asked.end(), [&](sotto_request request) {
            return test::count(game.of(request), SOTTO_EVENT_REQUEST_DONE) == 1;
        });
    }));
}

std::size_t count(const Lines& lines, const char* is) {
    return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const Json& line) {
        return line["is"] == is;
    }));
}

} // namespace

TEST_CASE("a recording contains submissions, reports and decisions") {
    const File file;
    talk(file);
    const auto lines = file.lines();
    CHECK(lines.front()["is"] == "engine");
    CHECK(lines.front()["version"] == SOTTO_VERSION);
    CHECK(count(lines, "model") == 1);
    CHECK(count(lines, "stream") == 6);
    CHECK(count(lines, "gone") == 6);
    CHECK(count(lines, "frame") > 0);
    CHECK(count(lines, "step") > 6);
    CHECK(count(lines, "threads") >= count(lines, "step"));
    std::vector<std::string> asked;
    for (const auto& line : lines) {
        if (line["is"] == "request") {
            asked.push_back(line["body"]);
        }
    }
    REQUIRE(asked.size() == 6);
    CHECK(Json::parse(asked[0])["messages"][0]["content"] == "Good evening, innkeeper.");
}

TEST_CASE("replayed decisions are the same") {
    const File file;
    talk(file);
    const auto report = replayed(file);
    const auto lines = file.lines();
    CHECK(report["first_difference"] == nullptr);
    CHECK(report["same"] == report["decisions"]);
    const auto decisions = count(lines, "next") + count(lines, "ahead") + count(lines, "threads") +
                           count(lines, "frame") + count(lines, "rest");
    CHECK(report["decisions"] == decisions);
    CHECK(report["streams"] == 6);
    CHECK(report["models"] == 1);
    CHECK(report["version"] == SOTTO_VERSION);
}

TEST_CASE("a decision that would differ is reported with its line") {
    const File file;
    talk(file);
    const auto whole = file.lines();
    SUBCASE("which stream goes first") {
        auto lines = whole;
        for (auto& line : lines) {
            if (line["is"] == "stream") { // all streams get the same priority
                line["priority"] = 0;
            }
        }
        file.write(lines);
    }
    SUBCASE("prompt tokens of a step") {
        auto lines = whole;
        for (auto& line : lines) {
            if (line["is"] == "step") {
                line["took"] = 100 * line["took"].get<std::int64_t>();
            }
        }
        file.write(lines);
    }
    SUBCASE("duty cycle of models") {
        auto lines = whole;
        for (auto& line : lines) {
            if (line["is"] == "frame") {
                line["missed"] = !line["missed"].get<bool>();
            }
        }
        file.write(lines);
    }
    SUBCASE("a decision without its cause") {
        auto lines = whole;
        for (auto& line : lines) {
            if (line["is"] == "next" && line["slice"]["does"] == "step") {
                line["slice"]["shares"][0][1] = 7777;
                break;
            }
        }
        file.write(lines);
    }
    const auto report = replayed(file);
    CHECK(report["same"] < report["decisions"]);
    const auto& first = report["first_difference"];
    REQUIRE(first.is_object());
    CHECK(first["recorded"] != first["replayed"]);
    const auto line = first["line"].get<std::size_t>();
    REQUIRE(line <= whole.size());
    CHECK(whole[line - 1].contains(first["what"].get<std::string>()));
}

TEST_CASE("an invalid recording is refused by its line") {
    const File file;
    const std::string engine = R"({"is": "engine", "version": "0.1.0"})";
    const std::string model =
        R"({"is": "model", "model": 1, "id": "a", "streams": 2, "step_tokens": 0, "min_step_tokens": 0, )"
        R"("batches": true, "parks": false})";
    const std::string stream =
        R"({"is": "stream", "stream": 1, "model": 1, "priority": 0, "deadline": 9, "at_once": false, )"
        R"("pinned": false, "saves": false})";
    const auto line = [](const std::string& one) { return one + "\n"; };
    file.write("");
    CHECK(refused(file).find("empty") != std::string::npos);
    file.write("GGUF\x03");
    CHECK(refused(file).find("invalid line 1: expected JSON; ") != std::string::npos);
    file.write(line(model));
    CHECK(refused(file).find("invalid line 1.is 'model'") != std::string::npos);
    file.write(line(engine) + line(stream));
    CHECK(
        refused(file).find("invalid line 2.model '1': expected a model of an earlier line") !=
        std::string::npos
    );
    file.write(line(engine) + line(stream.substr(0, 40)) + line(model)); // not the last line
    CHECK(refused(file).find("invalid line 2: expected JSON; ") != std::string::npos);
    file.write(line(engine) + line(model) + line(R"({"is": "gone", "stream": 4})"));
    CHECK(refused(file).find("invalid line 3.stream '4'") != std::string::npos);
    file.write(
        line(engine) + line(model) + line(stream) + line(R"({"is": "facts", "stream": 1, "state": 77})")
    );
    CHECK(refused(file).find("invalid line 4.state '77'") != std::string::npos);
    file.write(line(engine) + line(R"({"is": "next", "at": 5, "time": -1, "apart": false})"));
    CHECK(refused(file).find("invalid line 2.time '-1'") != std::string::npos);
    file.write(line(engine) + line(R"({"is": "frame", "missed": 1, "least": 0, "share": 1})"));
    CHECK(refused(file).find("invalid line 2.missed '1': expected true or false") != std::string::npos);
    file.write(line(engine) + line(R"({"is": "of a later version"})"));
    CHECK(replayed(file)["decisions"] == 0);
}

TEST_CASE("a recording with a truncated last line is replayed up to its last complete line") {
    const File file;
    talk(file);
    std::ifstream written(file.path(), std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(written), {}};
    REQUIRE(whole.back() == '\n');
    CHECK(replayed(file)["cut"] == false);
    const auto decisions = replayed(file)["decisions"].get<int>();
    const auto last = whole.rfind('\n', whole.size() - 2) + 1;
    for (const auto size : {last + 1, last + (whole.size() - last) / 2, whole.size() - 2}) {
        CAPTURE(size);
        file.write(whole.substr(0, size));
        const auto report = replayed(file);
        CHECK(report["cut"] == true);
        CHECK(report["decisions"].get<int>() >= decisions - 1);
        CHECK(report["same"] == report["decisions"]);
    }
    file.write(whole.substr(0, whole.size() - 1)); // only the line end is missing
    CHECK(replayed(file)["decisions"] == decisions);
}

TEST_CASE("numbers that no engine writes are refused by name") {
    const File file;
    const std::string before =
        R"({"is": "engine", "version": "0.1.0"})"
        "\n"
        R"({"is": "model", "model": 1, "streams": 4, "step_tokens": 512, "min_step_tokens": 0, "batches": true, "parks": true})"
        "\n"
        R"({"is": "stream", "stream": 1, "model": 1, "priority": 0, "deadline": 9223372036854775807, "at_once": false, "pinned": false, "saves": false})"
        "\n";
    const std::string next = R"({"is": "next", "at": 1000, "time": 1000000, "apart": false, "slice": null})";
    const auto refusal = [&](const std::string& line) {
        file.write(before + line + "\n" + next + "\n");
        return refused(file);
    };
    const auto names = [](const std::string& why, const std::string& what) {
        CAPTURE(why);
        CHECK(why.find("line 4." + what) != std::string::npos);
    };
    names(refusal(R"({"is": "facts", "stream": 1, "state": 2, "prompt": 10, "remaining": 0})"), "remaining");
    names(refusal(R"({"is": "facts", "stream": 1, "state": 2})"), "state");
    names(refusal(R"({"is": "facts", "stream": 1, "first": 9223372035974775807})"), "first");
    names(refusal(R"({"is": "facts", "stream": 1, "served_at": -9223372036854775807})"), "served_at");
    names(refusal(R"({"is": "facts", "stream": 1, "pace_next": 9223372036854775807})"), "pace_next");
    names(refusal(R"({"is": "facts", "stream": 1, "pace_rate": -1})"), "pace_rate");
    names(
        refusal(R"({"is": "facts", "model": 1, "open_streams": 1, "served_ns": 9223372036854775807})"),
        "served_ns"
    );
    names(refusal(R"({"is": "next", "at": 9223372036854775807, "time": 1, "apart": false})"), "at");
    names(refusal(R"({"is": "ahead", "at": -9223372036854775807, "goes_on": false})"), "at");
    names(refusal(R"({"is": "rest", "share": 0, "took": 1, "rest": 1})"), "share");
    names(refusal(R"({"is": "rest", "share": 0.5, "took": 9223372036854775807, "rest": 1})"), "took");
    names(refusal(R"({"is": "frame", "missed": true, "least": 7, "share": 1})"), "least");
    file.write(
        before +
        R"({"is": "facts", "stream": 1, "state": 3, "generated": 100, "told": 100, "pace_rate": 1e-9})" +
        "\n" + next + "\n"
    );
    CHECK(replayed(file)["decisions"] == 1);
}

TEST_CASE("anything but a regular file is refused as a recording before it is opened") {
    const File file;
    REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
    CHECK(refused(file).find("a regular file, but it is a FIFO") != std::string::npos);
    sotto_str json{};
    CHECK(sotto_replay(str("/dev/zero"), &json) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_replay(str("/tmp"), &json) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("a recording never replaces a file, and is readable by its user only") {
    const File file;
    const auto refused = [&] {
        const auto path = file.path();
        const auto desc = recorded(path);
        sotto_engine* engine = nullptr;
        CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_ARGUMENT);
        CHECK(engine == nullptr);
        return last_error();
    };
    SUBCASE("the recording of a crash") {
        talk(file);
        CHECK(
            (std::filesystem::status(file.path()).permissions() & std::filesystem::perms::all) ==
            std::filesystem::perms(0600)
        );
        const auto before = file.lines();
        CHECK(refused().find("expected a path without a file; use another path") != std::string::npos);
        CHECK(file.lines() == before);
    }
    SUBCASE("a recording that another engine is writing") {
        const auto path = file.path();
        Game game(recorded(path));
        refused();
        game.have("a");
        CHECK(done(game.finish(game.ask("a", "hi"))).status == SOTTO_OK);
    }
    SUBCASE("another file") {
        file.write("dear diary");
        refused();
        CHECK(std::filesystem::file_size(file.path()) == 10);
    }
    SUBCASE("a broken link") {
        std::filesystem::create_symlink("/there/is/none", file.path());
        refused();
    }
}

TEST_CASE("a missing recording is not found; NULL is refused") {
    sotto_str json{};
    CHECK(sotto_replay(str("/there/is/none"), &json) == SOTTO_ERROR_NOT_FOUND);
    CHECK(last_error().find("/there/is/none") != std::string::npos);
    CHECK(sotto_replay(str("/there/is/none"), nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_replay({}, &json) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("an engine whose recording cannot be created is not created") {
    const auto desc = recorded("/there/is/none");
    sotto_engine* engine = nullptr;
    CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_ARGUMENT);
    CHECK(engine == nullptr);
    CHECK(
        last_error().find("invalid record '/there/is/none': expected a file that can be written") !=
        std::string::npos
    );
}

TEST_CASE("a recording stops on a full disk, and the engine continues") {
    struct rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    const File file;
    const auto path = file.path();
    {
        Game game(recorded(path));
        game.have("a");
        const struct rlimit full = {std::filesystem::file_size(path), before.rlim_max};
        REQUIRE(setrlimit(RLIMIT_FSIZE, &full) == 0);
        for (int i = 0; i < 3; ++i) {
            CHECK(done(game.finish(game.ask("a", "hi"))).status == SOTTO_OK);
        }
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, old);
}
