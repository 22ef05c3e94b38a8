// The plugin's reader and writer of JSON.
#include <clocale>
#include <cmath>
#include <string>
#include <vector>

#include "Core/Json.h"

#define DOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS
#include <doctest/doctest.h>

using namespace SottoCore;

namespace {

/** Quotes text without a control character. */
sotto_status SOTTO_CALL quote(sotto_str text, char* buffer, size_t capacity, size_t* size) {
    const std::string quoted = "\"" + std::string(text.data, text.size) + "\"";
    REQUIRE(quoted.size() < capacity);
    quoted.copy(buffer, quoted.size());
    *size = quoted.size();
    return SOTTO_OK;
}

const FApi& api() {
    static FApi made;
    made.sotto_json_quote = &quote;
    return made;
}

/** Reads everything, as a reader of entries does. Returns true if all of it is valid. */
bool walk(std::string_view json) {
    FJsonReader reader(json);
    std::string name;
    for (reader.BeginObject(); reader.NextField(name);) {
        if (name == "list") {
            for (reader.BeginArray(); reader.NextItem();) {
                reader.Number();
            }
        } else if (name == "text") {
            reader.Text();
        } else if (name == "flag") {
            reader.Flag();
        } else if (name == "floats") {
            std::vector<float> values;
            reader.Floats(values);
        } else {
            reader.Raw();
        }
    }
    return reader.IsValid();
}

const std::string kAll =
    R"({"text": "a\"\\\n\u00e9\ud83d\udc4b", "list": [1, -2.5e3, 0.125], "flag": true, "floats": "AACAPwAAAMA=",)"
    R"( "more": {"a": [{"b": "}]"}], "c": null}, "end": []})";

} // namespace

TEST_CASE("JSON is read value by value") {
    FJsonReader reader(kAll);
    std::string name;
    reader.BeginObject();
    REQUIRE(reader.NextField(name));
    CHECK(name == "text");
    CHECK(reader.Text() == "a\"\\\n\xC3\xA9\xF0\x9F\x91\x8B");
    REQUIRE(reader.NextField(name));
    std::vector<double> numbers;
    for (reader.BeginArray(); reader.NextItem();) {
        numbers.push_back(reader.Number());
    }
    CHECK(numbers == std::vector<double>{1, -2500, 0.125});
    REQUIRE(reader.NextField(name));
    CHECK(reader.Flag());
    REQUIRE(reader.NextField(name));
    std::vector<float> floats;
    reader.Floats(floats);
    CHECK(floats == std::vector<float>{1, -2});
    REQUIRE(reader.NextField(name));
    CHECK(reader.Raw() == R"({"a": [{"b": "}]"}], "c": null})");
    REQUIRE(reader.NextField(name));
    reader.BeginArray();
    CHECK_FALSE(reader.NextItem());
    CHECK_FALSE(reader.NextField(name));
    CHECK(reader.IsValid());
}

TEST_CASE("numbers at their limits") {
    CHECK(FJsonReader("9007199254740993").Integer() == 9007199254740992); // a double
    CHECK(FJsonReader("1e300").Integer() == INT64_MAX);
    CHECK(FJsonReader("-1e300").Integer() == INT64_MIN);
    CHECK(FJsonReader("1e-400").Number() == 0);
    CHECK(std::isinf(FJsonReader("1e99999999999").Number()));
    CHECK(FJsonReader("null").Number() == 0);
    CHECK(FJsonReader("1767225600123").Integer() == 1767225600123);
    CHECK(FJsonReader("0.1").Number() == doctest::Approx(0.1).epsilon(1e-15));
}

TEST_CASE("text that is cut off or damaged ends every list, and nothing is read past its end") {
    CHECK(walk(kAll));
    CHECK(walk("{}"));
    for (std::size_t size = 0; size < kAll.size(); ++size) {
        const std::vector<char> exact(kAll.begin(), kAll.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(walk(std::string_view(exact.data(), exact.size()))); // under AddressSanitizer
    }
    for (std::size_t at = 0; at < kAll.size(); ++at) {
        for (const char other : {'"', '\\', '{', ']', ',', 'x', '\0'}) {
            std::string damaged = kAll;
            damaged[at] = other;
            walk(damaged);
        }
    }
    CHECK_FALSE(walk(R"({"floats": "AAA"})"));
    CHECK_FALSE(walk(R"({"floats": "no base64"})"));
    CHECK_FALSE(walk(R"({"text": "\u12"})"));
    CHECK_FALSE(walk(R"({"list": [1 2]})"));
    CHECK_FALSE(walk(R"({"list": [,]})"));
    CHECK_FALSE(walk(R"({"flag": maybe})"));
    FJsonReader lone(R"("\ud83d!")");
    CHECK(lone.Text() == "\xEF\xBF\xBD!"); // a lone surrogate
}

TEST_CASE("an object is written field by field, whatever the locale") {
    const char* const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    for (const char* locale : locales) {
        std::setlocale(LC_NUMERIC, locale); // where the system has it
        CHECK(WriteNumber(0.5) == "0.5");
        CHECK(WriteNumber(-2) == "-2");
        CHECK(WriteNumber(1e300).find("e+300") != std::string::npos);
    }
    std::setlocale(LC_NUMERIC, "C");
    CHECK(WriteNumber(INFINITY) == "null");
    for (const double number : {0.1, 1.0 / 3, 5e-324, 1.7e308, 123456789.123}) {
        CHECK(FJsonReader(WriteNumber(number)).Number() == doctest::Approx(number).epsilon(1e-14));
    }
    FJsonObject object(api());
    object.Text("id", "a").Integer("n", -7).Flag("on", true).Number("x", 0.25).Raw("list", "[1]");
    CHECK(object.Write() == R"({"id": "a", "n": -7, "on": true, "x": 0.25, "list": [1]})");
    CHECK(FJsonObject(api()).Write() == "{}");
    CHECK(WriteTexts(api(), {"a", "b"}) == R"(["a", "b"])");
}

TEST_CASE("base64 is that of RFC 4648") {
    CHECK(WriteBase64("").empty());
    CHECK(WriteBase64("f") == "Zg==");
    CHECK(WriteBase64("fo") == "Zm8=");
    CHECK(WriteBase64("foo") == "Zm9v");
    CHECK(WriteBase64("foob") == "Zm9vYg==");
    CHECK(WriteBase64("fooba") == "Zm9vYmE=");
    CHECK(WriteBase64("foobar") == "Zm9vYmFy");
    CHECK(WriteBase64(std::string_view("\xff\xfe\x00\xfb", 4)) == "//4A+w==");
}
