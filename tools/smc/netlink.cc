// SPDX-License-Identifier: GPL-2.0
#include "netlink.h"

#include <linux/genetlink.h>
#include <netlink/genl/genl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace {

struct Exchange {
  const NetlinkSocket::Handler& handler;
  bool over = false;
  int error = 0; /* errno from the kernel */
  std::string explanation = {};

  void explain(const nlattr* attrs, int len) {
    const nlattr* text = nla_find(attrs, len, NLMSGERR_ATTR_MSG);
    if (text)
      explanation.assign(static_cast<const char*>(nla_data(text)),
                         strnlen(static_cast<const char*>(nla_data(text)), nla_len(text)));
  }

  static int on_message(nl_msg* msg, void* arg) {
    static_cast<Exchange*>(arg)->handler(nlmsg_hdr(msg));
    return NL_OK;
  }

  /* The last message of a dump contains its error. */
  static int on_finish(nl_msg* msg, void* arg) {
    auto* self = static_cast<Exchange*>(arg);
    nlmsghdr* hdr = nlmsg_hdr(msg);
    self->over = true;
    if (nlmsg_datalen(hdr) < static_cast<int>(sizeof(int))) return NL_STOP;
    std::memcpy(&self->error, nlmsg_data(hdr), sizeof(int));
    self->error = -self->error;
    if (hdr->nlmsg_flags & NLM_F_ACK_TLVS)
      self->explain(nlmsg_attrdata(hdr, sizeof(int)), nlmsg_attrlen(hdr, sizeof(int)));
    return NL_STOP;
  }

  static int on_ack(nl_msg*, void* arg) {
    static_cast<Exchange*>(arg)->over = true;
    return NL_STOP;
  }

  static int on_error(sockaddr_nl*, nlmsgerr* err, void* arg) {
    auto* self = static_cast<Exchange*>(arg);
    auto* hdr = reinterpret_cast<nlmsghdr*>(reinterpret_cast<char*>(err) - NLMSG_HDRLEN);
    self->over = true;
    self->error = -err->error;
    if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS)) return NL_STOP;
    int skip = sizeof(*err);
    if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
      skip += static_cast<int>(err->msg.nlmsg_len) - NLMSG_HDRLEN;
    self->explain(nlmsg_attrdata(hdr, skip), nlmsg_attrlen(hdr, skip));
    return NL_STOP;
  }
};

}  // namespace

NetlinkSocket::NetlinkSocket(int protocol) : socket(nl_socket_alloc()) {
  if (!socket) throw std::bad_alloc();
  int err = nl_connect(socket.get(), protocol);
  if (err < 0) throw KernelError(std::string("netlink: ") + nl_geterror(err));
  int on = 1;
  setsockopt(nl_socket_get_fd(socket.get()), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
}

void NetlinkSocket::exchange(Message msg, const Handler& handler) {
  int err = nl_send_auto(socket.get(), msg.get());
  if (err < 0) throw KernelError(std::string("netlink: ") + nl_geterror(err));

  Exchange state{handler};
  std::unique_ptr<nl_cb, decltype(&nl_cb_put)> cb(nl_cb_alloc(NL_CB_DEFAULT), nl_cb_put);
  if (!cb) throw std::bad_alloc();
  nl_cb_set(cb.get(), NL_CB_VALID, NL_CB_CUSTOM, Exchange::on_message, &state);
  nl_cb_set(cb.get(), NL_CB_FINISH, NL_CB_CUSTOM, Exchange::on_finish, &state);
  nl_cb_set(cb.get(), NL_CB_ACK, NL_CB_CUSTOM, Exchange::on_ack, &state);
  nl_cb_err(cb.get(), NL_CB_CUSTOM, Exchange::on_error, &state);

  while (!state.over && (err = nl_recvmsgs(socket.get(), cb.get())) >= 0)
    ;
  if (err < 0 && !state.over) throw KernelError(std::string("netlink: ") + nl_geterror(err));
  if (!state.error) return;

  std::string what = std::strerror(state.error);
  if (!state.explanation.empty()) what = state.explanation + " (" + what + ")";
  throw KernelError(what, state.error);
}

/* Asks for the family's number. genl_ctrl_resolve() does not report why it fails. */
Family::Family(const char* name) : socket(NETLINK_GENERIC), id(GENL_ID_CTRL) {
  Message msg = message(CTRL_CMD_GETFAMILY, NLM_F_ACK);
  nla_put_string(msg.get(), CTRL_ATTR_FAMILY_NAME, name);
  try {
    socket.exchange(std::move(msg), [this](nlmsghdr* hdr) {
      id = nla_get_u16(nlmsg_find_attr(hdr, GENL_HDRLEN, CTRL_ATTR_FAMILY_ID));
    });
  } catch (const KernelError& e) {
    if (e.number != ENOENT) throw;
    throw NotThere(std::string("the kernel has no netlink family ") + name +
                   ": is the smc module loaded?");
  }
}

Message Family::message(int cmd, int flags) const {
  Message msg(nlmsg_alloc());
  if (!msg ||
      !genlmsg_put(msg.get(), NL_AUTO_PORT, NL_AUTO_SEQ, id, 0, NLM_F_REQUEST | flags, cmd, 1))
    throw std::bad_alloc();
  return msg;
}

void Family::request(int cmd, const std::function<void(nl_msg*)>& fill) {
  Message msg = message(cmd, NLM_F_ACK);
  if (fill) fill(msg.get());
  socket.exchange(std::move(msg), [](nlmsghdr*) {});
}

void Family::dump(int cmd, const Handler& handler) {
  socket.exchange(message(cmd, NLM_F_DUMP), [&](nlmsghdr* hdr) {
    auto* genl = static_cast<genlmsghdr*>(nlmsg_data(hdr));
    handler(genl->cmd, genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0));
  });
}
