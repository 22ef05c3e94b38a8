/* Redirects the messages of ggml_validate_row_data() from stderr to ggml's log. Included before
 * ggml-quants.c. */
#pragma once

#include "ggml-impl.h"

#include <stdio.h>

#define fprintf(stream, ...) GGML_LOG_WARN(__VA_ARGS__)
