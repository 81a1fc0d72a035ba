// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/library.h"

#include <grpc/event_engine/event_engine.h>
#include <grpc/grpc.h>

// Exported by the core library, declared only in a private header of it (1.51).
namespace grpc_event_engine::experimental {
std::shared_ptr<EventEngine> GetDefaultEventEngine();
}

namespace csinative::rpc {

// The library's own count does not keep the engine, to which most of its threads belong.
LibraryHold::LibraryHold() {
  grpc_init();
  engine_ = grpc_event_engine::experimental::GetDefaultEventEngine();
}

LibraryHold::~LibraryHold() {
  engine_.reset();
  grpc_shutdown();
}

}  // namespace csinative::rpc
