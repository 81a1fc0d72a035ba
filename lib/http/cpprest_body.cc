// SPDX-License-Identifier: Apache-2.0
#include "lib/http/cpprest_body.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "lib/http/http1.h"

namespace csinative::http {
namespace {

namespace streams = Concurrency::streams;

// A buffer that goes one way: everything else is refused.
class OneWayBuffer : public streams::details::streambuf_state_manager<uint8_t> {
 public:
  using Base = streams::details::streambuf_state_manager<uint8_t>;
  explicit OneWayBuffer(std::ios_base::openmode mode) : Base(mode) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(size_t, std::ios_base::openmode) override {}
  size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return NoPosition(); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return NoPosition(); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return NoPosition();
  }
  bool acquire(uint8_t*& data, size_t& size) override {
    data = nullptr;
    size = 0;
    return false;
  }
  void release(uint8_t*, size_t) override {}

 protected:
  pplx::task<int_type> _putc(uint8_t) override { return Unsupported<int_type>(); }
  pplx::task<size_t> _putn(const uint8_t*, size_t) override { return Unsupported<size_t>(); }
  pplx::task<int_type> _bumpc() override { return Unsupported<int_type>(); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return Unsupported<int_type>(); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return Unsupported<int_type>(); }
  pplx::task<int_type> _ungetc() override { return Unsupported<int_type>(); }
  pplx::task<size_t> _getn(uint8_t*, size_t) override { return Unsupported<size_t>(); }
  size_t _scopy(uint8_t*, size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  uint8_t* _alloc(size_t) override { return nullptr; }
  void _commit(size_t) override {}

 private:
  static pos_type NoPosition() { return static_cast<pos_type>(traits::eof()); }
  template <typename T>
  static pplx::task<T> Unsupported() {
    return pplx::task_from_exception<T>(std::logic_error("one-way stream buffer"));
  }
};

class Source final : public OneWayBuffer {
 public:
  explicit Source(std::shared_ptr<const Request> request)
      : OneWayBuffer(std::ios_base::in), request_(std::move(request)) {}

 protected:
  pplx::task<size_t> _getn(uint8_t* out, size_t size) override {
    // The connection is up, and without its body the request that was begun means nothing.
    if (at_ == 0 && SystemClock().Now() >= request_->send_before) {
      return pplx::task_from_exception<size_t>(std::runtime_error(kTooLate));
    }
    const size_t n = std::min(size, request_->body.size() - at_);
    std::memcpy(out, request_->body.data() + at_, n);
    at_ += n;
    return pplx::task_from_result(n);
  }

 private:
  const std::shared_ptr<const Request> request_;
  size_t at_ = 0;
};

class Sink final : public OneWayBuffer {
 public:
  explicit Sink(std::shared_ptr<CppRestExchange> exchange)
      : OneWayBuffer(std::ios_base::out), exchange_(std::move(exchange)) {}

 protected:
  pplx::task<size_t> _putn(const uint8_t* data, size_t size) override {
    return exchange_->Accept(reinterpret_cast<const char*>(data), size);
  }

 private:
  const std::shared_ptr<CppRestExchange> exchange_;
};

}  // namespace

streams::istream OneShotBody(std::shared_ptr<const Request> request) {
  return streams::istream(
      streams::streambuf<uint8_t>(std::shared_ptr<streams::details::basic_streambuf<uint8_t>>(
          std::make_shared<Source>(std::move(request)))));
}

streams::ostream SinkOf(std::shared_ptr<CppRestExchange> exchange) {
  return streams::ostream(
      streams::streambuf<uint8_t>(std::shared_ptr<streams::details::basic_streambuf<uint8_t>>(
          std::make_shared<Sink>(std::move(exchange)))));
}

}  // namespace csinative::http
