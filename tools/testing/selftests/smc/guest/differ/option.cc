// SPDX-License-Identifier: GPL-2.0
#include "option.h"

#include <linux/in6.h>
#include <linux/net_tstamp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace differ
{

#define OPTION(level, option, ...)                                                                 \
	{                                                                                          \
#level, #option, level, option, __VA_ARGS__                                        \
	}

const std::vector<Option> &all_options()
{
	/*
	 * Left out are options that have a sequence wait (SO_RCVTIMEO without a limit), that spread
	 * connections by chance (SO_REUSEPORT of listeners), or that this module documents as
	 * making a socket TCP or as refused.
	 */
	static const std::vector<Option> options = {
	    OPTION(SOL_SOCKET, SO_ACCEPTCONN, {}),
	    OPTION(SOL_SOCKET, SO_BROADCAST, {0, 1}),
	    OPTION(SOL_SOCKET, SO_BUSY_POLL, {0, 50}),
	    OPTION(SOL_SOCKET, SO_COOKIE, {}, true),
	    OPTION(SOL_SOCKET, SO_DOMAIN, {}),
	    OPTION(SOL_SOCKET, SO_DONTROUTE, {0, 1}),
	    OPTION(SOL_SOCKET, SO_ERROR, {}),
	    OPTION(SOL_SOCKET, SO_INCOMING_CPU, {}, true),
	    OPTION(SOL_SOCKET, SO_KEEPALIVE, {0, 1}),
	    OPTION(SOL_SOCKET, SO_LINGER, {}),
	    OPTION(SOL_SOCKET, SO_LOCK_FILTER, {}),
	    OPTION(SOL_SOCKET, SO_MARK, {0, 7}),
	    OPTION(SOL_SOCKET, SO_MAX_PACING_RATE, {1 << 30}),
	    OPTION(SOL_SOCKET, SO_NO_CHECK, {0, 1}),
	    OPTION(SOL_SOCKET, SO_OOBINLINE, {0, 1}),
	    OPTION(SOL_SOCKET, SO_PASSCRED, {0, 1}),
	    OPTION(SOL_SOCKET, SO_PEEK_OFF, {-1, 0, 3, 20}),
	    OPTION(SOL_SOCKET, SO_PEERCRED, {}),
	    OPTION(SOL_SOCKET, SO_PRIORITY, {0, 4}),
	    OPTION(SOL_SOCKET, SO_PROTOCOL, {}),
	    OPTION(SOL_SOCKET, SO_RCVBUF, {4096, 70000}),
	    OPTION(SOL_SOCKET, SO_RCVLOWAT, {0, 1, 2, 4, 10}),
	    OPTION(SOL_SOCKET, SO_RCVTIMEO, {4, 12}),
	    OPTION(SOL_SOCKET, SO_REUSEADDR, {0, 1}),
	    OPTION(SOL_SOCKET, SO_REUSEPORT, {}),
	    OPTION(SOL_SOCKET, SO_RXQ_OVFL, {0, 1}),
	    OPTION(SOL_SOCKET, SO_SELECT_ERR_QUEUE, {0, 1}),
	    OPTION(SOL_SOCKET, SO_SNDBUF, {4096, 70000}),
	    OPTION(SOL_SOCKET, SO_SNDLOWAT, {1, 5}),
	    OPTION(SOL_SOCKET, SO_SNDTIMEO, {4, 12}),
	    OPTION(SOL_SOCKET, SO_TIMESTAMP, {0, 1}),
	    OPTION(SOL_SOCKET, SO_TIMESTAMPNS, {0, 1}),
	    /* Without RX_SOFTWARE it depends on other sockets whether times are reported. */
	    OPTION(SOL_SOCKET, SO_TIMESTAMPING,
		   {0, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE,
		    SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_TX_ACK |
			SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
			SOF_TIMESTAMPING_OPT_TSONLY}),
	    OPTION(SOL_SOCKET, SO_TYPE, {}),
	    OPTION(SOL_SOCKET, SO_ZEROCOPY, {0, 1}),
	    OPTION(IPPROTO_TCP, TCP_CC_INFO, {}, true),
	    OPTION(IPPROTO_TCP, TCP_CONGESTION, {}),
	    OPTION(IPPROTO_TCP, TCP_CORK, {0, 1}),
	    OPTION(IPPROTO_TCP, TCP_DEFER_ACCEPT, {0}),
	    OPTION(IPPROTO_TCP, TCP_INQ, {0, 1}),
	    OPTION(IPPROTO_TCP, TCP_KEEPCNT, {3, 0}),
	    OPTION(IPPROTO_TCP, TCP_KEEPIDLE, {60, 0}),
	    OPTION(IPPROTO_TCP, TCP_KEEPINTVL, {5, 0}),
	    OPTION(IPPROTO_TCP, TCP_LINGER2, {30}),
	    OPTION(IPPROTO_TCP, TCP_MAXSEG, {1000, 1}),
	    OPTION(IPPROTO_TCP, TCP_NODELAY, {0, 1}),
	    OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT, {1000000}),
	    OPTION(IPPROTO_TCP, TCP_QUICKACK, {1}, true),
	    OPTION(IPPROTO_TCP, TCP_SAVED_SYN, {}),
	    OPTION(IPPROTO_TCP, TCP_SYNCNT, {2, 0}),
	    OPTION(IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, {0, 1}),
	    OPTION(IPPROTO_TCP, TCP_TIMESTAMP, {}, true),
	    OPTION(IPPROTO_TCP, TCP_TX_DELAY, {}),
	    OPTION(IPPROTO_TCP, TCP_ULP, {}),
	    OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT, {0, 60000, -1}),
	    OPTION(IPPROTO_TCP, TCP_WINDOW_CLAMP, {}, true),
	    OPTION(IPPROTO_TCP, no_such_option, {1}),
	    OPTION(IPPROTO_IP, IP_FREEBIND, {0, 1}),
	    OPTION(IPPROTO_IP, IP_MTU, {}),
	    OPTION(IPPROTO_IP, IP_PKTINFO, {0, 1}),
	    OPTION(IPPROTO_IP, IP_RECVERR, {0, 1}),
	    OPTION(IPPROTO_IP, IP_RECVTOS, {0, 1}),
	    OPTION(IPPROTO_IP, IP_RECVTTL, {0, 1}),
	    OPTION(IPPROTO_IP, IP_TOS, {0, 0x10}),
	    OPTION(IPPROTO_IP, IP_TTL, {64, 5, 0}),
	    OPTION(IPPROTO_IPV6, IPV6_RECVERR, {0, 1}),
	    OPTION(IPPROTO_IPV6, IPV6_RECVPKTINFO, {0, 1}),
	    OPTION(IPPROTO_IPV6, IPV6_TCLASS, {0, 0x10}),
	    OPTION(IPPROTO_IPV6, IPV6_UNICAST_HOPS, {64, 5}),
	    OPTION(IPPROTO_IPV6, IPV6_V6ONLY, {0, 1}),
	    OPTION(SOL_SOCKET, no_such_option, {1}),
	};

	return options;
}

const Option *find_option(int level, int option)
{
	for (const Option &one : all_options())
		if (one.level == level && one.option == option)
			return &one;
	return nullptr;
}

} // namespace differ
