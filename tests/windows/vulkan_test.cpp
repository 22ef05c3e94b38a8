// The module for Vulkan, on whatever Vulkan there is.
#include <cstdio>

#include "engine.hpp"

using namespace test;

namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Of JSON: the text that follows `key`.
std::string after(const std::string& json, const std::string& key) {
    const auto at = json.find(key);
    REQUIRE_MESSAGE(at != std::string::npos, json);
    const auto begin = at + key.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

} // namespace

TEST_CASE("a character speaks on a Vulkan device") {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.device = {"vulkan0", SOTTO_NUL};
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    const Engine engine(desc);
    const auto loaded = engine.load(SOTTO_HOUSE);
    REQUIRE_MESSAGE(loaded.status == SOTTO_OK, loaded.why);
    const auto name = after(engine.told(sotto_engine_describe), R"("devices":{"vulkan0":{"name":")");
    const auto models = engine.told(sotto_engine_list_models);
    CAPTURE(models);
    CHECK(holds(models, R"("backend":"llama_vulkan")"));
    CHECK(holds(models, R"("device":")" + name + "\""));
    const auto answered = engine.ask(
        SOTTO_OP_CHAT,
        R"({"model": "npc", "max_tokens": 24, "temperature": 0, "messages": [
            {"role": "system", "content": "Name: Mara\nRole: ferrywoman\nPlace: Millbrook"},
            {"role": "user", "content": "Who are you?"}]})"
    );
    CHECK_MESSAGE(answered.status == SOTTO_OK, answered.why);
    CHECK(holds(answered.said, "Mara"));
    std::printf("vulkan0 is %s, and says: %s\n", name.c_str(), answered.said.c_str());
}
