// The image without its background: resizing, edges, colours, bands.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "backends/onnx/box_mean.hpp"
#include "backends/onnx/cutout.hpp"
#include "backends/onnx/resize.hpp"

using namespace sotto;
using namespace sotto::onnx;

namespace {

// A red disc on a green ground: colours are mixed at its edge, as a camera would.
struct Scene {
    static constexpr std::uint32_t kSide = 160;
    static constexpr float kRadius = 50;

    static float alpha_at(std::uint32_t x, std::uint32_t y) {
        const float distance = std::hypot(static_cast<float>(x) - 79.5F, static_cast<float>(y) - 79.5F);
        return std::clamp((kRadius - distance) / 4 + 0.5F, 0.0F, 1.0F);
    }

    static MatteRequest request() {
        MatteRequest request;
        request.image = {kSide, kSide, {}};
        for (std::uint32_t y = 0; y < kSide; ++y) {
            for (std::uint32_t x = 0; x < kSide; ++x) {
                const float alpha = alpha_at(x, y);
                const auto red = static_cast<std::uint8_t>(220 * alpha + 0.5F);
                const auto green = static_cast<std::uint8_t>(200 * (1 - alpha) + 0.5F);
                request.image.pixels.insert(request.image.pixels.end(), {red, green, 20, 255});
            }
        }
        return request;
    }

    // The scene's alpha at an eighth of its size.
    static Mask mask() {
        constexpr std::uint32_t kScale = 8;
        Mask mask{kSide / kScale, kSide / kScale, {}};
        for (std::uint32_t y = 0; y < mask.height; ++y) {
            for (std::uint32_t x = 0; x < mask.width; ++x) {
                float sum = 0;
                for (std::uint32_t i = 0; i < kScale * kScale; ++i) {
                    sum += alpha_at(x * kScale + i % kScale, y * kScale + i / kScale);
                }
                mask.values.push_back(sum / (kScale * kScale));
            }
        }
        return mask;
    }
};

std::vector<std::uint8_t> finish(Cutout& cutout, const Mask& mask) {
    cutout.set_mask(mask);
    for (std::uint32_t band = 0; band < cutout.bands(); ++band) {
        cutout.compute_band(band);
    }
    const auto pixels = cutout.pixels();
    return {pixels.data, pixels.data + std::size_t{pixels.width} * pixels.height * pixels.channels};
}

// Mean difference of alpha from the scene's, in 1/255.
double alpha_error(const std::vector<std::uint8_t>& pixels) {
    double sum = 0;
    for (std::uint32_t i = 0; i < Scene::kSide * Scene::kSide; ++i) {
        sum += std::abs(pixels[i * 4 + 3] - 255 * Scene::alpha_at(i % Scene::kSide, i / Scene::kSide));
    }
    return sum / (Scene::kSide * Scene::kSide);
}

} // namespace

TEST_CASE("weights of an axis sum to 1 and stay within the image") {
    for (const std::uint32_t from : {1U, 2U, 7U, 64U, 1000U}) {
        for (const std::uint32_t to : {1U, 3U, 64U, 65U, 1024U}) {
            const image::Axis axis(from, to);
            for (std::uint32_t i = 0; i < to; ++i) {
                const auto taps = axis.at(i);
                REQUIRE(taps.count >= 1);
                REQUIRE(taps.count <= axis.max_taps());
                REQUIRE(taps.first + taps.count <= from);
                float sum = 0;
                for (std::uint32_t k = 0; k < taps.count; ++k) {
                    sum += taps.weights[k];
                }
                REQUIRE(sum == doctest::Approx(1));
            }
        }
    }
}

TEST_CASE("box means equal means that are computed directly") {
    constexpr std::uint32_t kWidth = 23;
    constexpr std::uint32_t kHeight = 11;
    std::mt19937 random(7);
    std::vector<float> original(kWidth * kHeight);
    for (auto& value : original) {
        value = static_cast<float>(random() % 1000) / 1000;
    }
    BoxMean box;
    for (const std::uint32_t radius : {0U, 1U, 4U, 15U, 40U}) {
        auto plane = original;
        box.apply(plane, kWidth, kHeight, radius);
        for (std::uint32_t y = 0; y < kHeight; ++y) {
            for (std::uint32_t x = 0; x < kWidth; ++x) {
                double sum = 0;
                int count = 0;
                for (std::uint32_t i = 0; i < original.size(); ++i) {
                    const auto dx = std::abs(static_cast<int>(i % kWidth) - static_cast<int>(x));
                    const auto dy = std::abs(static_cast<int>(i / kWidth) - static_cast<int>(y));
                    if (std::max(dx, dy) <= static_cast<int>(radius)) {
                        sum += original[i];
                        ++count;
                    }
                }
                REQUIRE(plane[y * kWidth + x] == doctest::Approx(sum / count).epsilon(1e-4));
            }
        }
    }
}

TEST_CASE("refined edges follow the image, and its colours lose the background") {
    Cutout plain([] {
        auto request = Scene::request();
        request.refine_edges = false;
        return request;
    }());
    Cutout refined(Scene::request());
    const auto before = finish(plain, Scene::mask());
    const auto after = finish(refined, Scene::mask());
    CHECK_MESSAGE(
        alpha_error(after) < alpha_error(before) * 0.7, alpha_error(before), " ", alpha_error(after)
    );
    double green = 0; // the background's colour in half-transparent pixels
    double red = 0;
    int mixed = 0;
    const auto original = Scene::request().image.pixels;
    for (std::size_t i = 0; i < after.size(); i += 4) {
        if (after[i + 3] == 255) {
            REQUIRE(
                std::equal(
                    after.begin() + static_cast<std::ptrdiff_t>(i),
                    after.begin() + static_cast<std::ptrdiff_t>(i + 3),
                    original.begin() + static_cast<std::ptrdiff_t>(i)
                )
            );
        } else if (after[i + 3] > 64 && after[i + 3] < 192) {
            green += after[i + 1];
            red += after[i];
            ++mixed;
        }
    }
    REQUIRE(mixed > 100);
    CHECK(green / mixed < 40); // of the image: about 100
    CHECK(red / mixed > 180);  // of the image: about 110
}

TEST_CASE("without refinement, colours stay as they are and alpha is the mask") {
    auto request = Scene::request();
    request.refine_edges = false;
    request.image.pixels[3] = 7; // alpha that the image has already
    const auto original = request.image.pixels;
    Cutout cutout(std::move(request));
    const Mask opaque{2, 2, {1, 1, 1, 1}};
    CHECK(finish(cutout, opaque) == original);
    auto only = Scene::request();
    only.mask_only = true;
    Cutout grey(std::move(only));
    const auto alpha = finish(grey, opaque);
    CHECK(alpha.size() == Scene::kSide * Scene::kSide);
    CHECK(std::all_of(alpha.begin(), alpha.end(), [](std::uint8_t value) { return value == 255; }));
}

TEST_CASE("images of any shape are cut out, in one band or several") {
    for (const auto& [width, height] :
         {std::pair{1U, 1U}, {1U, 700U}, {9000U, 130U}, {3U, 2U}, {640U, 481U}}) {
        for (const bool refine : {false, true}) {
            MatteRequest request;
            request.refine_edges = refine;
            request.image = {width, height, std::vector<std::uint8_t>(std::size_t{width} * height * 4, 200)};
            Cutout cutout(std::move(request));
            const auto pixels = finish(cutout, Scene::mask());
            CHECK(pixels.size() == std::size_t{width} * height * 4);
        }
    }
}
