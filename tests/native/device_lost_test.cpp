// Errors that mean a lost GPU, and the models that they affect.
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <doctest/doctest.h>

#include "backends/llama/devices/lost.hpp"

using namespace sotto::llama;

namespace {

// An error category like that of Vulkan's C++ binding.
class Category : public std::error_category {
public:
    explicit Category(const char* name) : name_(name) {}
    const char* name() const noexcept override { return name_; }
    std::string message(int) const override { return "an error"; }

private:
    const char* name_;
};

} // namespace

TEST_CASE("a lost device is distinguished from other errors, and later errors are attributed to it") {
    const Category vulkan("vk::Result");
    const Category other("other");
    const std::runtime_error plain("a plain one");
    const Loss loss(std::make_shared<Fate>());
    CHECK_FALSE(loss.told_by(plain));
    CHECK_FALSE(loss.told_by(std::system_error(-4, other)));
    CHECK_FALSE(loss.told_by(std::system_error(-2, vulkan))); // VK_ERROR_OUT_OF_DEVICE_MEMORY
    CHECK_FALSE(loss.told_by(std::string_view("unable to allocate Vulkan0 buffer")));
    CHECK_FALSE(loss.asked()); // there is no driver to ask
    CHECK_FALSE(loss.keeps_contexts());
    CHECK(loss.told_by(std::system_error(-4, vulkan)));
    CHECK(loss.seen());
    CHECK(loss.told_by(plain));
    CHECK(loss.keeps_contexts());
    const Loss logged(std::make_shared<Fate>());
    CHECK(logged.told_by(std::string_view("error loading model: vk::Queue::submit: ErrorDeviceLost")));
    CHECK(logged.seen());
}

TEST_CASE("a model on the CPU is never lost, and a new GPU does not inherit the loss of the last one") {
    const Category vulkan("vk::Result");
    const auto first = std::make_shared<Fate>();
    const Loss lost(first);
    const Loss same(first);
    const Loss next(std::make_shared<Fate>());
    const Loss processor;
    CHECK(lost.told_by(std::system_error(-4, vulkan)));
    CHECK(same.seen());
    CHECK_FALSE(next.seen());
    CHECK_FALSE(next.told_by(std::runtime_error("a plain one")));
    CHECK_FALSE(processor.told_by(std::system_error(-4, vulkan)));
    CHECK_FALSE(processor.asked());
    CHECK_FALSE(processor.keeps_contexts());
}

TEST_CASE("a driver that can be queried decides about a loss, and whether contexts may be freed") {
    const auto fate = std::make_shared<Fate>();
    fate->ask = []() noexcept { return false; };
    fate->keeps = []() noexcept { return true; };
    const Loss loss(fate);
    CHECK_FALSE(loss.asked());
    CHECK_FALSE(loss.seen());
    CHECK(loss.keeps_contexts());
    fate->ask = []() noexcept { return true; };
    CHECK(loss.asked());
    CHECK(loss.seen());
}

TEST_CASE("out-of-memory errors of CUDA are recognised by their texts") {
    CHECK(wants_memory("CUDA error: out of memory"));
    CHECK(wants_memory("CUDA error: the resource allocation failed"));
    CHECK(wants_memory("CUDA error: the library was not initialized"));
    CHECK_FALSE(wants_memory("CUDA error: an illegal memory access was encountered"));
    CHECK_FALSE(wants_memory("CUDA error: invalid argument"));
}
