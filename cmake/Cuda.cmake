# The CUDA device backend needs the toolkit's headers and nvcc at build time; at run time libcuda and CUPTI are
# opened with dlopen, so the same binary runs on a machine with no GPU. CMake's own CUDA language is not used:
# CMake 3.25.1 cannot set C++20 for it, and a fat binary per .cu file is all that is needed.
set(SOLMARK_HAVE_CUDA OFF)
if(NOT SOLMARK_CUDA STREQUAL "OFF")
  find_program(SOLMARK_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
  if(SOLMARK_NVCC)
    get_filename_component(cuda_bin "${SOLMARK_NVCC}" REALPATH)
    get_filename_component(cuda_bin "${cuda_bin}" DIRECTORY)
    find_path(SOLMARK_CUDA_INCLUDE cuda.h HINTS "${cuda_bin}/../include" "${cuda_bin}/../targets/x86_64-linux/include")
    find_path(SOLMARK_CUPTI_INCLUDE cupti.h HINTS "${cuda_bin}/../include" "${cuda_bin}/../extras/CUPTI/include")
  endif()
  if(SOLMARK_NVCC AND SOLMARK_CUDA_INCLUDE AND SOLMARK_CUPTI_INCLUDE)
    set(SOLMARK_HAVE_CUDA ON)
  elseif(SOLMARK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SOLMARK_CUDA=ON needs nvcc, cuda.h and cupti.h: install the CUDA toolkit or set SOLMARK_CUDA=OFF")
  endif()
endif()
message(STATUS "CUDA device backend: ${SOLMARK_HAVE_CUDA}")

add_library(solmark_cuda_headers INTERFACE)
if(SOLMARK_HAVE_CUDA)
  target_include_directories(solmark_cuda_headers SYSTEM INTERFACE "${SOLMARK_CUDA_INCLUDE}" "${SOLMARK_CUPTI_INCLUDE}")
  target_compile_definitions(solmark_cuda_headers INTERFACE SOLMARK_HAVE_CUDA=1)
endif()

# solmark_fatbin(out_cpp file.cu symbol): compiles file.cu to a fat binary (sm_80, sm_90, sm_100, and PTX for later
# GPUs) and writes a .cpp that defines `extern const unsigned char symbol[]` and `extern const size_t symbol_size`.
function(solmark_fatbin out_cpp source symbol)
  set(fatbin "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.fatbin")
  set(cpp "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp")
  add_custom_command(OUTPUT "${fatbin}"
    COMMAND "${SOLMARK_NVCC}" -fatbin -std=c++17 -O3 -Xcompiler -Wall
            -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90
            -gencode=arch=compute_100,code=sm_100 -gencode=arch=compute_90,code=compute_90
            -I "${CMAKE_SOURCE_DIR}/src" -o "${fatbin}" "${source}"
    DEPENDS "${source}" VERBATIM)
  add_custom_command(OUTPUT "${cpp}"
    COMMAND "${CMAKE_COMMAND}" -DINPUT=${fatbin} -DOUTPUT=${cpp} -DSYMBOL=${symbol}
            -P "${CMAKE_SOURCE_DIR}/cmake/EmbedFile.cmake"
    DEPENDS "${fatbin}" "${CMAKE_SOURCE_DIR}/cmake/EmbedFile.cmake" VERBATIM)
  set(${out_cpp} "${cpp}" PARENT_SCOPE)
endfunction()
