// The one session of this process, for the functions of the C seam that the candidate's side calls.
#pragma once

#include "worker/session.h"

namespace solmark::worker {

void set_current_session(Session* session);

}  // namespace solmark::worker
