/* SPDX-License-Identifier: GPL-2.0 */
/* A netlink socket that reports the kernel's explanations of errors. */
#pragma once

#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

/* The kernel returned an error, or lacks something. */
struct KernelError : std::runtime_error {
  explicit KernelError(const std::string& what, int number = 0)
      : runtime_error(what), number(number) {}
  int number; /* errno of the kernel's answer */
};

/* The kernel does not have the netlink family or the sock_diag handler of SMC. */
struct NotThere : KernelError {
  using KernelError::KernelError;
};

struct MessageDeleter {
  void operator()(nl_msg* msg) const { nlmsg_free(msg); }
};
using Message = std::unique_ptr<nl_msg, MessageDeleter>;

class NetlinkSocket {
 public:
  using Handler = std::function<void(nlmsghdr*)>;

  explicit NetlinkSocket(int protocol);

  /* Sends @msg and calls @handler for each message of the answer. */
  void exchange(Message msg, const Handler& handler);

  nl_sock* get() const { return socket.get(); }

 private:
  struct Deleter {
    void operator()(nl_sock* sock) const { nl_socket_free(sock); }
  };
  std::unique_ptr<nl_sock, Deleter> socket;
};

/* A generic netlink family. */
class Family {
 public:
  explicit Family(const char* name);

  using Handler = std::function<void(int cmd, const nlattr* attrs, int len)>;

  /* Sends a request, with the attributes that @fill adds, and waits for the acknowledgement. */
  void request(int cmd, const std::function<void(nl_msg*)>& fill = {});

  /* Calls @handler for each message of the dump. */
  void dump(int cmd, const Handler& handler);

 private:
  Message message(int cmd, int flags) const;

  NetlinkSocket socket;
  int id;
};
