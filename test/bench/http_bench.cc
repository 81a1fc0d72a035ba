// SPDX-License-Identifier: Apache-2.0
//
// Memory, processor time and latency of the HTTP client's transports: one client over TLS with a
// client certificate against a server in a child process.
//
//   http_bench beast|cpprest|cpprest-thread [watches] [requests]
//
// cpprest runs on the loop's thread, as in the programs; cpprest-thread on one of its own.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sync.h"
#include "lib/base/strings.h"
#include "lib/http/client.h"
#include "lib/http/server.h"
#include "lib/http/shared_context.h"
#include "test/support/certs.h"

namespace csinative::http {
namespace {

async::Task<void> Answer(ServerRequest request, ResponseWriter* writer) {
  if (request.target == "/watch") {
    (void)co_await writer->StartStream(200, {});
    (void)co_await writer->Write("event");
    async::Event never;
    (void)co_await never.Wait();
    co_return;
  }
  (void)co_await writer->Send({.status = 200, .body = std::string(2000, 'x')});
}

// Runs until the parent closes its end of the pipe.
[[noreturn]] void RunServer(const ServerTls& tls, int ready, int stop) {
  async::RealLoop loop;
  auto server = Listen(loop, {.address = "127.0.0.1:0", .tls = tls}, Answer);
  const int port = server.ok() ? (*server)->port() : 0;
  if (::write(ready, &port, sizeof(port)) != sizeof(port)) std::_Exit(1);
  std::thread waiter([&] {
    char byte;
    (void)!::read(stop, &byte, 1);
    std::_Exit(0);
  });
  loop.Run();
  std::_Exit(1);
}

long AnonymousKib() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("Anonymous:", 0) == 0) return std::atol(line.c_str() + 10);
  }
  return -1;
}

double CpuSeconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int Threads() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("Threads:", 0) == 0) return std::atoi(line.c_str() + 8);
  }
  return 0;
}

async::Task<void> Measure(async::RealLoop* loop, Client* client, int watches, int requests) {
  std::vector<std::unique_ptr<StreamingResponse>> streams;
  for (int i = 0; i < watches; ++i) {
    auto stream = co_await client->Stream({.target = "/watch"}, Duration::zero());
    if (!stream.ok()) std::printf("stream: %s\n", stream.status().message().c_str());
    if (!stream.ok()) co_return;
    (void)co_await (*stream)->Read();
    streams.push_back(std::move(stream).value());
  }
  auto first = co_await client->Do({.target = "/"});
  if (!first.ok()) std::printf("request: %s\n", first.status().message().c_str());
  if (!first.ok()) co_return;
  std::printf("idle: %ld KiB anonymous, %d threads\n", AnonymousKib(), Threads());
  std::vector<double> micros;
  const double cpu = CpuSeconds();
  for (int i = 0; i < requests; ++i) {
    const MonotonicTime start = loop->Now();
    auto response = co_await client->Do({.target = "/"});
    if (!response.ok()) std::printf("request: %s\n", response.status().message().c_str());
    micros.push_back(std::chrono::duration<double, std::micro>(loop->Now() - start).count());
  }
  const double used = CpuSeconds() - cpu;
  std::sort(micros.begin(), micros.end());
  std::printf("after %d requests: %ld KiB anonymous; p50 %.0f us, p99 %.0f us, cpu %.0f us each\n",
              requests, AnonymousKib(), micros[micros.size() / 2], micros[micros.size() * 99 / 100],
              used * 1e6 / requests);
}

int Main(int argc, char** argv) {
  const std::string transport = argc > 1 ? argv[1] : "cpprest";
  const bool beast = transport == "beast";
  const int watches = argc > 2 ? std::atoi(argv[2]) : 1;
  const int requests = argc > 3 ? std::atoi(argv[3]) : 1000;
  const testing::CertificateAuthority ca;
  const testing::KeyPair server = ca.IssueServer({.common_name = "s", .names = {"127.0.0.1"}});
  const testing::KeyPair user = ca.IssueClient({.common_name = "u"});
  int ready[2];
  int stop[2];
  if (::pipe(ready) != 0 || ::pipe(stop) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(stop[1]);
    RunServer({.certificate_pem = server.certificate_pem,
               .key_pem = server.key_pem,
               .client_ca_pem = ca.certificate_pem()},
              ready[1], stop[0]);
  }
  int port = 0;
  if (::read(ready[0], &port, sizeof(port)) != sizeof(port) || port == 0) return 1;
  {
    async::RealLoop loop(transport == "cpprest" ? &SharedContext() : nullptr);
    std::printf("%s, %d watches, before: %ld KiB anonymous\n", transport.c_str(), watches,
                AnonymousKib());
    auto client = NewClient(loop, {.base_url = StrCat("https://127.0.0.1:", port),
                                   .tls = {.ca_pem = ca.certificate_pem(),
                                           .client_certificate_pem = user.certificate_pem,
                                           .client_key_pem = user.key_pem},
                                   .transport = beast ? ClientConfig::Transport::kBeast
                                                      : ClientConfig::Transport::kCppRest});
    if (!client.ok()) return 1;
    async::RunTask(loop, Measure(&loop, client->get(), watches, requests));
  }
  ::close(stop[1]);
  ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace csinative::http

int main(int argc, char** argv) { return csinative::http::Main(argc, argv); }
