// SPDX-License-Identifier: Apache-2.0
//
// Body type for Boost.Beast's parsers: appends to a string that its owner may empty at any time.
// Beast's own string_body reserves what the peer announces. Internal to lib/http.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace csinative::http {

// For the parsers' body_limit. Not boost::none: Boost 1.74 finds every length greater than that.
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

struct SinkBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool kIsRequest, typename Fields>
    reader(boost::beast::http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t size = 0;
      for (auto at = boost::asio::buffer_sequence_begin(buffers),
                end = boost::asio::buffer_sequence_end(buffers);
           at != end; ++at) {
        const boost::asio::const_buffer part = *at;
        body_.append(static_cast<const char*>(part.data()), part.size());
        size += part.size();
      }
      return size;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace csinative::http
