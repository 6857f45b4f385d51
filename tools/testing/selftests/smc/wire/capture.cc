// SPDX-License-Identifier: GPL-2.0
#include "capture.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <tuple>

#include "wire/bytes.h"

namespace wire {
namespace {

using View = std::span<const u8>;

constexpr u16 kEtherTypeIpv4 = 0x0800;
constexpr size_t kEthernetLen = 14;
constexpr u8 kProtocolTcp = 6;
constexpr u8 kProtocolUdp = 17;
constexpr size_t kUdpLen = 8;
constexpr u16 kRocePort = 4791;
constexpr size_t kBthLen = 12;
constexpr size_t kIcrcLen = 4;
constexpr u8 kRcSendOnly = 4;
constexpr u8 kTcpSyn = 0x02;

u32 Little32(View v, size_t at) {
  return v[at] | v[at + 1] << 8 | v[at + 2] << 16 | static_cast<u32>(v[at + 3]) << 24;
}

// std::span::subspan() does not check.
View From(View v, size_t at) {
  if (at > v.size()) throw std::runtime_error("truncated packet in capture");
  return v.subspan(at);
}

View Front(View v, size_t n) {
  if (n > v.size()) throw std::runtime_error("truncated packet in capture");
  return v.first(n);
}

class Reader {
 public:
  void Frame(View frame) {
    if (get_be16(Front(frame, kEthernetLen).data() + 12) != kEtherTypeIpv4) return;
    View ip = From(frame, kEthernetLen);
    size_t length = get_be16(Front(ip, 20).data() + 2);
    size_t header = (ip[0] & 15) * 4;
    if (ip[9] == kProtocolTcp) Tcp(ip, From(Front(ip, length), header));
    if (ip[9] == kProtocolUdp) Udp(From(ip, header));
  }

  Capture Take() {
    for (const Key& key : order_) Clc(streams_[key].bytes);
    return std::move(capture_);
  }

 private:
  // One direction of a connection: addresses and ports.
  using Key = std::tuple<u64, u32>;
  struct Stream {
    u32 first_seq = 0;
    Bytes bytes;
  };

  void Tcp(View ip, View tcp) {
    Key key{get_be64(ip.data() + 12), get_be32(Front(tcp, 20).data())};
    u32 seq = get_be32(tcp.data() + 4);
    if (tcp[13] & kTcpSyn) {
      streams_[key].first_seq = seq + 1;
      order_.push_back(key);
      return;
    }
    auto stream = streams_.find(key);
    if (stream == streams_.end()) throw std::runtime_error("capture begins within a connection");

    View data = From(tcp, (tcp[12] >> 4) * 4);
    u32 at = seq - stream->second.first_seq;
    Bytes& bytes = stream->second.bytes;
    if (data.empty()) return;
    bytes.resize(std::max<size_t>(bytes.size(), at + data.size()));
    std::copy(data.begin(), data.end(), bytes.begin() + at);
  }

  // A capture may lack the end of a packet: the ICRC of a SEND, and the bytes of a WRITE.
  void Udp(View udp) {
    if (get_be16(Front(udp, kUdpLen).data() + 2) != kRocePort) return;
    View bth = From(udp, kUdpLen);
    if (Front(bth, kBthLen)[0] != kRcSendOnly) return;
    size_t padding = (bth[1] >> 4) & 3;
    size_t length = get_be16(udp.data() + 4) - kUdpLen - kBthLen - padding - kIcrcLen;
    View send = Front(From(bth, kBthLen), length);
    auto& list = !send.empty() && send[0] == SMC_CDC_TYPE ? capture_.cdc : capture_.llc;
    list.emplace_back(send.begin(), send.end());
  }

  // CLC messages come first on a connection; what follows them is the application's.
  void Clc(View bytes) {
    while (bytes.size() >= SMC_CLC_HEADER_LEN) {
      auto header = ParseHeader(bytes.first<SMC_CLC_HEADER_LEN>());
      if (header.error) return;
      View message = Front(bytes, header.value.length);
      capture_.clc.emplace_back(message.begin(), message.end());
      bytes = bytes.subspan(message.size());
    }
  }

  std::map<Key, Stream> streams_;
  std::vector<Key> order_;
  Capture capture_;
};

}  // namespace

Capture ReadCapture(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  Bytes pcap((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  View rest = pcap;
  if (!in || rest.size() < 24 || Little32(rest, 0) != 0xa1b2c3d4 || Little32(rest, 20) != 1)
    throw std::runtime_error("no little-endian pcap file of Ethernet frames: " + file.string());

  Reader reader;
  for (rest = rest.subspan(24); !rest.empty();) {
    View frame = From(rest, 16);
    frame = Front(frame, Little32(rest, 8));
    reader.Frame(frame);
    rest = rest.subspan(16 + frame.size());
  }
  return reader.Take();
}

Capture ReadAllCaptures() {
  Capture all;
  for (const char* file :
       {"smcd-v2-loopback-clc.pcap", "smcr-v2-first-contact-data-close.pcap",
        "smcr-v2-no-common-eid-decline.pcap", "smcr-v2-two-links-rkeys-close.pcap",
        "smcr-v2-asymmetric-becomes-symmetric.pcap", "smcr-v2-failover-port-down.pcap",
        "smcr-v2-failover-rewrite.pcap", "smcr-v1-two-links.pcap"}) {
    Capture one = ReadCapture(std::filesystem::path(WIRE_CAPTURES) / file);
    std::move(one.clc.begin(), one.clc.end(), std::back_inserter(all.clc));
    std::move(one.cdc.begin(), one.cdc.end(), std::back_inserter(all.cdc));
    std::move(one.llc.begin(), one.llc.end(), std::back_inserter(all.llc));
  }
  return all;
}

}  // namespace wire
