// Replacements for ggml's graph-building functions in mtmd, which check that tensors are present.
//
// mtmd looks up most tensors of a projector as optional, because projectors differ, and then uses many of
// them without checking. For a missing tensor, these replacements throw Error, where ggml's functions would
// terminate the process.
#include "runtime/fence.hpp"

#include <ggml.h>

namespace {

using sotto::llama::Error;

// Returns `tensor`; throws Error if it is null. The error names `what`, the operation, and `beside`, its
// other operand, if not null.
ggml_tensor* present(ggml_tensor* tensor, const char* what, const ggml_tensor* beside) {
    if (tensor == nullptr) {
        const std::string where =
            beside == nullptr || *beside->name == '\0' ? "" : std::string(", beside '") + beside->name + "'";
        throw Error(
            SOTTO_ERROR_MODEL,
            std::string("missing tensor for ") + what + where +
                ": expected in a projector of this kind; convert the projector again"
        );
    }
    return tensor;
}

[[noreturn]] void refuse(const ggml_tensor* tensor, const char* what, const char* expected) {
    throw Error(
        SOTTO_ERROR_MODEL,
        std::string("invalid tensor '") + tensor->name + "': type " + ggml_type_name(tensor->type) + " for " +
            what + "; expected " + expected + "; convert the projector again"
    );
}

// Throws Error unless ggml's CPU code can add, subtract, multiply and divide `a` and `b`: both must have the
// same floating-point type, or `b` must be f32.
void check_binary(const ggml_tensor* a, const ggml_tensor* b, const char* what) {
    const auto real = [](ggml_type type) {
        return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
    };
    if (!real(a->type)) {
        refuse(a, what, "f32");
    }
    if (b->type != GGML_TYPE_F32 && b->type != a->type) {
        refuse(b, what, "f32");
    }
}

void check_kernel(const ggml_tensor* a, const ggml_tensor* b, const char* what) {
    if (a->type != GGML_TYPE_F32 && a->type != GGML_TYPE_F16) {
        refuse(a, what, "f32 or f16");
    }
    if (b->type != GGML_TYPE_F32 && b->type != GGML_TYPE_F16) {
        refuse(b, what, "f32 or f16");
    }
}

void check_any(const ggml_tensor*, const ggml_tensor*, const char*) {}

} // namespace

// Mtmd.cmake lists the same functions: it makes mtmd call sotto_add() instead of ggml_add(), and so on.
#define SOTTO_ONE(name, what, parameters, arguments)                                                         \
    extern "C" ggml_tensor* sotto_##name parameters {                                                        \
        a = present(a, what, nullptr);                                                                       \
        return ggml_##name arguments;                                                                        \
    }
#define SOTTO_TWO(name, what, check, parameters, arguments)                                                  \
    extern "C" ggml_tensor* sotto_##name parameters {                                                        \
        a = present(a, what, b);                                                                             \
        b = present(b, what, a);                                                                             \
        check(a, b, what);                                                                                   \
        return ggml_##name arguments;                                                                        \
    }

SOTTO_TWO(add, "an addition", check_binary, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b))
SOTTO_TWO(
    sub, "a subtraction", check_binary, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b)
)
SOTTO_TWO(
    mul, "a multiplication", check_binary, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b)
)
SOTTO_TWO(div, "a division", check_binary, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b))
SOTTO_TWO(
    mul_mat, "a matrix product", check_any, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b)
)
SOTTO_TWO(get_rows, "a lookup", check_any, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b))
SOTTO_TWO(
    repeat, "a repetition", check_any, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b)
)
SOTTO_TWO(
    ssm_conv, "a convolution", check_kernel, (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b), (ctx, a, b)
)
SOTTO_TWO(
    concat,
    "a concatenation",
    check_any,
    (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b, int dim),
    (ctx, a, b, dim)
)
SOTTO_TWO(
    conv_1d,
    "a convolution",
    check_kernel,
    (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b, int s0, int p0, int d0),
    (ctx, a, b, s0, p0, d0)
)
SOTTO_TWO(
    conv_1d_ph,
    "a convolution",
    check_kernel,
    (ggml_context * ctx, ggml_tensor* a, ggml_tensor* b, int s, int d),
    (ctx, a, b, s, d)
)
#define SOTTO_CONV_2D(name)                                                                                  \
    SOTTO_TWO(                                                                                               \
        name,                                                                                                \
        "a convolution",                                                                                     \
        check_kernel,                                                                                        \
        (ggml_context * ctx,                                                                                 \
         ggml_tensor * a,                                                                                    \
         ggml_tensor * b,                                                                                    \
         int s0,                                                                                             \
         int s1,                                                                                             \
         int p0,                                                                                             \
         int p1,                                                                                             \
         int d0,                                                                                             \
         int d1),                                                                                            \
        (ctx, a, b, s0, s1, p0, p1, d0, d1)                                                                  \
    )
SOTTO_CONV_2D(conv_2d)
SOTTO_CONV_2D(conv_2d_dw)
SOTTO_CONV_2D(conv_2d_direct)
SOTTO_CONV_2D(conv_2d_dw_direct)
SOTTO_TWO(
    im2col,
    "a convolution",
    check_kernel,
    (ggml_context * ctx,
     ggml_tensor* a,
     ggml_tensor* b,
     int s0,
     int s1,
     int p0,
     int p1,
     int d0,
     int d1,
     bool is_2D,
     ggml_type type),
    (ctx, a, b, s0, s1, p0, p1, d0, d1, is_2D, type)
)

using Extent = std::int64_t;

SOTTO_ONE(cont, "a copy", (ggml_context * ctx, ggml_tensor* a), (ctx, a))
SOTTO_ONE(transpose, "a transposition", (ggml_context * ctx, ggml_tensor* a), (ctx, a))
SOTTO_ONE(cast, "a conversion", (ggml_context * ctx, ggml_tensor* a, ggml_type type), (ctx, a, type))
SOTTO_ONE(
    permute,
    "a permutation",
    (ggml_context * ctx, ggml_tensor* a, int d0, int d1, int d2, int d3),
    (ctx, a, d0, d1, d2, d3)
)
SOTTO_ONE(reshape_1d, "a reshape", (ggml_context * ctx, ggml_tensor* a, Extent n0), (ctx, a, n0))
SOTTO_ONE(
    reshape_2d, "a reshape", (ggml_context * ctx, ggml_tensor* a, Extent n0, Extent n1), (ctx, a, n0, n1)
)
SOTTO_ONE(
    reshape_3d,
    "a reshape",
    (ggml_context * ctx, ggml_tensor* a, Extent n0, Extent n1, Extent n2),
    (ctx, a, n0, n1, n2)
)
SOTTO_ONE(
    reshape_4d,
    "a reshape",
    (ggml_context * ctx, ggml_tensor* a, Extent n0, Extent n1, Extent n2, Extent n3),
    (ctx, a, n0, n1, n2, n3)
)
SOTTO_ONE(
    repeat_4d,
    "a repetition",
    (ggml_context * ctx, ggml_tensor* a, Extent n0, Extent n1, Extent n2, Extent n3),
    (ctx, a, n0, n1, n2, n3)
)
SOTTO_ONE(
    view_1d, "a view", (ggml_context * ctx, ggml_tensor* a, Extent n0, std::size_t at), (ctx, a, n0, at)
)
SOTTO_ONE(
    view_2d,
    "a view",
    (ggml_context * ctx, ggml_tensor* a, Extent n0, Extent n1, std::size_t row, std::size_t at),
    (ctx, a, n0, n1, row, at)
)
