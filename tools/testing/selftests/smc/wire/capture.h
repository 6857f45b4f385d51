// SPDX-License-Identifier: GPL-2.0
// Messages in a pcap file of Ethernet frames: CLC from TCP streams, CDC and LLC from RoCE v2.
#ifndef SMC_WIRE_TESTS_CAPTURE_H_
#define SMC_WIRE_TESTS_CAPTURE_H_

#include <filesystem>
#include <vector>

#include "message.h"

namespace wire {

struct Capture {
  std::vector<Bytes> clc;  // whole messages, in the order in which the streams began
  std::vector<Bytes> cdc;  // payloads of SENDs that begin with SMC_CDC_TYPE
  std::vector<Bytes> llc;  // payloads of all other SENDs
};

// Throws std::runtime_error if the file is not such a capture.
Capture ReadCapture(const std::filesystem::path& file);

// All of the captures directory as one.
Capture ReadAllCaptures();

}  // namespace wire

#endif  // SMC_WIRE_TESTS_CAPTURE_H_
