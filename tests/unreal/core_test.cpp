// The engine-free part of the plugin, without the double.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "Core/Binary.h"
#include "Core/Host.h"
#include "Core/Names.h"
#include "Core/Priority.h"
#include "Core/Sheet.h"

#define DOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS
#include <doctest/doctest.h>

using namespace SottoCore;

namespace {

using Texts = std::vector<std::string>;

/** Splits a text that arrives in pieces of `size` bytes, which is legal only for ASCII; else whole. */
Texts split(const std::string& text, std::size_t size = std::string::npos) {
    FSentences splitter;
    Texts found;
    for (std::size_t at = 0; at < text.size(); at += std::min(size, text.size() - at)) {
        splitter.Feed(std::string_view(text).substr(at, size), found);
    }
    splitter.Finish(found);
    return found;
}

struct FakeVersion {
    static inline const char* version = SOTTO_VERSION;
    static sotto_str SOTTO_CALL get() { return {version, std::char_traits<char>::length(version)}; }
    static void* find(void* missing, const char* name) {
        static char anything;
        if (std::string(name) == "sotto_version") {
            return reinterpret_cast<void*>(&get);
        }
        return std::string(name) == static_cast<const char*>(missing) ? nullptr : &anything;
    }
};

std::string load(const char* version, const char* missing) {
    FakeVersion::version = version;
    FApi api;
    std::string reason;
    const bool loaded = api.Load(&FakeVersion::find, const_cast<char*>(missing), reason);
    CHECK(loaded == reason.empty());
    CHECK(api.IsLoaded() == loaded);
    return reason;
}

} // namespace

TEST_CASE("sentences end at marks that white space follows") {
    CHECK(split("Welcome! Stew is 4 copper. Sit down") == Texts{"Welcome!", "Stew is 4 copper.", "Sit down"});
    CHECK(split("Who? Me?! \"No.\" he said.") == Texts{"Who?", "Me?!", "\"No.\"", "he said."});
    CHECK(split("It costs 3.50 copper.") == Texts{"It costs 3.50 copper."});
    CHECK(split("one\ntwo\n\n") == Texts{"one", "two"});
    CHECK(split("Well... perhaps. ") == Texts{"Well...", "perhaps."});
    CHECK(split("{Yes.} No.") == Texts{"{Yes.}", "No."});
    CHECK(split("\u300E\u306F\u3044\u3002\u300F\u3000No.") == Texts{"\u300E\u306F\u3044\u3002\u300F", "No."});
    CHECK(split("Yes.\u00A0No.\u3000") == Texts{"Yes.", "No."});
    CHECK(split("") == Texts{});
    CHECK(split("   \n ") == Texts{});
}

TEST_CASE("abbreviations and initials do not end a sentence") {
    CHECK(split("Ask Mr. Odo. He knows.") == Texts{"Ask Mr. Odo.", "He knows."});
    CHECK(split("J. R. Brightwater owns it. Truly.") == Texts{"J. R. Brightwater owns it.", "Truly."});
    CHECK(split("So do I. And you?") == Texts{"So do I.", "And you?"});
}

TEST_CASE("sentences do not depend on how the text arrives") {
    const std::string text = "Good evening, Dr. Hale! \"Stew?\" Four copper... No more. Yes (really). ";
    const Texts whole = split(text);
    CHECK(whole.size() == 5);
    for (std::size_t size = 1; size < 9; ++size) {
        CHECK(split(text, size) == whole);
    }
}

TEST_CASE("sentences in other scripts") {
    CHECK(split("こんにちは。元気？はい！") == Texts{"こんにちは。", "元気？", "はい！"});
    CHECK(split("مرحبا! كيف حالك؟ بخير.") == Texts{"مرحبا!", "كيف حالك؟", "بخير."});
    CHECK(split("Fine 👍🏽. Bye 👋!") == Texts{"Fine 👍🏽.", "Bye 👋!"});
}

TEST_CASE("a sentence is delivered once its end is certain") {
    FSentences splitter;
    Texts found;
    splitter.Feed("Stew is 4 copper.", found);
    CHECK(found.empty()); // a quote may follow
    splitter.Feed(" ", found);
    CHECK(found == Texts{"Stew is 4 copper."});
}

TEST_CASE("a sheet has a line for each field, and no text adds a line") {
    const std::vector<FSheetLine> lines = {
        {"Name", "Marta\nPrices:", {}}, {"Mood", "", {}}, {"Prices", "", {"stew: 4 copper", "bed:\r9 copper"}}
    };
    CHECK(WriteSheet(lines) == "Name: Marta Prices:\nPrices:\n- stew: 4 copper\n- bed: 9 copper");
    CHECK(WriteSheet({}).empty());
}

TEST_CASE("priority by distance, with a margin at the borders") {
    const FPriorityRange range{100, 1000};
    CHECK(PriorityByDistance(100, range, SOTTO_PRIORITY_NORMAL) == SOTTO_PRIORITY_FOREGROUND);
    CHECK(PriorityByDistance(105, range, SOTTO_PRIORITY_NORMAL) == SOTTO_PRIORITY_NORMAL);
    CHECK(PriorityByDistance(105, range, SOTTO_PRIORITY_FOREGROUND) == SOTTO_PRIORITY_FOREGROUND);
    CHECK(PriorityByDistance(111, range, SOTTO_PRIORITY_FOREGROUND) == SOTTO_PRIORITY_NORMAL);
    CHECK(PriorityByDistance(1001, range, SOTTO_PRIORITY_NORMAL) == SOTTO_PRIORITY_BACKGROUND);
    CHECK(PriorityByDistance(950, range, SOTTO_PRIORITY_BACKGROUND) == SOTTO_PRIORITY_BACKGROUND);
    CHECK(PriorityByDistance(899, range, SOTTO_PRIORITY_BACKGROUND) == SOTTO_PRIORITY_NORMAL);
    CHECK(PriorityByDistance(0.0 / 0.0, range, SOTTO_PRIORITY_FOREGROUND) == SOTTO_PRIORITY_NORMAL);
}

TEST_CASE("a library of another version, or without a function, is refused with a reason") {
    CHECK(load(SOTTO_VERSION, "").empty());
    CHECK(
        load("9.1.0", "") ==
        "invalid library version '9.1.0': expected " SOTTO_VERSION
        " or another patch of it; install the plugin and the library from one release, and restart"
    );
    CHECK(load("9.1.0", "sotto_engine_say").find("version '9.1.0'") != std::string::npos); // the deeper cause
    CHECK(
        load(SOTTO_VERSION, "sotto_engine_say").find("does not export 'sotto_engine_say'") !=
        std::string::npos
    );
    CHECK(load("", "").find("invalid library version ''") != std::string::npos);
    CHECK(IsCompatible("0.1.7", "0.1.0"));
    CHECK_FALSE(IsCompatible("0.10.0", "0.1.0"));
    CHECK_FALSE(IsCompatible("1", "1.0.0"));
}

TEST_CASE("what a library file is built for") {
    std::string elf(64, '\0');
    elf.replace(
        0,
        4,
        "\x7f"
        "ELF"
    );
    elf[18] = '\xb7'; // 183
    CHECK(DescribeBinary(elf) == "Linux (ELF), aarch64");
    elf[18] = 62;
    CHECK(DescribeBinary(elf) == "Linux (ELF), x86-64");
    elf[18] = 3;
    CHECK(DescribeBinary(elf) == "Linux (ELF), machine type 3");
    std::string pe(256, '\0');
    pe.replace(0, 2, "MZ");
    pe[60] = '\x80';
    pe.replace(128, 2, "PE");
    pe[132] = '\x64';
    pe[133] = '\x86';
    CHECK(DescribeBinary(pe) == "Windows (PE), x86-64");
    pe[60] = '\xff'; // beyond the bytes that were read
    CHECK(DescribeBinary(pe).empty());
    CHECK(DescribeBinary("").empty());
    CHECK(DescribeBinary("#!/bin/sh").empty());
    for (std::size_t size = 0; size < pe.size(); ++size) {
        DescribeBinary(std::string_view(pe).substr(0, size)); // under AddressSanitizer
        DescribeBinary(std::string_view(elf).substr(0, std::min(size, elf.size())));
    }
}

TEST_CASE("a handler that silences its own answer runs on, and no other follows") {
    int sentences = 0;
    int ends = 0;
    std::string heard;
    std::unique_ptr<FAnswer> answer;
    FHandlers handlers;
    handlers.Partial = [&answer, &heard, kept = std::string(100, 'x')](FJobId, std::string_view text) {
        answer->Silence();
        heard += std::string(text) + kept; // under AddressSanitizer
    };
    handlers.Sentence = [&](FJobId, std::string_view) { ++sentences; };
    handlers.Done = [&](const FResult&) { ++ends; };
    answer = std::make_unique<FAnswer>(7, std::move(handlers));
    FEvent event;
    event.Kind = SOTTO_EVENT_TEXT;
    event.Text = "One. Two. ";
    answer->Handle(event);
    CHECK(heard == "One. Two. " + std::string(100, 'x'));
    answer->Handle(event);
    event.Kind = SOTTO_EVENT_REQUEST_DONE;
    answer->Handle(event);
    CHECK(heard.size() == 110);
    CHECK(sentences == 0);
    CHECK(ends == 0);
}

TEST_CASE("a name that is too long keeps its end, and differs from others with the same end") {
    const std::string fits(kMaxName, 'n');
    CHECK(FitName(fits) == fits);
    CHECK(FitName("").empty());
    const std::string one = FitName("/Game/A/" + fits);
    const std::string two = FitName("/Game/B/" + fits);
    CHECK(one.size() == kMaxName);
    CHECK(one != two);
    CHECK(one.substr(17) == two.substr(17));
    CHECK(one == "a6700760884f159d." + std::string(kMaxName - 17, 'n'));
    std::string wide;
    for (int i = 0; i < 50; ++i) {
        wide += "あ"; // 3 bytes
    }
    CHECK(FitName(wide).size() == 128);
    const std::string cut = FitName(wide + "x"); // between characters
    CHECK(cut.size() == 126);
    CHECK(cut.substr(17).find("あ") == 0);
}

TEST_CASE("the fields of a turn") {
    FTurn turn;
    CHECK(WriteFields(turn) == "{}");
    turn.Temperature = 0.25F;
    CHECK(WriteFields(turn) == "{\"temperature\": 0.250}");
    turn.Fields = " {\"seed\": 7} ";
    CHECK(WriteFields(turn) == "{\"seed\": 7, \"temperature\": 0.250}");
    turn.Temperature = -1;
    turn.Fields = "nonsense";
    CHECK(WriteFields(turn) == "{nonsense}"); // which the library refuses
    turn.Fields.clear();
    turn.Temperature = 0;
    CHECK(WriteFields(turn) == "{\"temperature\": 0.000}");
}
