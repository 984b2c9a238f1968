// A bound as JSON, by schemas/bound.schema.json: the report and the certificate in one.
#pragma once

#include "base/json.h"
#include "bound/bound.h"

namespace solmark::bound {

Json bound_json(const Bound& bound);

}  // namespace solmark::bound
