// One function a reader of outside bytes; libfuzzer.cpp and replay.cpp call them. A target ends the process
// (abort) when a reader accepts what it must not, or says nothing about what it refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace solmark::fuzz {

struct Target {
  const char* name;  // also the folder under corpus/
  void (*run)(std::string_view bytes);
};

void fuzz_definition(std::string_view bytes);
void fuzz_workload(std::string_view bytes);
void fuzz_solution(std::string_view bytes);
void fuzz_safetensors(std::string_view bytes);
void fuzz_expression(std::string_view bytes);
void fuzz_protocol(std::string_view bytes);
void fuzz_seal(std::string_view bytes);
void fuzz_cubin(std::string_view bytes);
void fuzz_arch(std::string_view bytes);
void fuzz_graph(std::string_view bytes);
void fuzz_config(std::string_view bytes);
void fuzz_baseline(std::string_view bytes);

inline constexpr Target kTargets[] = {
    {"definition", fuzz_definition},
    {"workload", fuzz_workload},
    {"solution", fuzz_solution},
    {"safetensors", fuzz_safetensors},
    {"expression", fuzz_expression},
    {"protocol", fuzz_protocol},
    {"seal", fuzz_seal},
    {"cubin", fuzz_cubin},
    {"arch", fuzz_arch},
    {"graph", fuzz_graph},
    {"config", fuzz_config},
    {"baseline", fuzz_baseline},
};

// Aborts with the text when the condition does not hold.
void require(bool condition, const char* what);

}  // namespace solmark::fuzz
