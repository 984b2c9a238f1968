# The tests that CI also runs under ASan and UBSan: readers of foreign bytes and what works on raw memory.
add_custom_target(asan_tests)
add_custom_target(plain_tests)  # all others

# solmark_module(name [SANITIZED] DEPS mod… LIBS lib…): one static library a folder of src/.
# Its public include root holds one link, <name> -> src/<name>, so `#include "bound/bound.h"` resolves only in
# modules that list bound in DEPS: a forbidden include does not compile.
# Files named *_test.cpp become one GoogleTest program, <name>_test.
function(solmark_root name out)
  set(root "${CMAKE_BINARY_DIR}/roots/${name}")
  file(MAKE_DIRECTORY "${root}")
  if(NOT EXISTS "${root}/${name}")
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}/src/${name}" "${root}/${name}" SYMBOLIC)
  endif()
  set(${out} "${root}" PARENT_SCOPE)
endfunction()

function(solmark_module name)
  cmake_parse_arguments(M "SANITIZED" "" "DEPS;LIBS;TEST_DEPS;EXCLUDE;APART" ${ARGN})
  solmark_root(${name} root)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_main)\\.cpp$")
  foreach(file ${M_EXCLUDE})
    list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/src/${name}/${file}")
  endforeach()
  # Unity builds (preset quick): files whose private names clash with a neighbour's.
  foreach(file ${M_APART})
    set_source_files_properties("${CMAKE_SOURCE_DIR}/src/${name}/${file}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  add_library(solmark_${name} STATIC ${sources})
  target_include_directories(solmark_${name} PUBLIC "${root}")
  list(TRANSFORM M_DEPS PREPEND solmark_)
  target_link_libraries(solmark_${name} PUBLIC ${M_DEPS} solmark_flags PRIVATE ${M_LIBS})
  if(tests)
    add_executable(${name}_test ${tests})
    list(TRANSFORM M_TEST_DEPS PREPEND solmark_)
    target_link_libraries(${name}_test PRIVATE solmark_${name} ${M_TEST_DEPS} ${M_LIBS} GTest::gtest GTest::gtest_main
                                               GTest::gmock)
    target_compile_definitions(${name}_test PRIVATE SOLMARK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
    if(M_SANITIZED)
      set_tests_properties(${name} PROPERTIES LABELS "unit;asan")
      add_dependencies(asan_tests ${name}_test)
    else()
      add_dependencies(plain_tests ${name}_test)
    endif()
  endif()
endfunction()
