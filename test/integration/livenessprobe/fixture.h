// SPDX-License-Identifier: Apache-2.0
//
// livenessprobe and the sample driver as programs.
#pragma once

#include <string>
#include <vector>

#include "test/support/sidecar_fixture.h"

namespace csinative {

class LivenessprobeFixture : public test::SidecarFixture {
 protected:
  LivenessprobeFixture() : SidecarFixture(LIVENESSPROBE_BINARY, SAMPLE_DRIVER_BINARY) {}

  // The driver's address, -v=5, and more.
  void StartLivenessprobe(std::vector<std::string> more, std::vector<std::string> wrapper = {}) {
    std::vector<std::string> arguments = {"--csi-address=" + driver_socket(), "-v=5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartProgram(std::move(arguments), std::move(wrapper));
  }
  // Waits until it listens.
  void StartServing(std::vector<std::string> more = {"--http-endpoint=127.0.0.1:0"}) {
    StartLivenessprobe(std::move(more));
    ASSERT_TRUE(Until([this] { return HttpPort() != 0; })) << Stderr();
  }
  // How often the driver was called.
  int Calls(const std::string& method) const {
    const std::string log = DriverLog();
    int count = 0;
    for (size_t at = log.find(method); at != npos;
         at = log.find('\n', at), at = log.find(method, at)) {
      ++count;
    }
    return count;
  }
};

}  // namespace csinative
