// SPDX-License-Identifier: Apache-2.0
//
// Two network namespaces with a cable between them, for packets that get lost. Needs the right to
// make them (root) and iproute2. One thread: entered before any other thread is started, because
// those stay where they are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace csinative::test {

class Namespaces {
 public:
  static constexpr char kClientAddress[] = "10.98.0.1";
  static constexpr char kServerAddress[] = "10.98.0.2";

  // This thread is in the namespace of the client from then on, for good.
  static Result<std::unique_ptr<Namespaces>> Enter();

  // Runs it in the namespace of the server: sockets that it makes belong there.
  void InServer(const std::function<void()>& run);

  // Packets get lost without a trace, in both directions.
  Status LosePackets();
  Status DeliverPackets();

 private:
  Namespaces() = default;

  UniqueFd client_;
  UniqueFd server_;
};

}  // namespace csinative::test
