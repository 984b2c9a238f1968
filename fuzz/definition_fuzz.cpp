#include "problem/definition.h"
#include "problem/workload.h"
#include "targets.h"

namespace solmark::fuzz {

// Whatever is accepted can be resolved, or refused with words, without running out of anything.
void fuzz_definition(std::string_view bytes) {
  auto loaded = problem::decode_definition(bytes, "fuzz");
  if (!loaded.ok()) {
    require(loaded.error().code == ErrorCode::kBadInput, "a refusal is the file's fault");
    require(!loaded.error().message.empty() && !loaded.error().where.empty(), "an error says what and where");
    return;
  }
  const problem::Definition& d = loaded->definition;
  require(!d.name.empty() && !d.outputs.empty(), "an accepted definition has a name and outputs");
  problem::Workload workload;
  workload.uuid = "fuzz";
  for (const auto& axis : d.axes) {
    if (axis.kind == problem::Axis::Kind::kVar) workload.axes[axis.name] = 16;
  }
  auto axes = problem::resolve_axes(d, workload);
  if (!axes.ok()) return;
  for (const auto* list : {&d.inputs, &d.outputs}) {
    for (const auto& tensor : *list) {
      auto shape = problem::resolve_shape(tensor, *axes);
      if (!shape.ok()) continue;
      for (std::int64_t dim : *shape) require(dim >= 0, "dimensions are not negative");
      require(problem::tensor_bytes(tensor.dtype, *shape).ok(), "a resolved shape has a size");
    }
  }
}

}  // namespace solmark::fuzz
