# One interface target that every module links: the warning set, hardening and sanitizers.
add_library(solmark_flags INTERFACE)
target_compile_options(solmark_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast>)
if(SOLMARK_WERROR)
  target_compile_options(solmark_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
target_compile_definitions(solmark_flags INTERFACE $<$<CONFIG:Debug,RelWithDebInfo>:_GLIBCXX_ASSERTIONS>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A file of a unity build is not the main file, so g++ takes private types for a header's.
  target_compile_options(solmark_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms in std::string's own code when optimising (GCC bug 105651).
  target_compile_options(solmark_flags INTERFACE -Wno-restrict)
endif()
if(SOLMARK_SANITIZE)
  target_compile_options(solmark_flags INTERFACE -fsanitize=${SOLMARK_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(solmark_flags INTERFACE -fsanitize=${SOLMARK_SANITIZE})
  target_compile_definitions(solmark_flags INTERFACE SOLMARK_SANITIZED)
endif()
if(SOLMARK_STATIC)
  target_link_options(solmark_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# libstdc++ 12's std::stable_sort uses its own deprecated std::get_temporary_buffer, and clang says so at our call.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(solmark_flags INTERFACE -Wno-deprecated-declarations)
endif()
