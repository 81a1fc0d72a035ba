// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/sample_driver.h"

#include <utility>

#include "test/support/driver/controller_service.h"
#include "test/support/driver/identity_service.h"
#include "test/support/driver/node_service.h"
#include "test/support/driver/service.h"

namespace csinative::driver {

SampleDriver::SampleDriver() = default;
SampleDriver::~SampleDriver() = default;

Result<std::unique_ptr<SampleDriver>> SampleDriver::Start(async::EventLoop& loop,
                                                          async::BlockingExecutor& blocking,
                                                          Random& random, DriverOptions options,
                                                          Faults faults) {
  CSI_ASSIGN_OR_RETURN(VolumeStore store, VolumeStore::Open(options.state_dir));
  std::unique_ptr<SampleDriver> driver(new SampleDriver());
  driver->context_.reset(new DriverContext{.loop = loop,
                                           .blocking = blocking,
                                           .random = random,
                                           .options = options,
                                           .store = std::move(store),
                                           .faults = std::move(faults)});
  DriverContext& context = *driver->context_;
  if (!options.log_file.empty()) {
    context.log.open(options.log_file, std::ios::app);
    if (!context.log) return InvalidArgumentError("cannot write the log file " + options.log_file);
  }
  driver->server_ = rpc::NewServer(loop);
  RegisterIdentityService(*driver->server_, context);
  if (options.controller) RegisterControllerService(*driver->server_, context);
  if (options.node) RegisterNodeService(*driver->server_, context);
  CSI_RETURN_IF_ERROR(driver->server_->Start(options.endpoint));
  return driver;
}

async::Task<void> SampleDriver::Close() { co_await server_->Close(); }

}  // namespace csinative::driver
