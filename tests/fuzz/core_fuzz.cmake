# The fuzzers of the core: include() it where the native tests are built.
#
# With clang they are libFuzzer's:  cmake -S native -B build/fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
# -DSOTTO_TESTS=ON, then  cmake --build build/fuzz --target request_fuzz  and
# build/fuzz/tests/request_fuzz tests/fuzz/corpus/request. With any other compiler they replay their corpus, and
# mutations of it, as ordinary tests.

set(SOTTO_TIMED_FUZZ game guard image recording state template) # they read what strangers make, for 20 seconds each

# sotto_fuzz(<name> <source of the library>...) builds <name>_fuzz.cpp with the corpus in corpus/<name>. With
# clang, compiles the sources again for libFuzzer.
function(sotto_fuzz name)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  set(target ${name}_fuzz)
  add_executable(${target} ${folder}/${target}.cpp)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE sotto_include sotto_json)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
    target_sources(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined)
  else()
    target_sources(${target} PRIVATE ${folder}/replay.cpp)
    if(ARGN)
      target_link_libraries(${target} PRIVATE sotto_core)
    endif()
    set(how --mutate 1000)
    if(SOTTO_LONG_TESTS)
      set(how --mutate 2000)
    endif()
    if(name IN_LIST SOTTO_TIMED_FUZZ AND NOT SOTTO_SANITIZE STREQUAL "thread") # which finds nothing in one thread
      set(how --seconds 20)
    endif()
    add_test(NAME ${target} COMMAND ${target} ${how} ${folder}/corpus/${name})
    set_tests_properties(${target} PROPERTIES LABELS fuzz TIMEOUT 1200)
  endif()
endfunction()

sotto_fuzz(
  request
  core/codec/read_fields.cpp core/codec/read_messages.cpp core/codec/read_request.cpp core/codec/read_respond.cpp core/codec/read_sampling.cpp core/codec/read_session.cpp core/codec/write.cpp
  text/json_reader.cpp text/ordered_json.cpp text/utf8_stream.cpp
)
set(pages platform/pages.cpp platform/pages_${_system}.cpp)
sotto_fuzz(state core/state/state_blob.cpp ${pages} text/json_reader.cpp text/utf8_stream.cpp)
sotto_fuzz(
  answer
  core/request/answer.cpp module/backend.cpp module/contract.cpp ${pages} text/json_reader.cpp text/stop_matcher.cpp text/utf8_stream.cpp
)
sotto_fuzz(utf8 text/utf8_stream.cpp)
sotto_fuzz(stop text/stop_matcher.cpp)
sotto_fuzz(recording)
sotto_fuzz(game)
target_link_libraries(game_fuzz PRIVATE sotto_core)
target_link_libraries(recording_fuzz PRIVATE sotto_core)
sotto_fuzz(index)
target_link_libraries(index_fuzz PRIVATE sotto_store)
sotto_fuzz(guard)
target_link_libraries(guard_fuzz PRIVATE sotto_guard)
