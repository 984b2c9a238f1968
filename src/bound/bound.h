// Lower bounds on the time of one call, in three levels, each true under its own stated freedom:
//   L0 any algorithm: needed input bytes in, output bytes out, latency floor;
//   L1 algebra-exact: L0 and what is proved for every program of the same function (today: the same terms as
//   L0); L2 classical: every surviving multiply of the stated contractions is done, on any pipe that can do
//   it.
// A bound carries its terms (rule, operands, arithmetic), so that it can be checked without this program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/arch.h"
#include "base/result.h"
#include "graph/graph.h"

namespace solmark::bound {

enum class CacheState {
  kCold,  // every call has inputs and outputs of its own; batches rotate through `slots` of them
  kWarm,  // the same inputs and outputs again and again
};

// What may stand in for a multiply of float32 numbers. Each includes the ones before it.
enum class Fp32Matmul {
  kIeee,      // float32 (or float64) multiply-adds
  kEmulated,  // three float16 products on the tensor pipe recover float32 precision
  kTf32,      // one tf32 product: within the usual tolerances
  kHalf,      // one float16 product
};

struct BoundOptions {
  arch::Clock clock;
  CacheState cache = CacheState::kCold;
  // Distinct slots in one timed batch; nothing: so many that what the cache keeps between batches does not
  // matter.
  std::optional<std::int64_t> slots;
  Fp32Matmul fp32_matmul = Fp32Matmul::kTf32;
  bool emulate_fp64 = true;  // float64 multiplies by int8 or float16 products
};

struct Operand {
  std::string name;  // with its unit, as in "read_bytes"
  double value = 0;
};

struct Term {
  std::string rule;      // id, as in "io.memory-batch"
  std::string resource;  // memory, cache, latency, tensor, vector …
  double t_s = 0;
  std::vector<Operand> operands;
  std::string arithmetic;  // how t_s follows from them
};

struct Level {
  int level = 0;
  double t_s = 0;
  std::string limiter;  // resource of the largest term
  std::vector<Term> terms;
};

// One input or output storage.
struct Traffic {
  std::string name;
  bool write = false;
  std::int64_t bytes = 0;          // distinct, that any program must move
  std::int64_t sector_bytes = 0;   // the same in whole sectors
  std::int64_t storage_bytes = 0;  // all of it
  bool exact = true;               // false: at least so many
};

// Multiplies of one operation, or of several that form one contraction.
struct WorkItem {
  std::vector<std::size_t> ops;  // positions in the graph
  std::string op;
  std::string rule;
  double multiplies = 0;
  std::string precision;   // class: fp64, fp32, half, fp8, fp4, int8
  std::string arithmetic;  // "2 x 512 x 512 x 512"
};

struct OpNote {
  std::string op;
  std::int64_t times = 0;
  std::string why;
};

struct Bound {
  std::string definition;
  std::string arch;
  BoundOptions options;
  double clock_hz = 0;
  std::array<Level, 3> levels;
  double t_sol_s = 0;  // L2
  std::string label;   // one line: level and what lowers it
  std::vector<std::string> assumptions;
  std::vector<Traffic> traffic;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
  std::vector<WorkItem> work;
  std::vector<OpNote> io_only;  // live, their arithmetic is not counted
  std::vector<OpNote>
      not_counted;               // contractions, convolutions, attention whose multiplies could not be proved
  std::vector<OpNote> unproved;  // live, not all of their reads could be proved
  std::vector<OpNote> repeated;  // the same computation again: counted once
  std::int64_t live_ops = 0;
  std::int64_t dead_ops = 0;
};

Result<Bound> compute_bound(const graph::OpGraph& graph, const arch::Arch& arch,
                            const BoundOptions& options = {});

[[nodiscard]] const char* cache_state_name(CacheState state);
[[nodiscard]] const char* fp32_matmul_name(Fp32Matmul policy);
[[nodiscard]] std::optional<CacheState> cache_state_from_name(const std::string& name);
[[nodiscard]] std::optional<Fp32Matmul> fp32_matmul_from_name(const std::string& name);

}  // namespace solmark::bound
