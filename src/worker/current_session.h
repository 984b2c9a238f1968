// The one session of this process, for the functions of the C seam that the candidate's side calls:
// solmark_worker_alloc, solmark_worker_free, solmark_worker_report_output.
#pragma once

#include "worker/session.h"

namespace solmark::worker {

void set_current_session(Session* session);

}  // namespace solmark::worker
