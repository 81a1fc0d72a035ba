// SPDX-License-Identifier: Apache-2.0
//
// A TCP proxy on the loopback address, in front of a server, that a test makes misbehave. It
// forwards bytes and knows nothing of TLS or HTTP: what it breaks is the connection. Not modelled:
// lost packets, whose sender gets no acknowledgement (see test/integration/kube_faults). Loop only.
#pragma once

#include <cstddef>
#include <memory>

#include "lib/async/real_loop.h"
#include "lib/base/result.h"

namespace csinative::test {

class FaultProxy {
 public:
  enum class Mode {
    kForward,
    // Who connects is reset.
    kRefuse,
    // Bytes are acknowledged and go nowhere, and nothing comes back: in connections that are open
    // and in new ones, for as long as they last, whatever the mode is later.
    kBlackHole,
  };

  // `loop` is borrowed. The server is at this port of 127.0.0.1.
  FaultProxy(async::RealLoop& loop, int target_port);
  // Breaks what is open.
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  Status Start();
  // REQUIRES: Start() succeeded.
  int port() const;

  void set_mode(Mode mode);
  // Resets what is open (RST).
  void ResetConnections();
  // The next connection that the server sends something in is reset after this many bytes of it.
  void ResetAfter(size_t bytes);
  // What the server sends is passed on one byte at a time, with this pause after each, in
  // connections that are made from now on; zero: at once.
  void set_pause(Duration pause);

  size_t accepted() const;  // connections so far
  size_t open() const;

 private:
  struct State;
  class Connection;
  std::shared_ptr<State> state_;
};

}  // namespace csinative::test
