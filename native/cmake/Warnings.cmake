# Warnings for our own code. They are errors in developer builds only: other compilers may warn of more.
include_guard(GLOBAL)

add_library(sotto_warnings INTERFACE)
target_compile_options(sotto_warnings INTERFACE -Wall -Wextra -Wpedantic -Wmissing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(sotto_warnings INTERFACE -Wno-restrict) # false alarms on std::string: GCC bug 105651
    if(NOT SOTTO_SANITIZE STREQUAL "")
        target_compile_options(sotto_warnings INTERFACE -Wno-maybe-uninitialized) # false alarms on std::regex
    endif()
endif()
option(SOTTO_WERROR "Take warnings in our own code for errors" ${SOTTO_TESTS})
if(SOTTO_WERROR)
    target_compile_options(sotto_warnings INTERFACE -Werror)
endif()
