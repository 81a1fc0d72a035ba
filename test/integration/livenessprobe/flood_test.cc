// SPDX-License-Identifier: Apache-2.0
//
// A thousand checks a second, with a driver that is well and with one that hangs: what
// livenessprobe answers, and what it costs meanwhile.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <unordered_map>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/livenessprobe/fixture.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::StartsWith;

// AddressSanitizer keeps what was freed, hundreds of MiB of it, and takes its time: memory and time
// mean nothing then.
#if __has_feature(address_sanitizer)
constexpr int64_t kUnmeasuredKib = 4 * 1024 * 1024;
constexpr auto kPatience = std::chrono::minutes(2);
constexpr int kChecks = 500;
#else
constexpr int64_t kUnmeasuredKib = 0;
constexpr auto kPatience = seconds(30);
constexpr int kChecks = 5000;
#endif

// What a process holds at a moment.
struct Footprint {
  int64_t anonymous_kib = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;

  static Footprint Of(pid_t pid) {
    Footprint out;
    std::error_code error;
    for ([[maybe_unused]] const auto& fd :
         fs::directory_iterator(StrCat("/proc/", pid, "/fd"), error)) {
      ++out.descriptors;
    }
    std::ifstream status(StrCat("/proc/", pid, "/status"));
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with("RssAnon:")) out.anonymous_kib = std::strtol(&line[8], nullptr, 10);
      if (line.starts_with("Threads:")) out.threads = std::strtol(&line[8], nullptr, 10);
    }
    return out;
  }
  void RaiseTo(const Footprint& other) {
    anonymous_kib = std::max(anonymous_kib, other.anonymous_kib);
    threads = std::max(threads, other.threads);
    descriptors = std::max(descriptors, other.descriptors);
  }
};
std::ostream& operator<<(std::ostream& out, const Footprint& f) {
  return out << f.anonymous_kib << " KiB anonymous, " << f.threads << " threads, " << f.descriptors
             << " descriptors";
}

// Clients that come at a steady rate, whatever becomes of those before them.
class Flood {
 public:
  Flood(int port, pid_t pid) : port_(port), pid_(pid), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  // `count` requests, one a millisecond; returns when all are answered or cut.
  void Run(int count) {
    const auto start = std::chrono::steady_clock::now();
    int started = 0;
    while (started < count || !clients_.empty()) {
      const auto now = std::chrono::steady_clock::now();
      if (now - start > seconds(60)) return;
      while (started < count && now - start >= milliseconds(started)) {
        Start(now);
        ++started;
      }
      if (now >= next_look_) {
        peak_.RaiseTo(Footprint::Of(pid_));
        next_look_ = now + milliseconds(100);
      }
      Poll();
    }
  }

  // How often each status line came; "" for no answer at all.
  const std::map<std::string, int>& statuses() const { return statuses_; }
  Duration shortest() const { return shortest_; }
  Duration longest() const { return longest_; }
  const Footprint& peak() const { return peak_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Client {
    UniqueFd fd;
    Time start;
    std::string answer;
    bool sent = false;
  };

  void Start(Time now) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<uint16_t>(port_));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 &&
        errno != EINPROGRESS) {
      ++statuses_[""];
      return;
    }
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT;
    event.data.fd = fd.get();
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event);
    const int key = fd.get();
    clients_[key] = Client{std::move(fd), now, {}};
  }

  void Poll() {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, 1);
    for (int i = 0; i < count; ++i) Continue(events[i].data.fd);
  }

  void Continue(int key) {
    Client& client = clients_[key];
    if (!client.sent) {
      static constexpr std::string_view kRequest =
          "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
      client.sent = ::write(key, kRequest.data(), kRequest.size()) > 0;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = key;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, key, &event);
    }
    char buffer[1024];
    ssize_t got = 0;
    while ((got = ::read(key, buffer, sizeof buffer)) > 0) {
      client.answer.append(buffer, static_cast<size_t>(got));
    }
    if (got < 0 && errno == EAGAIN) return;
    ++statuses_[client.answer.substr(0, client.answer.find('\r'))];
    const Duration took = std::chrono::steady_clock::now() - client.start;
    shortest_ = std::min(shortest_, took);
    longest_ = std::max(longest_, took);
    clients_.erase(key);
  }

  const int port_;
  const pid_t pid_;
  const UniqueFd epoll_;
  std::unordered_map<int, Client> clients_;
  std::map<std::string, int> statuses_;
  Duration shortest_ = std::chrono::hours(1);
  Duration longest_{};
  Footprint peak_;
  Time next_look_{};
};

class FloodTest : public LivenessprobeFixture {
 protected:
  void SetUp() override {
    // The clients are all in this process. livenessprobe raises its own limit.
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    ASSERT_GE(before_.rlim_max, 8192u) << "the hard limit of open files is too low";
    const rlimit raised{before_.rlim_max, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &raised), 0);
  }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void Serve(std::vector<std::string> driver_arguments) {
    StartDriver(std::move(driver_arguments));
    // With the usual soft limit of a service.
    StartLivenessprobe({"--http-endpoint=127.0.0.1:0", "-v=0"},
                       {"/usr/bin/prlimit", "--nofile=1024:"});
    ASSERT_TRUE(Until([this] { return HttpPort() != 0; })) << Stderr();
  }
  rlimit before_{};
};

TEST_F(FloodTest, OfADriverThatIsWellIsAnsweredAndCostsLittle) {
  Serve({});
  Flood flood(HttpPort(), program_->pid());
  flood.Run(kChecks);
  EXPECT_EQ(flood.statuses(), (std::map<std::string, int>{{"HTTP/1.1 200 OK", kChecks}}));
  EXPECT_LT(flood.longest(), kPatience) << "a busy machine?";
  EXPECT_LT(flood.peak().anonymous_kib, 16 * 1024 + kUnmeasuredKib) << flood.peak();
  EXPECT_LT(flood.peak().threads, 64) << flood.peak();
  const Footprint after = Footprint::Of(program_->pid());
  EXPECT_LT(after.descriptors, 64) << after;
  std::cout << "peak: " << flood.peak() << "; after: " << after << "\n";
}

// More come than may wait at a time: the others are let in later.
TEST_F(FloodTest, OfADriverThatHangsIsRefusedInTimeWithinBounds) {
  Serve({"--hang", "Probe"});
  Flood flood(HttpPort(), program_->pid());
  flood.Run(8000);
  EXPECT_EQ(flood.statuses(),
            (std::map<std::string, int>{{"HTTP/1.1 500 Internal Server Error", 8000}}));
  EXPECT_GE(flood.shortest(), milliseconds(2900));
  // Who was not let in at once waited before that.
  EXPECT_LT(flood.longest(), kPatience) << "a busy machine?";
  EXPECT_LT(flood.peak().anonymous_kib, 24 * 1024 + kUnmeasuredKib) << flood.peak();
  EXPECT_LT(flood.peak().threads, 64) << flood.peak();
  EXPECT_LT(flood.peak().descriptors, 2048 + 128) << flood.peak();
  const Footprint after = Footprint::Of(program_->pid());
  EXPECT_LT(after.descriptors, 64) << after;
  std::cout << "peak: " << flood.peak() << "; after: " << after << "\n";
  StopDriver();
  StartDriver();
  EXPECT_THAT(Get("/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace csinative
