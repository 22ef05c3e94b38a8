// Which errors say that a graphics card was lost. No test comes before the first: what is lost stays so.
#include <stdexcept>
#include <string>
#include <system_error>

#include <doctest/doctest.h>

#include "backends/llama/lost.hpp"

using namespace sotto::llama;

namespace {

// As Vulkan's C++ binding has one.
class Category : public std::error_category {
public:
    explicit Category(const char* name) : name_(name) {}
    const char* name() const noexcept override { return name_; }
    std::string message(int) const override { return "an error"; }

private:
    const char* name_;
};

} // namespace

TEST_CASE("a lost device is told from other errors, and what comes after it is a part of it") {
    const Category vulkan("vk::Result");
    const Category other("other");
    const std::runtime_error plain("a plain one");
    CHECK_FALSE(tells_of_loss(plain));
    CHECK_FALSE(tells_of_loss(std::system_error(-4, other)));
    CHECK_FALSE(tells_of_loss(std::system_error(-2, vulkan))); // VK_ERROR_OUT_OF_DEVICE_MEMORY
    CHECK_FALSE(tells_of_loss(std::string_view("unable to allocate Vulkan0 buffer")));
    CHECK_FALSE(cuda_is_lost("CUDA error: out of memory"));
    CHECK_FALSE(device_lost.load());
    CHECK(tells_of_loss(std::system_error(-4, vulkan)));
    CHECK(device_lost.load());
    CHECK(tells_of_loss(plain));
    CHECK_FALSE(keeps_memory.load()); // Vulkan takes its memory back
    device_lost = false;
    CHECK(tells_of_loss(std::string_view("error loading model: vk::Queue::submit: ErrorDeviceLost")));
    CHECK(device_lost.load());
    device_lost = false;
    CHECK(cuda_is_lost("CUDA error: an illegal memory access was encountered"));
    CHECK(device_lost.load());
    CHECK(keeps_memory.load());
}
