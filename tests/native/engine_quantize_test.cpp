// Requests that quantize a model's file.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "support/folder.hpp"
#include "support/game.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;

namespace {

constexpr const char* kSlow = R"({"pieces": 100000, "piece_ms": 1})";

class Files {
public:
    // `script`: the source, as the scripted backend reads it.
    explicit Files(const std::string& script) { std::ofstream(source()) << script; }

    std::string source() const { return (folder_.path() / "source").string(); }
    std::string to() const { return (folder_.path() / "to").string(); }
    // Contents of the new file; empty: none.
    std::string made() const {
        std::ifstream file(to(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::size_t count() const { return folder_.files().size(); }
    std::string body(const std::string& more = R"(, "type": "Q4_K_M")") const {
        return R"({"path": )" + test::quoted(source()) + R"(, "to_path": )" + test::quoted(to()) + more + "}";
    }

private:
    Folder folder_;
};

sotto_request submit(Game& game, const std::string& body) {
    return game.submit(body, {}, SOTTO_OP_QUANTIZE);
}

Told refused(Game& game, const std::string& body) {
    return done(game.finish(submit(game, body)));
}

} // namespace

TEST_CASE("a file is quantized, with progress, and replaces an earlier one when it is complete") {
    const Files files(R"({"pieces": 50})");
    std::ofstream(files.to()) << "earlier";
    Game game;
    const auto request = submit(game, files.body());
    const auto& history = game.finish(request);
    CHECK(history.front().kind == SOTTO_EVENT_ACCEPTED);
    const auto& last = done(history);
    REQUIRE_MESSAGE(last.status == SOTTO_OK, last.error);
    CHECK(history[history.size() - 2].progress == 1);
    CHECK(
        Json::parse(last.json) ==
        Json{{"path", files.to()}, {"type", "Q4_K_M"}, {"bytes", 300}, {"source_bytes", 14}}
    );
    std::string expected = "wholeM";
    for (int i = 1; i < 50; ++i) {
        expected += "Q4_K_M";
    }
    CHECK(files.made() == expected);
    CHECK(files.count() == 2);
}

TEST_CASE("progress rises, and a cancelled request leaves no file") {
    const Files files(kSlow);
    Game game;
    game.have("npc", R"({"tokens": ["a"]})");
    const auto request = submit(game, R"({"unheard": 1, )" + files.body().substr(1));
    game.until_told(request, SOTTO_EVENT_ACCEPTED);
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a"); // models go on meanwhile
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    CHECK(files.count() == 1);
    const Files short_one(R"({"pieces": 20, "piece_ms": 5})");
    float before = 0;
    for (const auto& event : game.finish(submit(game, short_one.body()))) {
        if (event.kind == SOTTO_EVENT_PROGRESS) {
            CHECK(event.progress > before);
            before = event.progress;
        }
    }
    CHECK(before == 1);
}

TEST_CASE("requests run one after the other, and one that waits can be cancelled") {
    const Files slow(kSlow);
    const Files quick(R"({"pieces": 1})");
    Game game;
    const auto first = submit(game, slow.body());
    const auto second = submit(game, quick.body());
    const auto third = submit(game, quick.body(R"(, "type": "Q8_0")"));
    game.until_told(third, SOTTO_EVENT_ACCEPTED);
    CHECK(quick.made().empty());
    game.cancel(second);
    game.cancel(first);
    CHECK(done(game.finish(first)).status == SOTTO_ERROR_CANCELLED);
    CHECK(done(game.finish(second)).status == SOTTO_ERROR_CANCELLED);
    CHECK(done(game.finish(third)).status == SOTTO_OK);
    CHECK(quick.made() == "whole");
    CHECK(slow.made().empty());
}

TEST_CASE("destroying the engine cancels the quantization") {
    const Files files(kSlow);
    Game game;
    const auto request = submit(game, files.body());
    game.until_told(request, SOTTO_EVENT_ACCEPTED);
    game.end();
    CHECK(files.count() == 1);
}

TEST_CASE("invalid requests are refused, and leave no file") {
    const Files files("{}");
    Game game;
    CHECK(refused(game, "{}").error == "missing path: expected a string that is not empty");
    CHECK(refused(game, R"({"path": "a"})").error == "missing to_path: expected the path of the new file");
    const auto body = files.body("");
    CHECK(refused(game, body).error == "missing type: expected the name of a type, such as Q4_K_M");
    const auto& unknown = refused(game, files.body(R"(, "type": "Q0")"));
    CHECK(unknown.status == SOTTO_ERROR_ARGUMENT);
    CHECK(unknown.error == "invalid type 'Q0': expected Q4_K_M");
    CHECK(
        refused(game, files.body(R"(, "type": "Q8_0", "threads": 513)")).error.find("invalid threads") == 0
    );
    const auto source = test::quoted(files.source());
    const auto same = R"({"type": "Q8_0", "path": )" + source + R"(, "to_path": )" + source + "}";
    CHECK(refused(game, same).error.find("expected another file than path") != std::string::npos);
    const auto folder = test::quoted(std::filesystem::path(files.to()).parent_path().string());
    const auto in_place = R"({"type": "Q8_0", "path": )" + source + R"(, "to_path": )" + folder + "}";
    CHECK(refused(game, in_place).status == SOTTO_ERROR_ARGUMENT);
    const auto absent =
        R"({"type": "Q8_0", "path": "/no/such", "to_path": )" + test::quoted(files.to()) + "}";
    CHECK(refused(game, absent).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(files.count() == 1);
}

TEST_CASE("a disk that is full fails the request with the system's reason, and keeps the earlier file") {
    const Files files(R"({"pieces": 10000})");
    std::ofstream(files.to()) << "earlier";
    Game game;
    rlimit limit = {};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit low = {20'000, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &low) == 0);
    const auto& last = refused(game, files.body());
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    std::signal(SIGXFSZ, before);
    CHECK(last.status == SOTTO_ERROR_STATE);
    CHECK_MESSAGE(last.error.find("File too large; make room on the disk") != std::string::npos, last.error);
    CHECK(files.made() == "earlier");
    CHECK(files.count() == 2);
}

TEST_CASE("the budget has the memory that a quantization works with, until it ends") {
    Files files(R"({"working_bytes": 1000000, "pieces": 100000, "piece_ms": 1})");
    auto desc = plain_desc();
    desc.vram_budget = 1'500'000;
    Game game(desc);
    const auto used = [&] {
        auto stats = SOTTO_INIT(sotto_stats);
        REQUIRE(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
        return stats.bytes_compute;
    };
    const auto request = submit(game, files.body());
    game.until_told(request, SOTTO_EVENT_PROGRESS);
    CHECK(used() == 1'000'000);
    CHECK(done(game.finish(game.load("large", R"({"compute": 600000})"))).status == SOTTO_ERROR_BUDGET);
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    CHECK(used() == 0);
    game.have("large", R"({"compute": 600000})");
    const auto last = refused(game, files.body());
    CHECK(last.status == SOTTO_ERROR_BUDGET);
    CHECK(last.error.find("the quantizer needs 1 MB for its compute") == 0);
    CHECK(files.count() == 1);
}

TEST_CASE("a backend that quantizes no files refuses the request") {
    const Files files("{}");
    auto backend = scripted();
    backend.quantize = nullptr;
    Game game(backend);
    const auto& last = refused(game, files.body());
    CHECK_MESSAGE(last.status == SOTTO_ERROR_UNSUPPORTED, last.error);
    CHECK(files.made().empty());
}
