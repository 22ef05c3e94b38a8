#include "backends/onnx/request.hpp"

#include "image/base64_text.hpp"
#include "image/decode.hpp"
#include "request/fields.hpp"

namespace sotto::onnx {
namespace {

// The engine has checked the types of the fields; a host may call a backend without it.
template <typename T>
T value_or(const Json& body, const char* name, T fallback) {
    const auto found = body.find(name);
    if (found == body.end() || found->is_null()) {
        return fallback;
    }
    try {
        return found->get<T>();
    } catch (const Json::exception&) {
        throw invalid_argument(name, found->dump().substr(0, 40), "a value of another type");
    }
}

void check_size(std::string_view file, std::uint32_t max_pixels) {
    const auto header = image::read_header(file, field::image.name);
    if (std::uint64_t{header.width} * header.height > max_pixels) {
        throw invalid_argument(
            field::image.name,
            std::to_string(header.width) + " x " + std::to_string(header.height) + " pixels",
            "at most " + std::to_string(max_pixels) +
                " pixels; scale the image down, or load the model with a larger option `max_pixels`"
        );
    }
}

} // namespace

MatteRequest read_request(std::string_view body, std::uint32_t max_pixels) {
    const auto fields = Json::parse(body, nullptr, false);
    const auto given = fields.is_object() ? fields.find(field::image.name) : fields.end();
    if (given == fields.end() || !given->is_string()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "missing image: expected a PNG, JPEG or WebP file in base64");
    }
    MatteRequest request;
    request.mask_only = value_or(fields, field::mask_only.name, request.mask_only);
    request.refine_edges = value_or(fields, field::refine_edges.name, request.refine_edges);
    request.compression = value_or(fields, field::output_compression.name, request.compression);
    request.format = value_or(fields, field::output_format.name, request.format);
    request.as_data = value_or<std::string>(fields, field::response_format.name, "b64_json") == "data";
    const auto file = image::read_base64_text(given->get_ref<const std::string&>(), field::image.name);
    check_size(file, max_pixels);
    request.image = image::decode(file, field::image.name);
    return request;
}

} // namespace sotto::onnx
