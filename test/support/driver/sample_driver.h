// SPDX-License-Identifier: Apache-2.0
//
// The sample driver as one object: options in, a listening socket out. Loop only.
#pragma once

#include <memory>

#include "lib/async/blocking.h"
#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/rpc/server.h"
#include "test/support/driver/driver_options.h"
#include "test/support/driver/faults.h"

namespace csinative::driver {

struct DriverContext;

class SampleDriver {
 public:
  // Opens the state and listens. Borrowed: loop, executor and random outlive the driver.
  static Result<std::unique_ptr<SampleDriver>> Start(async::EventLoop& loop,
                                                     async::BlockingExecutor& blocking,
                                                     Random& random, DriverOptions options,
                                                     Faults faults = {});
  ~SampleDriver();
  // Ends calls and removes the socket. REQUIRED before destruction.
  async::Task<void> Close();

 private:
  SampleDriver();
  std::unique_ptr<DriverContext> context_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace csinative::driver
