# Paths of this build for tests. Compiled in one file instead of passed with -D, so that ccache can share the
# tests' objects between checkouts.
set(paths_source ${CMAKE_CURRENT_BINARY_DIR}/paths.cpp)
add_library(sotto_test_paths STATIC ${paths_source})
target_include_directories(sotto_test_paths PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_features(sotto_test_paths PUBLIC cxx_std_17)
set(definitions $<GENEX_EVAL:$<TARGET_PROPERTY:sotto_test_paths,SOTTO_PATHS>>)
file(
    GENERATE OUTPUT ${paths_source}
    CONTENT "#include \"support/paths.hpp\"\nnamespace test::paths {\n${definitions}}\n"
)

# sotto_test_path(<name> <path>) defines a path of support/paths.hpp.
function(sotto_test_path name path)
    set_property(
        TARGET sotto_test_paths APPEND_STRING PROPERTY SOTTO_PATHS "const char* const ${name} = \"${path}\";\n"
    )
endfunction()
