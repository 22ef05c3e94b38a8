# Sanitizer options of our own code and of zstd. llama_cpp/CMakeLists.txt chooses which of llama.cpp's targets get them.
if(SOTTO_SANITIZE STREQUAL "address")
  set(SOTTO_SANITIZE_OPTIONS -fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(SOTTO_SANITIZE STREQUAL "thread")
  set(SOTTO_SANITIZE_OPTIONS -fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(SOTTO_SANITIZE)
  message(FATAL_ERROR "SOTTO_SANITIZE is \"${SOTTO_SANITIZE}\"; it must be address, thread or empty")
endif()
if(SOTTO_SANITIZE)
  list(APPEND SOTTO_SANITIZE_OPTIONS -fno-omit-frame-pointer -g1 -O1)
  add_compile_options(${SOTTO_SANITIZE_OPTIONS})
endif()

# With sanitizers, a target's sources are compiled eight at a time: most of the time goes into the templates
# that they share. Other builds compile each alone, so that each includes what it needs.
function(sotto_compile_together target)
  if(SOTTO_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  endif()
endfunction()
