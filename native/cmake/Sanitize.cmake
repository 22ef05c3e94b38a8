# Sanitizers for everything that is built, ours and what it stands on.
if(SOTTO_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1)
  add_link_options(-fsanitize=address,undefined)
elseif(SOTTO_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g -O1)
  add_link_options(-fsanitize=thread)
elseif(SOTTO_SANITIZE)
  message(FATAL_ERROR "SOTTO_SANITIZE is \"${SOTTO_SANITIZE}\"; it must be address, thread or empty")
endif()
if(NOT SOTTO_SANITIZE STREQUAL "" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-maybe-uninitialized) # GCC 12 gives false alarms for std::regex and std::function
endif()
